#include "plugin/broker/nats/connection.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include <nats/nats.h>

#include "plugin/core/assert.hpp"
#include "plugin/core/random.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const {
    Destroy(handle);
  }
};
using OptionsHandle = std::unique_ptr<natsOptions, Destroyer<natsOptions_Destroy>>;
using ConnectionHandle = std::unique_ptr<natsConnection, Destroyer<natsConnection_Destroy>>;
using SubscriptionHandle = std::unique_ptr<natsSubscription, Destroyer<natsSubscription_Destroy>>;
using MessageHandle = std::unique_ptr<natsMsg, Destroyer<natsMsg_Destroy>>;
using StatisticsHandle = std::unique_ptr<natsStatistics, Destroyer<natsStatistics_Destroy>>;

// natsMsg_Destroy hands the message to a thread of cnats, which it wakes: for each message a system
// call and two switches of context, unless they come in lots.
constexpr std::size_t kSpentMost = 256;
constexpr std::size_t kSpentBytes = std::size_t{1} << 20U;

// cnats may call back after natsConnection_Destroy (nats.c issue 735), so its closures are
// numbers that are looked up here: a sink that has left is not called, and cannot leave while it
// is being called.
class Sinks {
 public:
  std::uintptr_t add(ConnectionSink& sink) {
    const std::lock_guard lock(mutex_);
    sinks_.emplace(++last_, Entry{.sink = &sink});
    return last_;
  }
  void remove(std::uintptr_t id) {
    const std::lock_guard lock(mutex_);
    sinks_.erase(id);
  }
  template <class Call>
  void with(void* closure, Call call) {
    const std::lock_guard lock(mutex_);
    const auto found = sinks_.find(reinterpret_cast<std::uintptr_t>(closure));
    if (found != sinks_.end()) call(found->second);
  }

  struct Entry {
    ConnectionSink* sink = nullptr;
    std::vector<MessageHandle> spent{};  // to be destroyed
    std::size_t spent_bytes = 0;
  };

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, Entry> sinks_;
  std::uintptr_t last_ = 0;
};

Sinks& sinks() {
  // Never destroyed: threads of cnats outlive static destructors.
  static Sinks& instance = *new Sinks;
  return instance;
}

int as_int(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

std::int64_t in_ms(Duration duration) {
  return std::chrono::ceil<std::chrono::milliseconds>(duration).count();
}

std::string text_or_empty(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

// The status in words, with what this thread has been told about it.
std::string words_of(natsStatus status) {
  natsStatus last = NATS_OK;
  std::string detail = text_or_empty(nats_GetLastError(&last));
  // The text of an earlier failure stays behind when a status sets none.
  if (last != status) detail.clear();
  return error_text(natsStatus_GetText(status), detail);
}

Error error_of(natsStatus status, std::string_view doing) {
  const Errc code =
      status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED ? Errc::denied
      : status == NATS_INVALID_ARG || status == NATS_MAX_PAYLOAD || status == NATS_INVALID_SUBJECT
          ? Errc::invalid
      : status == NATS_INSUFFICIENT_BUFFER ? Errc::exhausted
                                           : Errc::unavailable;
  return Error{code, std::string(doing) + ": " + words_of(status)};
}

Result<void> checked(natsStatus status, std::string_view doing) {
  if (status == NATS_OK) return {};
  return std::unexpected(error_of(status, doing));
}

MessageHeaders headers_of(natsMsg* message) {
  MessageHeaders headers;
  const char** names = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(message, &names, &count) != NATS_OK) return headers;
  for (int i = 0; i < count; ++i) {
    const char** values = nullptr;
    int copies = 0;
    if (natsMsgHeader_Values(message, names[i], &values, &copies) != NATS_OK) continue;
    for (int v = 0; v < copies; ++v) headers.emplace_back(names[i], text_or_empty(values[v]));
    std::free(static_cast<void*>(values));
  }
  std::free(static_cast<void*>(names));
  return headers;
}

RawMessage copy_of(natsMsg* message) {
  const int size = natsMsg_GetDataLength(message);
  const char* data = natsMsg_GetData(message);
  return RawMessage{
      .subject = text_or_empty(natsMsg_GetSubject(message)),
      .reply = text_or_empty(natsMsg_GetReply(message)),
      .headers = headers_of(message),
      .body = size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string()};
}

void on_message(natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
  MessageHandle owned(message);
  RawMessage copy = copy_of(message);
  sinks().with(closure, [&](Sinks::Entry& entry) {
    entry.sink->on_message(std::move(copy));
    entry.spent_bytes += static_cast<std::size_t>(natsMsg_GetDataLength(owned.get()));
    entry.spent.push_back(std::move(owned));
    if (entry.spent.size() < kSpentMost && entry.spent_bytes < kSpentBytes) return;
    entry.spent.clear();
    entry.spent_bytes = 0;
  });
}

template <ConnectionEvent Event>
void on_event(natsConnection*, void* closure) {
  sinks().with(closure, [](const Sinks::Entry& entry) { entry.sink->on_event(Event, {}); });
}

// The subscription may be gone already (nats.c issue 659): it is not touched. Nor is the last error
// of the connection asked for: that one is of whatever came last, and may be written meanwhile.
void on_error(natsConnection*, natsSubscription*, natsStatus status, void* closure) {
  std::string text = words_of(status);
  const ConnectionEvent event = status == NATS_NOT_PERMITTED   ? ConnectionEvent::denied
                                : status == NATS_SLOW_CONSUMER ? ConnectionEvent::slow
                                                               : ConnectionEvent::failed;
  sinks().with(closure,
               [&](const Sinks::Entry& entry) { entry.sink->on_event(event, std::move(text)); });
}

bool wants_tls(const std::vector<std::string>& servers) {
  return std::any_of(servers.begin(), servers.end(),
                     [](const std::string& s) { return s.starts_with("tls://"); });
}

// Without a buffer of cnats' own: what is published while disconnected is refused here, since an
// ack may only go out once its consumer has been checked again.
constexpr int kReconnectBuffer = 0;

natsStatus set_options(natsOptions* o, const ConnectionOptions& options, void* closure) {
  std::vector<const char*> servers;
  servers.reserve(options.servers.size());
  for (const std::string& server : options.servers) servers.push_back(server.c_str());
  natsStatus s = natsOptions_SetServers(o, servers.data(), as_int(servers.size()));
  const auto then = [&s](auto call) {
    if (s == NATS_OK) s = call();
  };
  then([&] { return natsOptions_SetName(o, options.name.c_str()); });
  then([&] { return natsOptions_SetCustomInboxPrefix(o, options.inbox_prefix.c_str()); });
  // tls:// alone would connect in clear text to a server that offers no TLS.
  if (wants_tls(options.servers)) then([&] { return natsOptions_SetSecure(o, true); });
  if (!options.ca_file.empty())
    then([&] { return natsOptions_LoadCATrustedCertificates(o, options.ca_file.c_str()); });
  if (!options.credentials_file.empty())
    then([&] {
      return natsOptions_SetUserCredentialsFromFiles(o, options.credentials_file.c_str(), nullptr);
    });
  then([&] { return natsOptions_SetTimeout(o, in_ms(options.connect)); });
  then([&] { return natsOptions_SetPingInterval(o, in_ms(options.ping_interval)); });
  then([&] { return natsOptions_SetMaxPingsOut(o, options.pings_out); });
  then([&] { return natsOptions_SetMaxReconnect(o, -1); });
  then([&] { return natsOptions_SetReconnectWait(o, in_ms(options.reconnect_wait)); });
  then([&] {
    const std::int64_t jitter = in_ms(options.reconnect_jitter);
    return natsOptions_SetReconnectJitter(o, jitter, jitter);
  });
  then([&] { return natsOptions_SetReconnectBufSize(o, kReconnectBuffer); });
  then([&] { return natsOptions_SetWriteDeadline(o, in_ms(options.write_deadline)); });
  then([&] { return natsOptions_SetSendAsap(o, options.send_asap); });
  then([&] { return natsOptions_SetFailRequestsOnDisconnect(o, true); });
  then([&] {
    return natsOptions_SetDisconnectedCB(o, on_event<ConnectionEvent::disconnected>, closure);
  });
  then([&] {
    return natsOptions_SetReconnectedCB(o, on_event<ConnectionEvent::reconnected>, closure);
  });
  then([&] { return natsOptions_SetClosedCB(o, on_event<ConnectionEvent::closed>, closure); });
  then([&] {
    return natsOptions_SetLameDuckModeCB(o, on_event<ConnectionEvent::lame_duck>, closure);
  });
  then([&] { return natsOptions_SetErrorHandler(o, on_error, closure); });
  return s;
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

// Anything else would let a subject or header carry protocol lines of its own.
Result<void> check_envelope(const std::string& subject, const MessageHeaders& headers) {
  if (subject.empty() || !printable(subject) || subject.find(' ') != std::string::npos)
    return fail(Errc::invalid, "not a subject to publish to");
  for (const auto& [name, value] : headers)
    if (name.empty() || name.find(':') != std::string::npos || !printable(name) ||
        !printable(value))
      return fail(Errc::invalid, "a header of the publication has a control character");
  return {};
}

Result<MessageHandle> make_message(const std::string& subject, const std::string& reply,
                                   const MessageHeaders& headers, std::string_view body) {
  SO_CHECK(check_envelope(subject, headers));
  natsMsg* raw = nullptr;
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the size goes with it
  const char* data = body.data();
  natsStatus s = natsMsg_Create(&raw, subject.c_str(), reply.empty() ? nullptr : reply.c_str(),
                                data, as_int(body.size()));
  MessageHandle message(raw);
  for (const auto& [name, value] : headers)
    if (s == NATS_OK) s = natsMsgHeader_Add(message.get(), name.c_str(), value.c_str());
  SO_CHECK(checked(s, "cannot build a message for " + subject));
  return message;
}

}  // namespace

struct Connection::Handles {
  std::uintptr_t sink = 0;
  ConnectionHandle connection{};
  SubscriptionHandle subscription{};
  std::vector<SubscriptionHandle> others{};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that is looked up, never a pointer
  [[nodiscard]] void* closure() const { return reinterpret_cast<void*>(sink); }
};

void Connection::prepare() {
  nats_Open(-1);
}

Connection::Connection(std::unique_ptr<Handles> handles) : handles_(std::move(handles)) {}

Connection::~Connection() {
  close();
}

Result<std::unique_ptr<Connection>> Connection::open(const ConnectionOptions& options,
                                                     ConnectionSink& sink) {
  auto handles = std::make_unique<Handles>();
  handles->sink = sinks().add(sink);
  std::unique_ptr<Connection> connection(new Connection(std::move(handles)));
  Handles& own = *connection->handles_;
  natsOptions* raw_options = nullptr;
  SO_CHECK(checked(natsOptions_Create(&raw_options), "cannot start the NATS client"));
  const OptionsHandle o(raw_options);
  SO_CHECK(checked(set_options(o.get(), options, own.closure()), "NATS options"));
  natsConnection* raw = nullptr;
  const natsStatus s = natsConnection_Connect(&raw, o.get());
  own.connection.reset(raw);
  std::string where = "cannot connect to";
  for (const std::string& server : options.servers) where.append(" ").append(redacted(server));
  SO_CHECK(checked(s, where));
  return connection;
}

Result<void> Connection::subscribe(const std::string& subject) {
  SO_ASSERT(handles_->subscription == nullptr);
  natsSubscription* raw = nullptr;
  // Not a synchronous one: natsSubscription_NextMsg swallows every message that has no body and
  // the header "Status: 503", which loses the request it answers, and a stored message too.
  natsStatus s = natsConnection_Subscribe(&raw, handles_->connection.get(), subject.c_str(),
                                          on_message, handles_->closure());
  handles_->subscription.reset(raw);
  // The credit bounds what is under way; dropped messages would come back only after ack_wait.
  if (s == NATS_OK) s = natsSubscription_SetPendingLimits(raw, -1, -1);
  return checked(s, "cannot subscribe to " + subject);
}

Result<void> Connection::subscribe_too(const std::string& subject) {
  natsSubscription* raw = nullptr;
  const natsStatus s = natsConnection_Subscribe(&raw, handles_->connection.get(), subject.c_str(),
                                                on_message, handles_->closure());
  handles_->others.emplace_back(raw);
  return checked(s, "cannot subscribe to " + subject);
}

Result<void> Connection::drain_subscription(Duration timeout) {
  if (handles_->subscription == nullptr || !connected()) return {};
  natsSubscription* subscription = handles_->subscription.get();
  natsStatus s = natsSubscription_DrainTimeout(subscription, in_ms(timeout));
  if (s == NATS_OK) s = natsSubscription_WaitForDrainCompletion(subscription, in_ms(timeout));
  return checked(s, "cannot end the subscription");
}

Result<void> Connection::publish(const std::string& subject, const std::string& reply,
                                 std::string_view body) {
  natsConnection* connection = handles_->connection.get();
  const natsStatus s =
      reply.empty()
          ? natsConnection_Publish(connection, subject.c_str(), body.data(), as_int(body.size()))
          : natsConnection_PublishRequest(connection, subject.c_str(), reply.c_str(), body.data(),
                                          as_int(body.size()));
  if (s == NATS_OK) return {};
  return std::unexpected(error_of(s, "cannot publish to " + subject));
}

Result<void> Connection::publish(const std::string& subject, const std::string& reply,
                                 const MessageHeaders& headers, std::string_view body) {
  SO_TRY(const MessageHandle message, make_message(subject, reply, headers, body));
  return checked(natsConnection_PublishMsg(handles_->connection.get(), message.get()),
                 "cannot publish to " + subject);
}

Result<std::optional<RawMessage>> Connection::request(const std::string& subject,
                                                      const MessageHeaders& headers,
                                                      std::string_view body, Duration timeout) {
  SO_TRY(const MessageHandle message, make_message(subject, {}, headers, body));
  natsMsg* raw = nullptr;
  const natsStatus s =
      natsConnection_RequestMsg(&raw, handles_->connection.get(), message.get(), in_ms(timeout));
  const MessageHandle answer(raw);
  if (s == NATS_NO_RESPONDERS) return std::optional<RawMessage>();
  SO_CHECK(checked(s, "no answer from " + subject));
  return std::optional(copy_of(answer.get()));
}

Result<void> Connection::flush(Duration timeout) {
  if (!connected()) return fail(Errc::unavailable, "cannot flush: not connected");
  return checked(natsConnection_FlushTimeout(handles_->connection.get(), in_ms(timeout)),
                 "cannot flush");
}

bool Connection::connected() const {
  return natsConnection_Status(handles_->connection.get()) == NATS_CONN_STATUS_CONNECTED;
}

std::uint64_t Connection::generation() const {
  natsStatistics* raw = nullptr;
  if (natsStatistics_Create(&raw) != NATS_OK) return 0;
  const StatisticsHandle statistics(raw);
  std::uint64_t reconnects = 0;
  if (natsConnection_GetStats(handles_->connection.get(), statistics.get()) != NATS_OK) return 0;
  natsStatistics_GetCounts(statistics.get(), nullptr, nullptr, nullptr, nullptr, &reconnects);
  return reconnects;
}

std::size_t Connection::known_servers() const {
  char** servers = nullptr;
  int count = 0;
  if (natsConnection_GetServers(handles_->connection.get(), &servers, &count) != NATS_OK) return 0;
  for (int i = 0; i < count; ++i) std::free(servers[i]);
  std::free(static_cast<void*>(servers));
  return static_cast<std::size_t>(std::max(count, 0));
}

std::string Connection::connected_to() const {
  std::array<char, 512> url{};
  if (natsConnection_GetConnectedUrl(handles_->connection.get(), url.data(), url.size()) != NATS_OK)
    return {};
  return redacted(url.data());
}

// The subscription is destroyed after the connection is closed, never before: the reader thread of
// cnats 3.4.1 would still use it (nats.c issue 637).
void Connection::close() {
  sinks().remove(handles_->sink);
  if (handles_->connection != nullptr) natsConnection_Close(handles_->connection.get());
  handles_->subscription.reset();
  handles_->others.clear();
  handles_->connection.reset();
}

std::string make_inbox_prefix(std::string_view name) {
  // "sendonce/<instance>" is the connection's name; permissions are granted by the instance alone.
  name.remove_prefix(name.rfind('/') + 1);
  std::string prefix = "_INBOX.sendonce.";
  for (const char c : name)
    prefix.push_back(std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_');
  if (name.empty()) prefix.push_back('_');
  prefix.push_back('.');
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t seed = system_seed();
    std::array<char, sizeof seed> bytes{};
    for (std::size_t b = 0; b < bytes.size(); ++b)
      bytes[b] = static_cast<char>(seed >> (8 * b) & 0xffU);
    append_hex(prefix, {bytes.data(), bytes.size()});
  }
  return prefix;
}

std::string error_text(std::string_view status, std::string_view detail) {
  // "(conn.c:2088): text", from which file of cnats it comes.
  std::string clean = redacted(detail);
  for (std::size_t at = clean.find(".c:"); at != std::string::npos; at = clean.find(".c:", at)) {
    const std::size_t open = clean.rfind('(', at);
    const std::size_t close = clean.find(')', at);
    if (open == std::string::npos || close == std::string::npos) break;
    const std::size_t text = clean.find_first_not_of(": ", close + 1);
    clean.erase(open, std::min(text, clean.size()) - open);
    at = open;
  }
  if (clean.empty()) return std::string(status);
  return clean.find(status) == std::string::npos ? std::string(status) + ": " + clean : clean;
}

std::string redacted(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t scheme = text.find("://", at);
    if (scheme == std::string_view::npos) break;
    const std::size_t host = scheme + 3;
    const std::size_t end = std::min(text.find_first_of(" /'\",)", host), text.size());
    const std::size_t user = text.substr(host, end - host).rfind('@');
    out.append(text.substr(at, host - at));
    if (user != std::string_view::npos) out.append("...@");
    const std::size_t rest = user == std::string_view::npos ? host : host + user + 1;
    out.append(text.substr(rest, end - rest));
    at = end;
  }
  out.append(text.substr(at));
  return out;
}

}  // namespace sendonce
