#include "tests/support/h2_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/connection.hpp"

namespace sendonce::test {
namespace {

constexpr std::uint64_t kListener = 0;  // ids in epoll; connections follow
constexpr std::uint64_t kWake = 1;
constexpr std::uint64_t kFirstConnection = 2;

int select_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* in, unsigned in_size, void*) {
  static constexpr unsigned char kOurs[] = "\x02h2\x08http/1.1";
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, kOurs, sizeof kOurs - 1, in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<void> require_client_certificate(SSL_CTX* context, const std::string& authority) {
  const X509Ptr ca(PEM_read_bio_X509(reader_of(authority).get(), nullptr, nullptr, nullptr));
  if (ca == nullptr) return fail(Errc::invalid, "client_ca is no certificate");
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return {};
}

Result<SslCtxPtr> tls_context(const ServerOptions& options) {
  SslCtxPtr context(SSL_CTX_new(TLS_server_method()));
  const X509Ptr certificate(
      PEM_read_bio_X509(reader_of(options.identity.certificate).get(), nullptr, nullptr, nullptr));
  const PkeyPtr key = private_key_from(options.identity.key);
  if (certificate == nullptr || key == nullptr ||
      SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    return fail(Errc::invalid, "the server's certificate and key cannot be used");
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  if (options.tls12_only) SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  static constexpr unsigned char kSession[] = "sendonce";
  SSL_CTX_set_session_id_context(context.get(), kSession, sizeof kSession - 1);
  // One system call for several records.
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), 65536);
  if (options.offer_h2) SSL_CTX_set_alpn_select_cb(context.get(), select_protocol, nullptr);
  if (!options.client_ca.empty()) {
    SO_CHECK(require_client_certificate(context.get(), options.client_ca));
  }
  return context;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Result<Address> address_of(const std::string& text, std::uint16_t port) {
  Address out{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    out.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    out.size = sizeof *v6;
  } else {
    return fail(Errc::invalid, text + ": not an IPv4 or IPv6 address");
  }
  return out;
}

Result<int> listening_socket(const ServerOptions& options) {
  SO_TRY(Address at, address_of(options.address, options.port));
  const int fd = ::socket(at.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int one = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&at.storage), at.size) != 0 ||
      ::listen(fd, 512) != 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    return fail(Errc::unavailable, options.address + ":" + std::to_string(options.port) + ": " +
                                       ::strerrordesc_np(error));
  }
  return fd;
}

struct Due {
  MonoTime at{};
  std::uint64_t connection = 0;
  std::int32_t stream = 0;
  friend bool operator>(const Due& a, const Due& b) { return a.at > b.at; }
};

}  // namespace

struct H2Server::State final : ServerContext {
  State(const ServerOptions& o, Handler& h)
      : ServerContext(own_options, h, own_totals), own_options(o) {}
  ~State() override {
    connections.clear();
    for (const int fd : {listener, wake, epoll}) {
      if (fd >= 0) ::close(fd);
    }
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void release_later(Duration delay, std::uint64_t connection, std::int32_t stream) override {
    timers.push({.at = clock->mono() + delay, .connection = connection, .stream = stream});
  }
  void watch(int operation, int fd, std::uint64_t id, std::uint32_t events) const {
    epoll_event event{.events = events, .data = {.u64 = id}};
    ::epoll_ctl(epoll, operation, fd, &event);
  }
  void accept_all();
  void on_event(const epoll_event& event);
  void after_step(std::uint64_t id, bool alive);
  void fire_timers();
  void on_wake();
  [[nodiscard]] int milliseconds_to_next() const;

  ServerOptions own_options;
  ServerTotals own_totals{};
  std::unique_ptr<Clock> clock = make_system_clock();
  SslCtxPtr tls{};
  std::uint16_t port = 0;
  int listener = -1;
  int wake = -1;
  int epoll = -1;
  std::atomic<bool> stopping{false};
  std::atomic<bool> killing{false};
  std::uint64_t next_id = kFirstConnection;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections{};
  std::priority_queue<Due, std::vector<Due>, std::greater<>> timers{};
};

Result<std::unique_ptr<H2Server>> H2Server::listen(const ServerOptions& options, Handler& handler) {
  auto state = std::make_unique<State>(options, handler);
  SO_TRY(state->tls, tls_context(options));
  SO_TRY(state->listener, listening_socket(options));
  Address bound{};
  bound.size = sizeof bound.storage;
  ::getsockname(state->listener, reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
  // The port stands at the same place in both families.
  state->port = ntohs(reinterpret_cast<sockaddr_in*>(&bound.storage)->sin_port);
  state->epoll = ::epoll_create1(EPOLL_CLOEXEC);
  state->wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  SO_ASSERT(state->epoll >= 0 && state->wake >= 0);
  state->watch(EPOLL_CTL_ADD, state->listener, kListener, EPOLLIN);
  state->watch(EPOLL_CTL_ADD, state->wake, kWake, EPOLLIN);
  return std::unique_ptr<H2Server>(new H2Server(std::move(state)));
}

H2Server::H2Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
H2Server::~H2Server() = default;

std::uint16_t H2Server::port() const {
  return state_->port;
}
const ServerTotals& H2Server::totals() const {
  return state_->totals;
}

void H2Server::run() {
  State& s = *state_;
  // OpenSSL writes with write(2); a client that has gone must not end the process.
  sigset_t broken_pipe;
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  std::array<epoll_event, 64> events{};
  while (!s.stopping.load()) {
    const int n = ::epoll_wait(s.epoll, events.data(), static_cast<int>(events.size()),
                               s.milliseconds_to_next());
    s.now = s.clock->wall();
    for (int i = 0; i < n; ++i) s.on_event(events[static_cast<std::size_t>(i)]);
    s.fire_timers();
    s.handler.on_idle();
  }
  s.connections.clear();
  ::close(std::exchange(s.listener, -1));
  s.handler.on_idle();
}

void H2Server::stop() {
  state_->stopping.store(true);
  ::eventfd_write(state_->wake, 1);
}

void H2Server::kill_connections() {
  state_->killing.store(true);
  ::eventfd_write(state_->wake, 1);
}

void H2Server::State::on_event(const epoll_event& event) {
  const std::uint64_t id = event.data.u64;
  if (id == kListener) {
    accept_all();
  } else if (id == kWake) {
    on_wake();
  } else if (const auto at = connections.find(id); at != connections.end()) {
    const bool gone = at->second->deaf() && (event.events & (EPOLLHUP | EPOLLERR)) != 0;
    after_step(id, !gone && at->second->step());
  }
}

void H2Server::State::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    SslPtr ssl(SSL_new(tls.get()));
    SSL_set_fd(ssl.get(), fd);
    const std::uint64_t id = next_id++;
    connections[id] = std::make_unique<Connection>(id - 1, fd, std::move(ssl), *this);
    const bool silent = options.silence == Silence::handshake;
    watch(EPOLL_CTL_ADD, fd, id, silent ? 0U : static_cast<std::uint32_t>(EPOLLIN));
  }
}

void H2Server::State::after_step(std::uint64_t id, bool alive) {
  const auto at = connections.find(id);
  Connection& c = *at->second;
  if (!alive) {
    connections.erase(at);
    return;
  }
  if (c.deaf()) {
    watch(EPOLL_CTL_MOD, c.fd(), id, 0);
  } else if (c.wants_to_write() != c.watched_for_writing) {
    c.watched_for_writing = c.wants_to_write();
    watch(EPOLL_CTL_MOD, c.fd(), id,
          static_cast<std::uint32_t>(EPOLLIN) |
              (c.watched_for_writing ? static_cast<std::uint32_t>(EPOLLOUT) : 0U));
  }
}

void H2Server::State::fire_timers() {
  if (timers.empty()) return;
  const MonoTime now_mono = clock->mono();
  std::vector<std::uint64_t> touched;  // written to once each, however many answers are due
  while (!timers.empty() && timers.top().at <= now_mono) {
    const Due due = timers.top();
    timers.pop();
    const auto at = connections.find(due.connection + 1);
    if (at == connections.end()) continue;
    at->second->release(due.stream);
    touched.push_back(at->first);
  }
  std::ranges::sort(touched);
  const auto repeated = std::ranges::unique(touched);
  touched.erase(repeated.begin(), repeated.end());
  for (const std::uint64_t id : touched) after_step(id, connections.at(id)->flush());
}

void H2Server::State::on_wake() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake, &ignored);
  if (!killing.exchange(false)) return;
  for (auto& [id, connection] : connections) connection->abort();
  connections.clear();
}

// -1: none. Rounded up, so that the loop does not spin on the last fraction.
int H2Server::State::milliseconds_to_next() const {
  if (timers.empty()) return -1;
  const Duration left = timers.top().at - clock->mono();
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<std::int64_t>(whole, 0, 60'000));
}

}  // namespace sendonce::test
