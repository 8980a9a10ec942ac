// The providers as they are in truth: which tokens are dead, which credentials are good, and what
// they answer, in the words of dialect.hpp. Knows nothing of the engine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/look.hpp"
#include "plugin/message/notification.hpp"
#include "plugin/transport/transport.hpp"
#include "tests/simulation/world.hpp"

namespace sendonce::sim {

// What a process can honestly know from an answer; the checkers compare with this, not with what
// the classifier made of it.
enum class Told : std::uint8_t {
  nothing,     // no answer yet, or never
  not_sent,    // the transport proved it
  refused,     // the provider said no, and did nothing
  maybe_sent,  // an answer or failure that settles nothing
  no_receipt,  // a success without its receipt
  sent,        // with the receipt
};

// Whose fault a refusal is.
enum class Blame : std::uint8_t {
  nobody,
  device,
  mismatch,
  credential,
  setup,
  part,
  message,
  load
};

// How long a service knows the id of a request for the key of a repeat.
inline constexpr Duration kKeyWindow = std::chrono::seconds(45);

// The search of a service: it finds a request at most kIndexLag after it was processed; what is
// configured is a little more. The window is that of the configuration alone, nothing is forgotten.
inline constexpr Duration kIndexLag = std::chrono::seconds(8);
inline constexpr Duration kLookupLag = std::chrono::seconds(10);
inline constexpr Duration kFindWindow = std::chrono::minutes(4);

struct Reply {
  HttpAnswer answer{};
  Told told = Told::refused;
  Blame blame = Blame::nobody;
  bool wide = false;       // concerns the whole provider
  bool processed = false;  // the person got it
  Duration retry_after{0};
  std::optional<WallTime> dead_since{};  // named by the answer
};

// How a provider is for a while.
enum class Mood : std::uint8_t {
  well,
  unreachable,  // no connection comes up
  tls_broken,
  no_room,  // connections back off: nothing may start
  one_stream,
  resets,          // streams and connections break in the middle
  slow,            // answers take longer than the call may
  unavailable,     // 503
  server_errors,   // 500, half of them after the fact
  throttling,      // 429 for devices
  throttling_all,  // 429 for the project
  credential_bad,
  credential_stale,  // what was issued so far is refused
  setup_wrong,       // topic or API disabled
  wrong_environment,
  part_wrong,  // FCM: the APNs key in the console
  no_receipts,
  strange,  // pages of a front end, redirects, unknown codes
  goaways,
};
inline constexpr std::size_t kMoods = 19;
[[nodiscard]] std::string_view name(Mood mood);

struct TokenTruth {
  std::optional<WallTime> dead_since{};
  bool mismatch = false;
};

class Service {
 public:
  Service(World& world, ProviderKind kind) : world_(world), kind_(kind) {}

  [[nodiscard]] ProviderKind kind() const { return kind_; }
  [[nodiscard]] Mood mood() const { return mood_; }
  void set_mood(Mood mood);
  void read_times() { reads_times_ = true; }        // of APNs tokens, by our true clock
  void set_noise(double noise) { noise_ = noise; }  // share of odd answers in any mood

  TokenTruth& token(const std::string& token) { return tokens_[token]; }
  [[nodiscard]] const std::map<std::string, TokenTruth>& tokens() const { return tokens_; }
  void refuse_content(std::string marker) { refused_content_.insert(std::move(marker)); }
  [[nodiscard]] bool refuses_content(const std::string& body) const;

  // A whole request has come in.
  [[nodiscard]] Reply handle(const HttpRequest& request, const std::string& token);
  [[nodiscard]] CallResult issue_token(bool& good);  // the token endpoint
  // A request by the name that it can be found by has been processed.
  void index(const std::string& reference);
  struct Found {
    HttpAnswer answer{};
    Look truth = Look::undecided;  // what the answer says
  };
  [[nodiscard]] Found find(const std::string& reference);

 private:
  [[nodiscard]] std::optional<Reply> by_mood();
  [[nodiscard]] std::optional<Reply> by_token(const std::string& token);
  [[nodiscard]] Reply accept();
  void make_stale();
  [[nodiscard]] bool takes_time_of(const std::string& authorization) const;
  [[nodiscard]] Reply odd();
  [[nodiscard]] Reply server_error();
  void with_retry_after(Reply& reply, Duration wait) const;

  World& world_;
  ProviderKind kind_;
  Mood mood_ = Mood::well;
  double noise_ = 0;
  std::map<std::string, TokenTruth> tokens_{};
  std::map<std::string, MonoTime> findable_{};  // from when on
  std::set<std::string> refused_content_{};
  std::set<std::string> credentials_seen_{};
  std::set<std::string> credentials_refused_{};
  std::optional<MonoTime> staled_{};
  bool reads_times_ = false;
  std::uint64_t receipts_ = 0;
  std::uint64_t tokens_issued_ = 0;
};

}  // namespace sendonce::sim
