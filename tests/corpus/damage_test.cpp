// Answers as networks and proxies leave them: cut, wrapped, swollen, nested, doubled. None may
// crash the judge, end a token or count as accepted.
#include <gtest/gtest.h>

#include "classifiers/classify_lines.hpp"
#include "classifiers/registry.hpp"
#include "tests/corpus/corpus.hpp"

namespace sendonce::test {
namespace {

struct Recorded {
  std::string id{};
  std::string protocol{};
  HttpAnswer answer{};
};

Recorded made(const char* id, const char* protocol, int status, const char* body) {
  Recorded r;
  r.id = id;
  r.protocol = protocol;
  r.answer.status = status;
  r.answer.body = body;
  return r;
}

// The whole answers of the corpus as bytes that a provider sent, and shapes that it lacks.
std::vector<Recorded> answers() {
  std::vector<Recorded> out{
      made("accepted", "fcm", 200, "{\n  \"name\": \"projects/p/messages/0:17\"\n}\n"),
      made("token", "fcm-oauth", 200,
           R"({"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"})"),
      made("violation", "fcm", 400,
           R"({"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Invalid value",)"
           R"("details":[{"@type":"type.googleapis.com/google.rpc.BadRequest",)"
           R"("fieldViolations":[{"field":"message.token","description":"Invalid"}]}]}})"),
  };
  for (const Json& line : corpus()) {
    if (!line["transport"].is_null() || line["provider"] == "transport") continue;
    if (line["http_status"].is_null()) continue;  // a report: a form has no end to be cut from
    Recorded r;
    r.id = line["id"];
    r.protocol = line["provider"];
    r.answer.status = line["http_status"];
    for (const auto& [name, value] : line["headers"].items())
      r.answer.headers.add(name, value.get<std::string>());
    r.answer.body = line["body"].is_null() ? "" : line["body"].get<std::string>();
    out.push_back(r);
  }
  return out;
}

Verdict judge(const Recorded& r) {
  JudgeContext context;
  context.now = kNow;
  return judge_answer(r.protocol, CallResult(r.answer), context).value();
}

bool is_final(const Verdict& v) {
  return v.name == VerdictClass::token_terminal || v.name == VerdictClass::accepted;
}

// The standard of Web Push puts the answer into the status, whatever the body (RFC 8030 5, 7.3):
// what becomes of bodies concerns its codes and texts alone.
bool is_said_by_status(const Recorded& r) {
  if (!r.protocol.starts_with("webpush")) return false;
  return r.answer.status == 404 || r.answer.status == 410 || r.answer.status == 201 ||
         r.answer.status == 202 || (r.protocol == "webpush-wns" && r.answer.status == 200);
}

void expect_harmless(const Recorded& r, const Verdict& v) {
  if (is_said_by_status(r)) return;
  EXPECT_NE(v.name, VerdictClass::token_terminal) << r.id << ": " << r.answer.body.substr(0, 200);
  // Spaces around it leave a receipt a receipt, if it is still within reach.
  if (v.name == VerdictClass::accepted) {
    EXPECT_EQ(r.answer.status, 200) << r.id;
  }
}

TEST(Damage, a_body_cut_anywhere_ends_no_token) {
  for (const Recorded& whole : answers()) {
    const std::string body = whole.answer.body;
    const std::size_t last = body.find_last_not_of(" \n");  // the final brace matters
    for (std::size_t cut = 0; cut < body.size() && cut <= last; ++cut) {
      Recorded r = whole;
      r.answer.body.resize(cut);
      expect_harmless(r, judge(r));
      // A receipt in the body is one only in a whole body.
      if (r.protocol != "apns" && !is_said_by_status(r)) {
        EXPECT_NE(judge(r).name, VerdictClass::accepted);
      }
    }
  }
}

TEST(Damage, a_body_with_any_byte_changed_is_never_accepted_for_it) {
  for (const Recorded& whole : answers()) {
    const Verdict before = judge(whole);
    for (std::size_t at = 0; at < whole.answer.body.size(); ++at) {
      for (const char other : {'\0', '"', '}', '\xff'}) {
        Recorded r = whole;
        r.answer.body[at] = other;
        const Verdict v = judge(r);
        if (v.name == VerdictClass::accepted) {
          EXPECT_EQ(before.name, VerdictClass::accepted);
        }
        if (v.name == VerdictClass::token_terminal) {
          EXPECT_EQ(before.name, VerdictClass::token_terminal);
        }
      }
    }
  }
}

TEST(Damage, the_content_type_says_nothing) {
  for (const Recorded& whole : answers()) {
    for (const std::string type : {"text/html", "application/json", "image/png", ""}) {
      Recorded r = whole;
      Headers headers;
      for (std::size_t i = 0; i < r.answer.headers.size(); ++i)
        if (r.answer.headers[i].name != "content-type")
          headers.add(r.answer.headers[i].name, r.answer.headers[i].value);
      headers.add("content-type", type);
      r.answer.headers = headers;
      EXPECT_EQ(judge(r).name, judge(whole).name) << r.id;
    }
  }
}

TEST(Damage, a_byte_order_mark_changes_nothing) {
  for (const Recorded& whole : answers()) {
    Recorded r = whole;
    r.answer.body.insert(0, "\xEF\xBB\xBF");
    EXPECT_EQ(judge(r).name, judge(whole).name) << r.id;
  }
}

TEST(Damage, a_body_inside_a_page_ends_no_token) {
  for (const Recorded& whole : answers()) {
    Recorded r = whole;
    r.answer.body = "<!DOCTYPE html><html><body><pre>" + r.answer.body + "</pre></body></html>";
    expect_harmless(r, judge(r));
  }
}

TEST(Damage, a_mebibyte_of_spaces_is_not_read) {
  const std::string spaces(std::size_t{1024} * 1024, ' ');
  for (const Recorded& whole : answers()) {
    Recorded before = whole;
    before.answer.body.insert(0, spaces);
    expect_harmless(before, judge(before));
    Recorded after = whole;
    after.answer.body.append(spaces);
    expect_harmless(after, judge(after));
  }
}

// {"reason":"Unregistered","reason":"BadTopic"}: nobody knows which one is meant.
TEST(Damage, a_member_that_is_there_twice_is_no_code) {
  for (const Recorded& whole : answers()) {
    const std::size_t brace = whole.answer.body.find('{');
    if (brace == std::string::npos) continue;
    const Json body = Json::parse(whole.answer.body, nullptr, false);
    if (!body.is_object() || body.empty()) continue;
    Recorded r = whole;
    const std::string name = body.begin().key();
    r.answer.body.insert(brace + 1, "\"" + name + "\":\"x\",");
    const Verdict v = judge(r);
    if (r.protocol != "apns" && !is_said_by_status(r)) {
      EXPECT_FALSE(is_final(v)) << r.id;
    }
    expect_harmless(r, v);
  }
}

TEST(Damage, deep_nesting_is_refused_and_not_followed) {
  const std::size_t depth = 100'000;
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"error\":";
  for (const Recorded& whole : answers()) {
    for (const std::string& deep :
         {std::string(depth, '['), std::string(depth, '[') + std::string(depth, ']'), objects,
          objects + "1" + std::string(depth, '}')}) {
      Recorded r = whole;
      r.answer.body = deep;
      expect_harmless(r, judge(r));
    }
  }
}

// A device code with another status than its own, or another answer's status, ends nothing.
TEST(Damage, a_terminal_body_needs_its_own_status) {
  for (const Recorded& whole : answers()) {
    if (judge(whole).name != VerdictClass::token_terminal || whole.protocol == "fcm-legacy")
      continue;
    for (int status = 100; status < 600; ++status) {
      if (status == whole.answer.status) continue;
      Recorded r = whole;
      r.answer.status = status;
      expect_harmless(r, judge(r));
    }
  }
}

TEST(Damage, nothing_but_a_receipt_is_accepted) {
  for (const char* protocol : {"apns", "fcm", "fcm-legacy", "fcm-oauth"}) {
    for (const char* body :
         {"", "{}", "[]", "null", "{\"name\":\"\"}", "{\"name\":1}", "OK", "{\"results\":[]}",
          "{\"results\":[{}]}", "{\"results\":{}}", "{\"access_token\":\"\",\"expires_in\":3600}",
          "{\"name\":\"a b\"}", "{\"error\":null}", "{\"error\":[]}",
          "{\"error\":{\"details\":{}}}"}) {
      for (const int status : {200, 201, 202, 204, 299}) {
        Recorded r;
        r.protocol = protocol;
        r.answer.status = status;
        r.answer.body = body;
        const Verdict v = judge(r);
        EXPECT_NE(v.name, VerdictClass::accepted) << protocol << status << body;
        EXPECT_NE(v.name, VerdictClass::token_terminal);
        if (r.protocol != "fcm-oauth") {
          EXPECT_TRUE(v.receipt_missing) << protocol << body;
        }
      }
    }
  }
}

TEST(Damage, every_status_has_a_verdict_for_every_body) {
  for (const char* protocol : {"apns", "fcm", "fcm-legacy", "fcm-oauth"}) {
    for (int status = -1; status < 1000; ++status) {
      for (const char* body :
           {"", "{}", "<html>", "{\"reason\":7}", "{\"error\":\"x\"}", "\xff\xfe"}) {
        Recorded r;
        r.protocol = protocol;
        r.answer.status = status;
        r.answer.body = body;
        const Verdict v = judge(r);
        EXPECT_FALSE(is_final(v)) << protocol << status << body;
        EXPECT_FALSE(v.reason.empty());
        EXPECT_NE(v.effect, Effect::sent);
      }
    }
  }
}

// The same of Web Push, whose receipt is the status: whatever the body, only the statuses of the
// standard end a subscription or accept.
TEST(Damage, every_status_of_web_push_has_a_verdict_for_every_body) {
  for (const char* protocol :
       {"webpush", "webpush-apple", "webpush-fcm", "webpush-mozilla", "webpush-wns"}) {
    for (int status = -1; status < 1000; ++status) {
      for (const char* body : {"", "{}", "<html>", R"({"reason":7})", R"({"errno":"103"})",
                               R"({"errno":103})", "NotRegistered", "\xff\xfe"}) {
        Recorded r;
        r.protocol = protocol;
        r.answer.status = status;
        r.answer.body = body;
        const Verdict v = judge(r);
        EXPECT_EQ(is_final(v) && !is_said_by_status(r), false) << protocol << status << body;
        EXPECT_EQ(v.effect == Effect::sent, v.name == VerdictClass::accepted);
        EXPECT_FALSE(v.reason.empty());
        if (v.name == VerdictClass::token_terminal) {
          EXPECT_TRUE(status == 404 || status == 410) << protocol << status << body;
        }
      }
    }
  }
}

TEST(Damage, lines_cut_anywhere_are_errors_with_their_number) {
  for (const Json& line : corpus()) {
    const std::string text = line.dump();
    for (std::size_t cut = 0; cut < text.size(); cut += 7) {
      const auto out = classify_line(text.substr(0, cut), 42, kNow);
      ASSERT_FALSE(out);
      EXPECT_TRUE(out.error().text.starts_with("line 42: ")) << out.error().text;
    }
  }
}

}  // namespace
}  // namespace sendonce::test
