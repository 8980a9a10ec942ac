// The provider token of APNs: a JWT that says which team and key is speaking.
// https://developer.apple.com/documentation/usernotifications/establishing-a-token-based-connection-to-apns
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/crypto/sign.hpp"

namespace sendonce {

struct ApnsTokenOptions {
  std::string team{};                           // 10 characters
  std::string key_id{};                         // 10 characters
  Credential key{};                             // contents of the .p8 file
  Duration refresh = std::chrono::minutes(45);  // 40 to 50 minutes
};

// One source for each (team, key) in the process, shared by reference: Apple answers 429
// TooManyProviderTokenUpdates to who mints more often than every 20 minutes, and 403 to a token of
// more than an hour. One thread.
class ApnsTokenSource {
 public:
  // invalid: the option that is wrong, and why.
  [[nodiscard]] static Result<std::unique_ptr<ApnsTokenSource>> make(
      const ApnsTokenOptions& options);

  // Mints when there is no token or it has reached its refresh age, by either direction of a clock
  // that was set. Never because of an answer: see refused().
  void keep_fresh(WallTime now);
  void set_refresh(Duration refresh) { refresh_ = refresh; }
  // False while the token at hand, if any, is too old to be accepted.
  [[nodiscard]] bool usable(WallTime now) const;
  [[nodiscard]] std::optional<WallTime> ends() const;  // of the token at hand
  [[nodiscard]] std::uint64_t minted() const noexcept { return minted_tokens_; }  // how many
  // "bearer eyJ…"; empty before the first token.
  [[nodiscard]] const std::string& authorization() const noexcept { return authorization_; }

  // Apple called the token expired. Mints if that may help, see renewable(). True: it did.
  bool refused(WallTime now);
  // False within 20 minutes of a token that a refusal was answered with: then it is not the token's
  // age but our clock. A token from a time to come was minted before the clock was put right.
  [[nodiscard]] bool renewable(WallTime now) const;
  // A token minted after a refusal has had time to be used; a further refusal means a wrong clock.
  [[nodiscard]] bool clock_suspect(WallTime now) const;

  [[nodiscard]] const std::string& team() const noexcept { return team_; }
  [[nodiscard]] const std::string& key_id() const noexcept { return key_id_; }

 private:
  ApnsTokenSource(const ApnsTokenOptions& options, SigningKey key);
  void mint(WallTime now);

  std::string team_;
  std::string key_id_;
  SigningKey key_;
  Duration refresh_;
  std::string authorization_{};
  WallTime minted_{};
  std::uint64_t minted_tokens_ = 0;
  bool after_refusal_ = false;
};

}  // namespace sendonce
