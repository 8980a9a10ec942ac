// The script of the fake provider: TOML rules that make chosen requests go wrong.
//
//   [[rule]]                       # rules are tried in order, the first that fires decides
//   provider = "apns"              # apns, fcm, oauth, webpush, http or smtp; absent: any
//   token = "dead*"                # * and ?; absent: any. The token, for oauth the issuer,
//                                  # for webpush the end of the endpoint, for smtp the recipient
//   nth = [1, 3]                   # of the requests that reach this rule, counted from 1
//   every = 10                     # the 10th, 20th, ...
//   per_token = true               # nth, every, from, until (as counts) count per token
//   probability = 0.05             # with `seed`: the same requests in every run
//   seed = 7
//   from = "2s"                    # since the start of the server, or a count: from = 100
//   until = "5s"                   # exclusive
//   at = "headers"                 # before the body is read, for smtp at RCPT; default
//                                  # "request", for smtp the end of the message
//
//   status = 410                   # answers; the body has the provider's own shape
//   reason = "Unregistered"        # APNs: reason; FCM: errorCode; OAuth: error; for smtp what
//                                  # follows the reply code: "4.7.1 greylisted"
//   invalid_since = "1h"           # APNs 410: how long ago (default 0s)
//   headers = { retry-after = "2" }
//   body = "..."                   # as it is, instead of the provider's shape
//   interim = 103                  # a 1xx first
//   delay = "200ms"
//   stall = "stream"               # no answer; "connection": nothing is read or written any more
//   close = "fin"                  # or "rst"
//   reset = "REFUSED_STREAM"       # RST_STREAM, by name or number
//   goaway = { last = "below", code = "NO_ERROR", reason = "Shutdown", close = true }
//                                  # last: below (this stream refused), this, all (a notice)
//   settings = { max_concurrent_streams = 1 }
//   cut = "headers"                # or "body", after `cut_at` bytes; with `reset` cut by
//   RST_STREAM processed = true               # did the provider take the message before this
//   happened?
//
// `processed` must be said where it cannot be seen: with stall, close and reset. A rule with a
// status of 300 or more is by default not processed, everything else is. Rules at = "headers" are
// never processed; for FCM the token is not known there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "tests/support/http_message.hpp"

namespace sendonce::test {

enum class ProviderKind : std::uint8_t { apns, fcm, oauth, webpush, http, smtp, other };
[[nodiscard]] std::string_view name(ProviderKind kind);
[[nodiscard]] ProviderKind provider_named(std::string_view name);  // other: there is none

enum class Stage : std::uint8_t { headers, request };

// What a fired rule asks for. The provider makes the answer's body from status and reason.
struct Action {
  int status = 0;  // 0: the provider's own answer
  std::string reason{};
  std::optional<std::string> body{};
  Duration invalid_since{0};
  std::vector<std::pair<std::string, std::string>> headers{};
  Play play{};
  bool processed = true;
};

struct Rule {
  // Which requests.
  std::optional<ProviderKind> provider{};
  std::optional<std::string> token{};  // pattern
  std::vector<std::uint64_t> nth{};
  std::uint64_t every = 0;
  bool per_token = false;
  std::optional<double> probability{};
  std::uint64_t seed = 1;
  Duration from{0};
  std::optional<Duration> until{};
  std::uint64_t from_count = 0;
  std::optional<std::uint64_t> until_count{};
  Stage stage = Stage::request;
  // What happens.
  Action action{};
};

struct Subject {
  ProviderKind provider = ProviderKind::other;
  std::string_view token{};
  Stage stage = Stage::request;
  Duration since_start{0};
};

// One thread at a time.
class Script {
 public:
  Script();
  explicit Script(std::vector<Rule> rules);
  ~Script();
  Script(Script&&) noexcept;
  Script& operator=(Script&&) noexcept;
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // Errors are `invalid` and begin with file:line. `file` is only a name.
  [[nodiscard]] static Result<Script> parse(const std::string& text, const std::string& file);
  [[nodiscard]] static Result<Script> load(const std::string& file);

  [[nodiscard]] bool empty() const;
  // The action of the first rule that fires, valid as long as the script; null when none does.
  [[nodiscard]] const Action* match(const Subject& subject);

 private:
  struct Counted;
  std::vector<Counted> rules_;
};

// `*` any run of characters, `?` any one.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace sendonce::test
