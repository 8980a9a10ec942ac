// Dead letters as they lie on their stream, read and removed by the JetStream API: no consumer is
// made for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/broker/nats/publisher.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"

namespace sendonce::cli {

struct Letter {
  std::uint64_t sequence = 0;
  std::string stored_at{};  // RFC 3339, as the server writes it
  std::string subject{};
  std::string body{};
  MessageHeaders headers{};

  [[nodiscard]] std::string_view header(std::string_view name) const;  // empty: none
  [[nodiscard]] std::string_view key() const { return header("Sendonce-Key"); }
  [[nodiscard]] std::string_view message_class() const { return header("Sendonce-Class"); }
  [[nodiscard]] std::string_view reason() const { return header("Sendonce-Reason"); }
  // Of a message that had the key of another one: its row is not this one's.
  [[nodiscard]] bool is_conflict() const;
  [[nodiscard]] bool has_body() const { return header("Sendonce-Body").empty(); }
};

class LetterBox {
 public:
  LetterBox(Publisher& client, std::string api_prefix, std::string stream)
      : client_(client), api_(std::move(api_prefix)), stream_(std::move(stream)) {}

  // The first one at `from` or behind it, of the class if one is named; nothing: that was the last.
  [[nodiscard]] Result<std::optional<Letter>> next(std::uint64_t from,
                                                   std::string_view message_class) const;
  [[nodiscard]] Result<std::optional<Letter>> at(std::uint64_t sequence) const;
  [[nodiscard]] Result<void> remove(std::uint64_t sequence) const;
  // How many messages lie on the stream.
  [[nodiscard]] Result<std::uint64_t> depth() const;

 private:
  [[nodiscard]] Result<std::optional<Letter>> get(const std::string& request) const;

  Publisher& client_;
  std::string api_;
  std::string stream_;
};

// An answer to STREAM.MSG.GET. invalid: it is none.
[[nodiscard]] Result<std::optional<Letter>> letter_from(std::string_view json);

// Calls `publish` until its message is known to be stored or refused, some times with pauses: it
// has one id, so that its stream keeps one of it. unavailable: all of them were lost. Blocking.
inline constexpr int kPublishTries = 6;
[[nodiscard]] Result<PubAck> publish_surely(const std::function<Result<PubAck>()>& publish,
                                            Duration pause = std::chrono::seconds(1));

// The envelope with its `expires_at` set to `time`, every other byte as it was: numbers are part of
// what a repeat is compared by. Empty: it is no JSON object.
[[nodiscard]] std::string with_expiry(std::string_view envelope, WallTime time);
// Its own `expires_at`; nothing when it has none, or one that is no time.
[[nodiscard]] std::optional<WallTime> expiry_of(std::string_view envelope);

// When the message of an undecodable letter came to its stream; nothing: its id does not tell.
[[nodiscard]] std::optional<WallTime> first_stored(const Letter& letter);
// The device report with the time since when it counted, as its `at`: what it says, at most
// `stored`. Published once more without it, it would be newer than what has been said since. Every
// other byte as it was. Empty: it is no JSON object.
[[nodiscard]] std::string with_report_time(std::string_view report, WallTime stored);

}  // namespace sendonce::cli
