// Any answer to any protocol: a verdict that keeps its promises, and never a crash. The first byte
// chooses protocol and shape, the second the status; a line feed ends the value of one header, the
// rest is the body. Lines for `sendonce classify` are the last of the protocols.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "classifiers/classify_lines.hpp"
#include "classifiers/registry.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'795'953'600)};
constexpr std::array<int, 24> kStatuses{0,   100, 200, 201, 204, 302, 400, 401, 403, 404, 405, 408,
                                        410, 413, 421, 429, 451, 500, 502, 503, 504, 599, 600, 999};
constexpr std::array<std::string_view, 4> kHeaders{"retry-after", "apns-id", "date",
                                                   "content-type"};
constexpr std::array<std::string_view, 8> kProtocols{
    "apns",          "fcm",         "fcm-legacy",      "fcm-oauth",
    "webpush-apple", "webpush-fcm", "webpush-mozilla", "webpush-wns"};

// A header cannot hold these; a transport has refused them before.
std::string header_value(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 1024))
    if (c != '\r' && c != '\n' && c != '\0') out.push_back(c);
  return out;
}

void check(const Verdict& v, const HttpAnswer& answer) {
  SO_ASSERT(!v.reason.empty());
  SO_ASSERT((v.effect == Effect::sent) == (v.name == VerdictClass::accepted));
  if (v.name == VerdictClass::accepted) SO_ASSERT(answer.status >= 200 && answer.status < 300);
  if (v.name == VerdictClass::token_terminal) SO_ASSERT(v.scope == FaultScope::device);
  if (v.name == VerdictClass::ambiguous) SO_ASSERT(v.effect == Effect::maybe_sent);
  SO_ASSERT(v.retry_after >= Duration{0} && v.retry_after <= std::chrono::hours(24 * 7));
  for (const char c : v.reason) SO_ASSERT(c >= 0x20 && c < 0x7f);
}

void judge(std::uint8_t shape, std::uint8_t status, std::string_view rest) {
  HttpAnswer answer;
  answer.status = kStatuses[status % kStatuses.size()];
  if ((shape & 4U) != 0) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    answer.headers.add(kHeaders[(shape >> 3U) % kHeaders.size()],
                       header_value(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  answer.body = rest;
  JudgeContext context;
  context.now = kNow;
  context.index = (shape >> 5U) & 1U;
  const std::string_view protocol = kProtocols[(shape & 3U) + ((status & 0x80U) != 0 ? 4U : 0U)];
  if ((shape & 0x80U) != 0) {
    CallFailure failure;
    failure.effect = (shape & 0x40U) != 0 ? Effect::not_sent : Effect::maybe_sent;
    failure.cause = static_cast<Cause>(status % 10U);
    failure.partial = answer;
    check(judge_answer(protocol, failure, context).value(), answer);
    return;
  }
  check(judge_answer(protocol, answer, context).value(), answer);
}

}  // namespace
}  // namespace sendonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[0] == 0xFF) {
    static_cast<void>(sendonce::classify_line(rest, 1, sendonce::kNow));
    return 0;
  }
  sendonce::judge(data[0], data[1], rest);
  return 0;
}
