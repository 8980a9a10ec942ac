// Answers to providers that configuration describes, as networks and proxies leave them: for every
// shipped profile and every recorded answer, without naming one.
#include "tests/corpus/profiles.hpp"

namespace sendonce::test {
namespace {

struct Recorded {
  std::string id{};
  const HttpSpec* spec = nullptr;
  HttpAnswer answer{};
};

class ProfileDamage : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<Recorded> answers() const {
    std::vector<Recorded> out;
    for (const Json& line : profile_lines()) {
      const auto found = all_.find(line.at("provider").get<std::string>());
      if (line["http_status"].is_null() || line["http_status"] == 0) continue;
      EXPECT_NE(found, all_.end()) << line.dump();
      if (found == all_.end()) continue;
      Recorded r;
      r.id = line["id"];
      r.spec = &found->second.http;
      r.answer.status = line["http_status"];
      for (const auto& [name, value] : line["headers"].items())
        r.answer.headers.add(name, value.get<std::string>());
      r.answer.body = line["body"].is_null() ? "" : line["body"].get<std::string>();
      out.push_back(std::move(r));
    }
    return out;
  }
  const Profiles all_ = profiles();
};

Verdict judge(const Recorded& r) {
  return judge_http(*r.spec, CallResult(r.answer), kNow);
}

// Whether the status, or a header that no body can damage, is the receipt.
bool needs_no_body(const Recorded& r) {
  return r.spec->receipt_pointer.empty() &&
         (!r.spec->receipt_header.empty() || r.spec->channel == Channel::webhook);
}

void expect_harmless(const Recorded& r, const Verdict& v) {
  const std::string what = r.id + ": " + r.answer.body.substr(0, 200);
  EXPECT_NE(v.name, VerdictClass::token_terminal) << what;
  EXPECT_NE(v.fault, Fault::device) << what;
  if (!needs_no_body(r)) {
    EXPECT_NE(v.name, VerdictClass::accepted) << what;
  }
}

Headers with_type(const Headers& from, std::string_view type) {
  Headers headers;
  for (const Headers::View field : from)
    if (field.name != "content-type") headers.add(field.name, field.value);
  headers.add("content-type", type);
  return headers;
}

TEST_F(ProfileDamage, a_body_cut_anywhere) {
  for (const Recorded& whole : answers()) {
    const std::string& body = whole.answer.body;
    const std::size_t last = body.find_last_not_of(" \r\n");
    for (std::size_t cut = 0; last != std::string::npos && cut <= last; ++cut) {
      Recorded r = whole;
      r.answer.body.resize(cut);
      expect_harmless(r, judge(r));
    }
  }
}

TEST_F(ProfileDamage, a_body_with_any_byte_changed_gains_nothing) {
  for (const Recorded& whole : answers()) {
    const Verdict before = judge(whole);
    for (std::size_t at = 0; at < whole.answer.body.size(); ++at) {
      for (const char other : {'\0', '"', '}', '\xff'}) {
        Recorded r = whole;
        r.answer.body[at] = other;
        const Verdict v = judge(r);
        // A text within a message says why: without it the code alone counts.
        const bool gained = v.name == VerdictClass::accepted && before.name != v.name;
        EXPECT_FALSE(gained) << r.id << ": " << r.answer.body;
        if (v.name == VerdictClass::token_terminal) {
          EXPECT_TRUE(v.needs_proof) << r.id;
          EXPECT_TRUE(before.fault == Fault::device || whole.spec->channel == Channel::push)
              << r.id << ": " << r.answer.body;
        }
      }
    }
  }
}

TEST_F(ProfileDamage, a_body_inside_a_page) {
  for (const Recorded& whole : answers()) {
    Recorded r = whole;
    r.answer.headers = with_type(whole.answer.headers, "text/html");
    r.answer.body = "<!DOCTYPE html><html><body><pre>" + r.answer.body + "</pre></body></html>";
    expect_harmless(r, judge(r));
  }
}

TEST_F(ProfileDamage, another_content_type_gains_nothing) {
  for (const Recorded& whole : answers()) {
    const Verdict before = judge(whole);
    for (const std::string type : {"text/html", "application/json", "image/png", ""}) {
      Recorded r = whole;
      r.answer.headers = with_type(whole.answer.headers, type);
      const Verdict v = judge(r);
      EXPECT_TRUE(v.name == before.name || before.name == VerdictClass::accepted) << r.id;
    }
  }
}

TEST_F(ProfileDamage, a_byte_order_mark_changes_nothing) {
  for (const Recorded& whole : answers()) {
    Recorded r = whole;
    r.answer.body.insert(0, "\xEF\xBB\xBF");
    EXPECT_EQ(judge(r).name, judge(whole).name) << r.id;
  }
}

TEST_F(ProfileDamage, a_mebibyte_of_spaces_is_not_read) {
  const std::string spaces(std::size_t{1024} * 1024, ' ');
  for (const Recorded& whole : answers()) {
    Recorded r = whole;
    r.answer.body.insert(0, spaces);
    expect_harmless(r, judge(r));
  }
}

TEST_F(ProfileDamage, a_member_that_is_there_twice_is_no_code) {
  for (const Recorded& whole : answers()) {
    const std::size_t brace = whole.answer.body.find('{');
    const Json body = Json::parse(whole.answer.body, nullptr, false);
    if (brace == std::string::npos || !body.is_object() || body.empty()) continue;
    Recorded r = whole;
    r.answer.body.insert(brace + 1, "\"" + body.begin().key() + "\":\"x\",");
    expect_harmless(r, judge(r));
  }
}

TEST_F(ProfileDamage, deep_nesting_is_refused_and_not_followed) {
  const std::size_t depth = 100'000;
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"code\":";
  for (const Recorded& whole : answers()) {
    for (const std::string& deep : {std::string(depth, '['), objects}) {
      Recorded r = whole;
      r.answer.body = deep;
      expect_harmless(r, judge(r));
    }
  }
}

// The answers of each other, with every status: what ends a destination is a code that this
// provider documents, and a 5xx never does.
TEST_F(ProfileDamage, a_server_error_ends_nothing_whatever_it_says) {
  for (const Recorded& whole : answers()) {
    for (const int status : {302, 303, 408, 500, 502, 503, 504, 599}) {
      Recorded r = whole;
      r.answer.status = status;
      const Verdict v = judge(r);
      EXPECT_NE(v.fault, Fault::device) << r.id << status;
      EXPECT_NE(v.name, VerdictClass::accepted) << r.id << status;
    }
  }
}

TEST_F(ProfileDamage, every_status_has_a_verdict_for_bodies_that_say_nothing) {
  for (const auto& [name, config] : all_) {
    for (int status = -1; status < 1000; ++status) {
      for (const char* body : {"", "{}", "[]", "<html>", "{\"code\":null}", "\xff\xfe"}) {
        Recorded r{.id = name, .spec = &config.http};
        r.answer.status = status;
        r.answer.body = body;
        const Verdict v = judge(r);
        EXPECT_NE(v.fault, Fault::device) << name << status << body;
        EXPECT_FALSE(v.reason.empty());
        if (config.http.channel != Channel::webhook) {
          EXPECT_NE(v.effect, Effect::sent) << name << status << body;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sendonce::test
