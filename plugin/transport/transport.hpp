// The transport port: one HTTP request or one e-mail, one honest answer about what may have left.
//
// submit() hands a request over; every accepted ticket completes exactly once through poll(). A
// completion either holds an answer or says why there is none, with an effect that is proven:
// `not_sent` only when no byte of the request was ever passed to a write call, or the peer refused
// it by protocol (RFC 9113 8.7, 6.8), or a whole-body provider was cut short, or the end of an
// e-mail was never passed to a write call (RFC 5321 4.1.1.4: what has no end is not delivered).
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/ids.hpp"
#include "plugin/core/prefetch.hpp"
#include "plugin/core/verdict.hpp"

namespace sendonce {

// Header fields, packed into one buffer: names in lower case, values opaque. Read front to back;
// an index is found by walking.
class Headers {
  struct Prefix {  // stored before the two texts of a field
    std::uint16_t name_size = 0;
    std::uint16_t value_size = 0;
    std::uint16_t never_index = 0;  // no padding: its bytes are stored
  };

 public:
  struct View {
    std::string_view name{};
    std::string_view value{};
    bool never_index = false;  // secret or unique: RFC 7541 7.1.3
  };

  class Iterator {
   public:
    explicit Iterator(std::string_view rest) noexcept : rest_(rest) {}
    [[nodiscard]] View operator*() const noexcept {
      const Prefix p = prefix();
      const char* const name_at = rest_.data() + sizeof p;
      return {{name_at, p.name_size}, {name_at + p.name_size, p.value_size}, p.never_index != 0};
    }
    Iterator& operator++() noexcept {
      const Prefix p = prefix();
      rest_.remove_prefix(sizeof p + p.name_size + p.value_size);
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) noexcept {
      return a.rest_.size() == b.rest_.size();  // of the same Headers
    }

   private:
    [[nodiscard]] Prefix prefix() const noexcept {
      Prefix p;
      std::memcpy(&p, rest_.data(), sizeof p);
      return p;
    }
    std::string_view rest_;
  };

  void add(std::string_view header_name, std::string_view value, bool never_index = false);
  void reserve(std::size_t fields, std::size_t bytes);  // names and values
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return packed_.size(); }  // as stored here
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(packed_); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator({}); }
  [[nodiscard]] View operator[](std::size_t i) const noexcept;
  [[nodiscard]] std::optional<std::string_view> find(std::string_view header_name) const noexcept;
  void clear() noexcept;
  void prefetch() const noexcept { prefetch_text(packed_); }

 private:
  std::string packed_{};  // a Prefix and the two texts for each field
  std::size_t count_ = 0;
};

// Of an e-mail (RFC 5321 2.3.1): whom a bounce goes to and whom the message. One recipient, so that
// each reply speaks of one delivery.
struct MailEnvelope {
  std::string sender{};
  std::string recipient{};
};

// Never printed: path, headers and body hold destinations and credentials.
struct HttpRequest {
  std::string method = "POST";
  std::string url{};        // credential exchange, HTTP/1.1; empty: the provider's own endpoint
  std::string authority{};  // host[:port] of a provider with many origins; empty: its endpoint's
  std::string path{};       // with query, when url is empty
  Headers headers{};        // without pseudo headers and content-length
  std::string body{};
  // Bytes of `body` from there on are a credential: not part of what a repeat is compared by.
  std::size_t credential_at = std::string::npos;
  // One more look at the clock in the last moment: no frame leaves after either of them.
  WallTime not_after_wall{WallTime::max()};
  MonoTime not_after_mono{MonoTime::max()};
  bool by_url = false;  // a delivery over HTTP/1.1, to `url`
  bool only_stream =
      false;  // nothing else may be open on the connection (APNs before its first answer)
  // An e-mail, to the provider's own server: `body` is the message in lines that end with CRLF, its
  // dots not doubled, and nothing else of the request counts but not_after.
  std::optional<MailEnvelope> mail{};
};

// What an SMTP reply answers. RFC 5321 4.3.2.
enum class MailStep : std::uint8_t {
  none,       // not SMTP, or not known
  greeting,   // the connection
  hello,      // EHLO or STARTTLS
  auth,       // AUTH, RFC 4954
  sender,     // MAIL
  recipient,  // RCPT
  data,       // DATA, before the message's end
  message,    // the end of the message
};
[[nodiscard]] std::string_view name(MailStep step);

struct HttpAnswer {
  int status = 0;  // of an e-mail: the reply's code
  Headers headers{};
  std::string body{};  // bounded, see AnswerLimits; of an e-mail: the reply's lines
  MailStep step = MailStep::none;
};

enum class Cause : std::uint8_t {
  connect,      // no connection: name, refused, proxy, timeout
  tls,          // certificate, protocol or ALPN: configuration
  client_auth,  // our client certificate was refused, or our credentials by the proxy
  refused,      // REFUSED_STREAM, or above the last stream of a GOAWAY
  reset,        // RST_STREAM with another code
  connection_lost,
  timed_out,
  cancelled,
  oversized,    // the answer went over a limit
  not_started,  // too late, or the transport is closing
};
[[nodiscard]] std::string_view name(Cause cause);

struct CallFailure {
  Effect effect = Effect::maybe_sent;  // never `sent`
  Cause cause = Cause::connection_lost;
  bool complete = false;                // the request's last byte had been offered
  std::optional<HttpAnswer> partial{};  // may hold the receipt (APNs: 200 + apns-id)
  std::uint32_t h2_error = 0;
  std::string text{};  // safe to print
};

using CallResult = std::variant<HttpAnswer, CallFailure>;

struct Completion {
  Ticket ticket{};
  CallResult result{};
  Duration elapsed{};  // since submit
};

// How the pool of one provider stands.
struct PoolState {
  std::size_t room = 0;                // requests that would start without waiting
  std::size_t open = 0;                // in flight or queued
  std::size_t connections = 0;         // ready ones
  std::optional<MonoTime> retry_at{};  // backing off until then
  std::string last_error{};            // why there is no connection; safe to print
  std::optional<Cause> last_cause{};
  std::uint64_t connects = 0;
  std::uint64_t goaways = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // False: no room now; nothing was taken and no completion will come.
  [[nodiscard]] virtual bool submit(Ticket ticket, ProviderIndex provider, HttpRequest request,
                                    Duration timeout) = 0;
  // The ticket still completes, as `cancelled`, with its proven effect.
  virtual void cancel(Ticket ticket) = 0;
  // Asks for connections although nothing is queued; called while deliveries wait.
  virtual void warm_up(ProviderIndex provider) = 0;
  // Retires every connection of the provider (new credential, or the provider's fault).
  virtual void renew(ProviderIndex provider) = 0;
  [[nodiscard]] virtual PoolState state(ProviderIndex provider) const = 0;

  // Of a provider whose requests name their authority, one origin: what would start there without
  // waiting, a wish for connections to it, and how each of those that were asked for stands.
  [[nodiscard]] virtual std::size_t room_at(ProviderIndex provider,
                                            std::string_view authority) const;
  virtual void warm_up_at(ProviderIndex provider, std::string_view authority);
  [[nodiscard]] virtual std::vector<std::pair<std::string, PoolState>> origins(
      ProviderIndex provider) const;

  // Serves sockets for at most `wait` and appends what has completed. Returns early when wake() is
  // called.
  virtual void poll(std::vector<Completion>& done, Duration wait) = 0;
  virtual void wake() = 0;  // any thread
};

}  // namespace sendonce
