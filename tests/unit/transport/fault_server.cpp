#include "tests/unit/transport/fault_server.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/assert.hpp"
#include "tests/unit/transport/fault_peer.hpp"
#include "tests/unit/transport/pki.hpp"

namespace sendonce::test {
namespace {

int select_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                unsigned in_size, void* mode) {
  const std::string& m = *static_cast<std::string*>(mode);
  if (m == "none") return SSL_TLSEXT_ERR_NOACK;
  if (m == "alert") return SSL_TLSEXT_ERR_ALERT_FATAL;
  if (m == "http/1.1") {
    static const unsigned char h1[] = "http/1.1";
    *out = h1;
    *out_size = 8;
    return SSL_TLSEXT_ERR_OK;
  }
  for (unsigned i = 0; i + 2 < in_size; i += in[i] + 1U) {
    if (in[i] != 2 || in[i + 1] != 'h' || in[i + 2] != '2') continue;
    *out = in + i + 1;
    *out_size = 2;
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

SSL_CTX* make_tls(FaultOptions& options) {
  const Pki& pki = Pki::get();
  SSL_CTX* ctx = SSL_CTX_new(TLS_server_method());
  SO_ASSERT(SSL_CTX_use_certificate_chain_file(ctx, pki.certificate(options.identity).c_str()) ==
            1);
  SO_ASSERT(SSL_CTX_use_PrivateKey_file(ctx, pki.key(options.identity).c_str(), SSL_FILETYPE_PEM) ==
            1);
  SSL_CTX_set_alpn_select_cb(ctx, select_alpn, &options.alpn);
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (options.tls12) SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
  static const unsigned char id[] = "fault";
  SSL_CTX_set_session_id_context(ctx, id, sizeof id - 1);
  if (options.wants_client) {
    SO_ASSERT(SSL_CTX_load_verify_locations(ctx, pki.ca().c_str(), nullptr) == 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return ctx;
}

}  // namespace

FaultServer::FaultServer(FaultOptions options) : options_(std::move(options)) {
  tls_ = make_tls(options_);
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  listen_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (options_.receive_buffer > 0) {
    ::setsockopt(listen_, SOL_SOCKET, SO_RCVBUF, &options_.receive_buffer,
                 sizeof options_.receive_buffer);
  }
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof a;
  SO_ASSERT(::bind(listen_, reinterpret_cast<sockaddr*>(&a), size) == 0);
  SO_ASSERT(::listen(listen_, 128) == 0);
  SO_ASSERT(::getsockname(listen_, reinterpret_cast<sockaddr*>(&a), &size) == 0);
  port_ = ntohs(a.sin_port);
  thread_ = std::thread([this] { run(); });
}

FaultServer::~FaultServer() {
  stop_.store(true);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_, &one, sizeof one);
  thread_.join();
  peers_.clear();
  SSL_CTX_free(static_cast<SSL_CTX*>(tls_));
  if (listen_ >= 0) ::close(listen_);
  ::close(wake_);
}

void FaultServer::accept_all() {
  for (;;) {
    const int fd = ::accept4(listen_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int one = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    peers_.push_back(std::make_unique<Peer>(*this, fd));
    const std::lock_guard lock(mutex_);
    ++totals_.accepted;
  }
}

void FaultServer::run() {
  // OpenSSL writes without MSG_NOSIGNAL. Only here: the client must do without this.
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  while (!stop_.load()) {
    std::vector<pollfd> fds{{wake_, POLLIN, 0}, {listen_, POLLIN, 0}};
    for (const auto& p : peers_) {
      const int events = (p->wants_read() ? POLLIN : 0) | (p->wants_write() ? POLLOUT : 0);
      fds.push_back({p->fd(), static_cast<short>(events), 0});
    }
    ::poll(fds.data(), fds.size(), -1);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(wake_, &count, sizeof count);
    std::vector<std::function<void(Peer&)>> orders;
    std::uint64_t upto = 0;
    {
      const std::lock_guard lock(mutex_);
      orders.swap(orders_);
      upto = ordered_;
    }
    if (refusing_.load() && listen_ >= 0) ::close(std::exchange(listen_, -1));
    if (listen_ >= 0) accept_all();
    for (auto& p : peers_) {
      if (!p->dead()) p->step();
      for (const auto& order : orders) order(*p);
      p->finish_if_due();
    }
    std::erase_if(peers_, [](const auto& p) { return p->dead(); });
    const std::lock_guard lock(mutex_);
    open_peers_ = peers_.size();
    obeyed_ = upto;
    done_.notify_all();
  }
}

void FaultServer::on_all(std::function<void(Peer&)> what) {
  std::unique_lock lock(mutex_);
  orders_.push_back(std::move(what));
  const std::uint64_t mine = ++ordered_;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_, &one, sizeof one);
  done_.wait(lock, [&] { return obeyed_ >= mine; });
}

void FaultServer::kill() {
  on_all([](Peer& p) { p.cut_now(); });
}
void FaultServer::close() {
  on_all([](Peer& p) { p.close_after_flush(); });
}
void FaultServer::answer_all(const char* status) {
  on_all([status](Peer& p) { p.answer_silent(status); });
}
void FaultServer::goaway(std::int32_t last, std::uint32_t error) {
  on_all([=](Peer& p) { p.goaway(last, error); });
}
void FaultServer::allow_streams(std::uint32_t count) {
  on_all([count](Peer& p) { p.allow(count); });
}
void FaultServer::listen_again() {
  on_all([](Peer& p) { p.hear(); });
}
void FaultServer::refuse_connections() {
  refusing_.store(true);
  on_all([](Peer&) {});
}
void FaultServer::stop_answering_pings() {
  on_all([](Peer& p) { p.ignore_pings(); });
}

std::map<std::string, Witness> FaultServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}
Witness FaultServer::seen(std::uint64_t ticket) const {
  const std::lock_guard lock(mutex_);
  const auto it = seen_.find(std::to_string(ticket));
  return it == seen_.end() ? Witness{} : it->second;
}
std::map<std::string, std::string> FaultServer::headers_of(std::uint64_t ticket) const {
  const std::lock_guard lock(mutex_);
  const auto it = headers_.find(std::to_string(ticket));
  return it == headers_.end() ? std::map<std::string, std::string>{} : it->second;
}
FaultTotals FaultServer::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}
std::size_t FaultServer::connections() const {
  const std::lock_guard lock(mutex_);
  return open_peers_;
}

}  // namespace sendonce::test
