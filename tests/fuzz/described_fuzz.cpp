// Any answer to a provider that is described by configuration, and any reply of a mail server: a
// verdict that keeps its promises, and never a crash. The first byte chooses the table of answers
// or the step of the mail, the second the status; a line feed ends the value of one header, the
// rest is the body.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "classifiers/http/http_answers.hpp"
#include "classifiers/http/http_lookup.hpp"
#include "classifiers/smtp/smtp_answers.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'795'953'600)};
constexpr std::array<int, 18> kStatuses{0,   100, 200, 201, 202, 204, 302, 307, 400,
                                        401, 404, 408, 410, 422, 429, 500, 503, 999};

AnswerRule rule(std::string pointer, VerdictClass verdict) {
  AnswerRule r;
  r.pointer = std::move(pointer);
  r.verdict = verdict;
  return r;
}

// As the checks of the configuration let them pass.
HttpSpec table() {
  HttpSpec spec;
  spec.receipt_pointer = "/id";
  spec.answers.push_back(rule("/messages/*/status", VerdictClass::token_terminal));
  spec.answers.back().equals = {"7", "dead"};
  spec.answers.push_back(rule("/code", VerdictClass::payload_error));
  spec.answers.back().contains = {"3"};
  spec.answers.push_back(rule("/wait", VerdictClass::throttled));
  spec.answers.back().retry_pointer = "/wait";
  spec.answers.back().retry_header = "x-message-id";
  spec.answers.push_back(rule("", VerdictClass::config_error));
  spec.answers.back().header = "x-error";
  spec.answers.back().header_contains = {"paused"};
  spec.answers.push_back(rule("", VerdictClass::retryable));
  spec.answers.back().text = {"try again"};
  LookupRule none;
  none.status = {{200, 299}};
  none.pointer = "/count";
  none.equals = {"0"};
  none.look = Look::absent;
  spec.lookup.answers = {none};
  spec.lookup.receipt_pointer = "/id";
  return spec;
}

void check(const Verdict& v) {
  SO_ASSERT(!v.reason.empty());
  SO_ASSERT((v.effect == Effect::sent) == (v.name == VerdictClass::accepted));
  if (v.name == VerdictClass::token_terminal) SO_ASSERT(v.scope == FaultScope::device);
  if (v.name == VerdictClass::ambiguous) SO_ASSERT(v.effect == Effect::maybe_sent);
  SO_ASSERT(v.retry_after >= Duration{0} && v.retry_after <= std::chrono::hours(24 * 7));
  for (const char c : v.reason) SO_ASSERT(c >= 0x20 && c < 0x7f);
}

void judge_mail(std::uint8_t shape, std::uint8_t status, std::string_view body) {
  HttpAnswer reply;
  reply.step = static_cast<MailStep>(shape % 8U);
  reply.status = 100 + status * 2 + (shape >> 6U & 1U);
  reply.body = body;
  const Verdict v = judge_smtp(reply);
  check(v);
  if (v.name == VerdictClass::accepted) {
    SO_ASSERT(reply.status >= 200 && reply.status < 300);
    SO_ASSERT(reply.step == MailStep::message || reply.step == MailStep::none);
  }
  if (v.name == VerdictClass::token_terminal) SO_ASSERT(reply.status >= 500);
}

void judge_described(std::uint8_t shape, std::uint8_t status, std::string_view rest) {
  static const HttpSpec with_table = table();
  static const HttpSpec bare{.receipt_header = "x-message-id"};
  HttpAnswer answer;
  answer.status = kStatuses[status % kStatuses.size()];
  if ((shape & 2U) != 0) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string value(rest.substr(0, std::min<std::size_t>(end, 1024)));
    std::erase_if(value, [](char c) { return c == '\r' || c == '\0'; });
    constexpr std::array<std::string_view, 4> kHeaders{"retry-after", "x-error", "x-message-id",
                                                       "date"};
    answer.headers.add(kHeaders[(shape >> 2U) % kHeaders.size()], value);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  answer.body = rest;
  const Verdict v = judge_http((shape & 1U) != 0 ? bare : with_table, answer, kNow);
  check(v);
  const bool success = answer.status >= 200 && answer.status < 300;
  if (v.name == VerdictClass::accepted) SO_ASSERT(success);
  // `absent` lets it be sent again.
  const LookAnswer look = judge_lookup(with_table, answer, kNow);
  if (look.look != Look::undecided) SO_ASSERT(success);
  SO_ASSERT((look.look == Look::found) == !look.message_id.empty());
  if (look.look == Look::absent)
    SO_ASSERT(rest.find("count") != std::string_view::npos ||
              rest.find('\\') != std::string_view::npos);
}

}  // namespace
}  // namespace sendonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((data[0] & 0x80U) != 0)
    sendonce::judge_mail(data[0] & 0x7FU, data[1], rest);
  else
    sendonce::judge_described(data[0], data[1], rest);
  return 0;
}
