// The provider port: pure knowledge of one provider's protocol. No I/O, no clock of its own, so the
// same code runs in production, in the simulator and under a fuzzer. Single-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/look.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/message/notification.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

struct Capabilities {
  ProviderKind kind = ProviderKind::http;
  Channel channel = Channel::push;
  bool idempotency_key = false;      // suppresses a repeat: allows `resend-with-key`
  std::string idempotency_header{};  // that carries it, in lower case
  Duration idempotency_window{};     // for so long after the first call
  bool lookup = false;               // can be asked what became of a key: allows `lookup`
  Duration lookup_lag{};             // until a search finds what was sent
  Duration lookup_window{};          // for so long after the first call
  bool acts_on_whole = true;         // a request cut before its end was not acted on
  bool many_origins = false;         // calls go where their targets say: origin_of()
  bool one_stream_first = false;     // a single stream until the first answer on a connection
  std::size_t collapse_bytes_max = 0;
};

// One attempt, as the provider sees it. Borrowed for the call.
struct Attempt {
  const Notification& notification;
  const Target& target;  // its destination in normal form
  const Key& key;
  const NidDigest& nid;
  std::string_view collapse;  // envelope, else class, else from the nid (design.md 8.4)
  WallTime deadline;
  WallTime stored{};  // when its message was: the same for every attempt
};

// Where the call for a target goes, for a provider of many origins. Borrowed for the call.
struct Origin {
  std::string_view authority{};  // host[:port]; empty: the provider's own endpoint
  std::string_view part{};       // of the provider: what holds of scope `part` and hygiene go by
};

class Provider {
 public:
  virtual ~Provider() = default;

  [[nodiscard]] virtual const Capabilities& capabilities() const = 0;
  // Identifies the app behind the credential: part of every delivery key of kind push.
  [[nodiscard]] virtual std::string app_scope() const = 0;
  // The destination in its normal form, or why it is none (a payload error).
  [[nodiscard]] virtual Result<Destination> normal_form(const Target& target) const = 0;

  // For a target in its normal form. The same for every attempt, and what prepare() asks for.
  [[nodiscard]] virtual Origin origin_of(const Target& /*target*/) const { return {}; }

  // The same bytes for every attempt, but for credentials, shrinking lifetimes and encryption,
  // whose keys must be fresh. An error is a
  // payload error: effect not_sent, no claim is taken.
  [[nodiscard]] virtual Result<HttpRequest> prepare(const Attempt& attempt, WallTime now) = 0;

  // Total: any answer, any bytes, gives a verdict. What it cannot know (has this credential ever
  // been accepted?) it marks for in_light_of().
  [[nodiscard]] virtual Verdict classify(const Target& target, const CallResult& result,
                                         WallTime now) const = 0;

  // ---- with capabilities().lookup ------------------------------------------------------------
  // Asks what became of the delivery: never sends it. An error is the configuration's.
  [[nodiscard]] virtual Result<HttpRequest> prepare_lookup(const Attempt& /*attempt*/,
                                                           WallTime /*now*/) {
    return fail(Errc::invalid, "cannot be asked");
  }
  // Total. What it does not understand is undecided: `absent` lets the delivery be sent again.
  [[nodiscard]] virtual LookAnswer classify_lookup(const CallResult& /*result*/,
                                                   WallTime /*now*/) const {
    return {};
  }

  // ---- credentials: pure, in the shape of a call -------------------------------------------
  // False while no usable credential is at hand: nothing may be prepared.
  [[nodiscard]] virtual bool ready(WallTime now) const = 0;
  // A request to the credential endpoint when one is due now; the caller has one under way at a
  // time. Mints local tokens as a side effect.
  [[nodiscard]] virtual std::optional<HttpRequest> needs_auth(WallTime now) = 0;
  // An auth or config verdict names what to do; ok when a new credential was stored.
  [[nodiscard]] virtual Verdict accept_auth(const CallResult& result, WallTime now) = 0;
  // A verdict asked for a fresh credential. True: one is at hand already, and worth a try.
  virtual bool credential_refused(WallTime now) = 0;
  // Counts the credentials that prepare() has had to use. Providers that share one have the same
  // count: what was refused before it grew says nothing of the credential at hand.
  [[nodiscard]] virtual std::uint64_t credential() const { return 0; }
  // When the token at hand ends, for those that renew one: a time that has passed means that it
  // could not be renewed. None: there is none yet, or it has no end that we know.
  [[nodiscard]] virtual std::optional<WallTime> credential_ends() const { return std::nullopt; }
};

}  // namespace sendonce
