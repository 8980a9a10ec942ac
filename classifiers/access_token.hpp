// The life of an OAuth 2 access token: when a new one is due, and what the token endpoint answered.
// Who asks for it, and how, is the provider's matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plugin/core/clock.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

// Total and pure: an answer of the token endpoint. Nothing was sent to anybody, so nothing here is
// ever ambiguous: effect not_sent throughout, but for `accepted`.
[[nodiscard]] Verdict judge_oauth(const CallResult& result, WallTime now);

// One thread. The token is fetched 5 minutes before it ends and the old one is used meanwhile.
class AccessToken {
 public:
  [[nodiscard]] bool ready(WallTime now) const;
  // "Bearer ya29…"; empty before the first token.
  [[nodiscard]] const std::string& authorization() const noexcept { return authorization_; }
  [[nodiscard]] std::uint64_t fetched() const noexcept { return fetched_tokens_; }  // how many
  [[nodiscard]] std::optional<WallTime> ends() const {
    return authorization_.empty() ? std::nullopt : std::optional(ends_);
  }
  // Whether the exchange is due; one whose call never came is due again.
  [[nodiscard]] bool due(WallTime now) const;
  [[nodiscard]] Verdict accept(const CallResult& result, WallTime now);
  // The provider refused the token. A new one is fetched: if that is refused too, it is the
  // account, and the next is fetched after 2 minutes at the earliest.
  void refused(WallTime now);

 private:
  std::string authorization_{};
  WallTime ends_{};     // of the token at hand
  Duration life_{};     // the token at hand: all of it
  WallTime fetched_{};  // the token at hand
  std::uint64_t fetched_tokens_ = 0;
  std::optional<WallTime> not_before_{};  // after a failed exchange
  Duration wait_{};                       // until then, as it was named
  std::uint32_t failures_ = 0;            // in a row
  bool refused_ = false;                  // the token at hand
  bool after_refusal_ = false;            // the token at hand was fetched because of one
};

}  // namespace sendonce
