// The answer of one provider judged by another: a proxy that mixes up its upstreams, a wrong
// endpoint. It ends nothing and counts as nothing, unless it says so in the judge's own documented
// form, which is read here once more, by other code.
#include <functional>

#include "classifiers/registry.hpp"
#include "tests/corpus/profiles.hpp"

namespace sendonce::test {
namespace {

struct Recorded {
  std::string id{};
  std::string provider{};
  HttpAnswer answer{};
};

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? value.dump() : "";
}

// What stands at a pointer; a `*` is every element.
std::vector<std::string> texts_at(const Json& tree, const std::string& pointer) {
  const std::size_t star = pointer.find("/*");
  const auto found = [&](const std::string& path) -> const Json* {
    const Json::json_pointer at(path);
    return tree.contains(at) ? &tree.at(at) : nullptr;
  };
  std::vector<std::string> out;
  if (star == std::string::npos) {
    const Json* value = found(pointer);
    if (value != nullptr && !text_of(*value).empty()) out.push_back(text_of(*value));
    return out;
  }
  const Json* list = found(pointer.substr(0, star));
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& element : *list)
    for (std::string& text : texts_at(element, pointer.substr(star + 2)))
      out.push_back(std::move(text));
  return out;
}

bool says(const Json& body, const std::string& pointer, const std::vector<std::string>& words) {
  for (const std::string& text : texts_at(body, pointer))
    if (std::ranges::find(words, text) != words.end()) return true;
  return false;
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

std::string bare(std::string text) {
  text.erase(0, text.find_first_not_of(" \r\n\t"));
  text.erase(text.find_last_not_of(" \r\n\t") + 1);
  return text;
}

struct Form {
  std::function<bool(const HttpAnswer&, const Json& body)> ends{};
  std::function<bool(const HttpAnswer&, const Json& body)> accepts{};
};

Form webpush(const std::string& service) {
  return {
      .ends =
          [=](const HttpAnswer& a, const Json&) {
            return a.status == 404 || a.status == 410 ||
                   (service == "fcm" && a.status == 400 && bare(a.body) == "InvalidTokenFormat") ||
                   (service == "wns" && a.status == 401 && bare(a.body).empty() &&
                    a.headers.find("x-wns-msg-id"));
          },
      .accepts =
          [=](const HttpAnswer& a, const Json&) {
            return a.status == 201 || a.status == 202 || (service == "wns" && a.status == 200) ||
                   (is_success(a.status) && bare(a.body).empty() && a.headers.find("location"));
          }};
}

std::map<std::string, Form> built_in() {
  const auto never = [](const HttpAnswer&, const Json&) { return false; };
  std::map<std::string, Form> out;
  for (const char* service : {"", "apple", "fcm", "mozilla", "wns"})
    out["webpush" + (*service != 0 ? "-" + std::string(service) : "")] = webpush(service);
  out["apns"] = {
      .ends =
          [](const HttpAnswer& a, const Json& body) {
            return (a.status == 400 && says(body, "/reason", {"BadDeviceToken"})) ||
                   (a.status == 410 && says(body, "/reason", {"Unregistered", "ExpiredToken"}));
          },
      .accepts = [](const HttpAnswer& a,
                    const Json&) { return a.status == 200 && a.headers.find("apns-id"); }};
  out["fcm"] = {
      .ends =
          [](const HttpAnswer& a, const Json& body) {
            return (a.status == 404 &&
                    says(body, "/error/details/*/errorCode", {"UNREGISTERED"})) ||
                   (a.status == 400 && says(body, "/error/status", {"INVALID_ARGUMENT"}) &&
                    a.body.find("registration token") != std::string::npos);
          },
      .accepts =
          [](const HttpAnswer& a, const Json& body) {
            const auto name = texts_at(body, "/name");
            return is_success(a.status) && name.size() == 1 && name[0].starts_with("projects/") &&
                   name[0].find("/messages/") != std::string::npos;
          }};
  out["fcm-legacy"] = {
      .ends =
          [](const HttpAnswer& a, const Json& body) {
            return a.status == 200 &&
                   says(body, "/results/*/error", {"NotRegistered", "InvalidRegistration"});
          },
      .accepts =
          [](const HttpAnswer& a, const Json& body) {
            return a.status == 200 && !texts_at(body, "/results/*/message_id").empty();
          }};
  out["fcm-oauth"] = {.ends = never, .accepts = [](const HttpAnswer& a, const Json& body) {
                        return a.status == 200 && !texts_at(body, "/access_token").empty();
                      }};
  const auto replies = [](const HttpAnswer& a) {
    return a.body.starts_with(std::to_string(a.status));
  };
  out["smtp"] = {.ends = [=](const HttpAnswer& a, const Json&) { return replies(a); },
                 .accepts = [=](const HttpAnswer& a, const Json&) { return replies(a); }};
  const auto reports = [](const HttpAnswer& a, const Json&) {
    return a.body.find("MessageStatus=") != std::string::npos;
  };
  out["twilio-callback"] = {.ends = reports, .accepts = reports};
  return out;
}

Form of_profile(const HttpSpec& spec) {
  return {.ends =
              [&spec](const HttpAnswer& a, const Json& body) {
                if (a.status >= 500) return false;
                return std::ranges::any_of(spec.answers, [&](const AnswerRule& rule) {
                  return rule.verdict == VerdictClass::token_terminal && !rule.pointer.empty() &&
                         says(body, rule.pointer, rule.equals);
                });
              },
          .accepts =
              [&spec](const HttpAnswer& a, const Json& body) {
                if (!is_success(a.status)) return false;
                if (spec.receipt_pointer.empty() && spec.receipt_header.empty()) return true;
                return (!spec.receipt_pointer.empty() &&
                        !texts_at(body, spec.receipt_pointer).empty()) ||
                       (!spec.receipt_header.empty() && a.headers.find(spec.receipt_header));
              }};
}

class Swapped : public ::testing::Test {
 protected:
  Swapped() {
    for (auto& [name, form] : built_in()) {
      judges_[name] = {std::move(form), [name](const HttpAnswer& a) {
                         JudgeContext context;
                         context.now = kNow;
                         return judge_answer(name, CallResult(a), context).value();
                       }};
    }
    for (const auto& [name, config] : all_) {
      const HttpSpec& spec = config.http;
      judges_[name] = {of_profile(spec), [&spec](const HttpAnswer& a) {
                         return judge_http(spec, CallResult(a), kNow);
                       }};
    }
    std::vector<Json> lines = corpus();
    for (Json& line : profile_lines()) lines.push_back(std::move(line));
    for (const Json& line : lines) {
      if (!line["transport"].is_null() || line["provider"] == "transport") continue;
      Recorded r{.id = line["id"], .provider = line["provider"]};
      r.answer.status = line["http_status"].is_null() ? 200 : line["http_status"].get<int>();
      for (const auto& [name, value] : line["headers"].items())
        r.answer.headers.add(name, value.get<std::string>());
      r.answer.body = line["body"].is_null() ? "" : line["body"].get<std::string>();
      recorded_.push_back(std::move(r));
    }
  }

  struct Judge {
    Form form{};
    std::function<Verdict(const HttpAnswer&)> judge{};
  };

  void expect_no_more_than_it_says(const std::string& name, const HttpAnswer& answer,
                                   const std::string& id) {
    const Judge& judge = judges_.at(name);
    const Verdict v = judge.judge(answer);
    const Json body = Json::parse(answer.body, nullptr, false);
    SCOPED_TRACE(id + " judged by " + name + ": " + std::to_string(answer.status) + " " +
                 answer.body.substr(0, 200));
    if (v.name == VerdictClass::token_terminal || v.fault == Fault::device) {
      EXPECT_TRUE(judge.form.ends(answer, body)) << v.reason;
      ++ended_;
    }
    if (v.name == VerdictClass::accepted || v.effect == Effect::sent) {
      EXPECT_TRUE(judge.form.accepts(answer, body)) << v.reason;
      ++accepted_;
    }
    ++judged_;
  }

  Profiles all_ = profiles();
  std::map<std::string, Judge> judges_{};
  std::vector<Recorded> recorded_{};
  int judged_ = 0;
  int ended_ = 0;
  int accepted_ = 0;
};

// Of its own answers each judge must understand some, or the forms above are nobody's.
TEST_F(Swapped, the_forms_are_those_of_the_judges) {
  std::map<std::string, int> own;
  for (const Recorded& r : recorded_) {
    if (!judges_.contains(r.provider)) continue;
    expect_no_more_than_it_says(r.provider, r.answer, r.id);
    ++own[r.provider];
  }
  EXPECT_GE(own.size(), 20U);
  EXPECT_GE(ended_, 15);
  EXPECT_GE(accepted_, 5);
}

TEST_F(Swapped, what_another_has_said_ends_nothing_and_is_no_receipt) {
  for (const Recorded& r : recorded_)
    for (const auto& [name, judge] : judges_)
      if (name != r.provider) expect_no_more_than_it_says(name, r.answer, r.id);
  EXPECT_GT(judged_, 4'000);
}

// Its body alone, below a status and headers of the judge's own.
TEST_F(Swapped, nor_does_its_body_with_any_status) {
  for (const Recorded& r : recorded_) {
    for (const int status :
         {200, 201, 202, 204, 250, 302, 400, 401, 403, 404, 410, 422, 429, 500, 503, 550}) {
      HttpAnswer answer;
      answer.status = status;
      answer.body = r.answer.body;
      for (const auto& [name, judge] : judges_)
        if (name != r.provider) expect_no_more_than_it_says(name, answer, r.id);
    }
  }
}

}  // namespace
}  // namespace sendonce::test
