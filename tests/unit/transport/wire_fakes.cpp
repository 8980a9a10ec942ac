#include "tests/unit/transport/wire_fakes.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/assert.hpp"
#include "tests/unit/transport/pki.hpp"

namespace sendonce::test {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

int listen_on_loopback(int backlog, int& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in a = loopback(0);
  socklen_t size = sizeof a;
  SO_ASSERT(::bind(fd, reinterpret_cast<sockaddr*>(&a), size) == 0);
  SO_ASSERT(::listen(fd, backlog) == 0);
  SO_ASSERT(::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size) == 0);
  port = ntohs(a.sin_port);
  return fd;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// Both ways, until one side ends.
void pump(int a, int b) {
  std::array<char, 16384> buffer{};
  for (;;) {
    std::array<pollfd, 2> fds{pollfd{a, POLLIN, 0}, pollfd{b, POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), -1) < 0) return;
    for (std::size_t i = 0; i < 2; ++i) {
      if (fds[i].revents == 0) continue;
      const ssize_t n = ::recv(fds[i].fd, buffer.data(), buffer.size(), 0);
      if (n <= 0) return;
      send_all(i == 0 ? b : a, {buffer.data(), static_cast<std::size_t>(n)});
    }
  }
}

void wait_for_end(int fd) {
  std::array<char, 4096> buffer{};
  while (::recv(fd, buffer.data(), buffer.size(), 0) > 0) {
  }
}

void reset_on_close(int fd) {
  const linger l{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
}

}  // namespace

TcpServer::TcpServer() {
  listen_ = listen_on_loopback(16, port_);
}

TcpServer::~TcpServer() {
  ::close(listen_);
}

void TcpServer::start() {
  thread_ = std::thread([this] { run(); });
}

void TcpServer::stop() {
  stop_.store(true);
  ::shutdown(listen_, SHUT_RDWR);
  if (const int fd = current_.load(); fd >= 0) ::shutdown(fd, SHUT_RDWR);
  thread_.join();
}

void TcpServer::run() {
  // OpenSSL writes without MSG_NOSIGNAL. Only here: the client must do without this.
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  while (!stop_.load()) {
    const int fd = ::accept4(listen_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    ++accepted_;
    current_.store(fd);
    if (!stop_.load()) serve(fd);
    current_.store(-1);
    ::close(fd);
  }
}

std::vector<std::string> Proxy::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void Proxy::serve(int fd) {
  std::string head;
  std::array<char, 4096> buffer{};
  while (head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) return;
    head.append(buffer.data(), static_cast<std::size_t>(n));
  }
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(head);
  }
  // "user:pass"
  const bool known = head.find("Proxy-Authorization: Basic dXNlcjpwYXNz") != std::string::npos;
  if (mood_ == Mood::closes) return;
  if (mood_ == Mood::hangs) return wait_for_end(fd);
  if (mood_ == Mood::broken) return send_all(fd, "HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n");
  if (mood_ == Mood::asks && !known) {
    return send_all(fd,
                    "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
                    "Content-Length: 0\r\nConnection: close\r\n\r\n");
  }
  const int port = std::atoi(head.c_str() + head.find(':') + 1);
  const int up = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in a = loopback(port);
  if (::connect(up, reinterpret_cast<const sockaddr*>(&a), sizeof a) == 0) {
    constexpr std::string_view kYes = "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n";
    const std::size_t piece = mood_ == Mood::slow ? 1 : kYes.size();
    for (std::size_t i = 0; i < kYes.size(); i += piece) send_all(fd, kYes.substr(i, piece));
    pump(fd, up);
  }
  ::close(up);
}

BlackHole::BlackHole() {
  listen_ = listen_on_loopback(0, port_);
  const sockaddr_in a = loopback(port_);
  for (int i = 0; i < 4; ++i) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ::connect(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a);
    fillers_.push_back(fd);
  }
}

BlackHole::~BlackHole() {
  for (const int fd : fillers_) ::close(fd);
  ::close(listen_);
}

Http1Server::Http1Server(std::vector<std::string> script, std::string identity, bool tls,
                         bool keep_alive)
    : script_(std::move(script)), tls_(tls), keep_alive_(keep_alive) {
  const Pki& pki = Pki::get();
  SSL_CTX* ctx = SSL_CTX_new(TLS_server_method());
  SO_ASSERT(SSL_CTX_use_certificate_chain_file(ctx, pki.certificate(identity).c_str()) == 1);
  SO_ASSERT(SSL_CTX_use_PrivateKey_file(ctx, pki.key(identity).c_str(), SSL_FILETYPE_PEM) == 1);
  context_ = ctx;
  start();
}

Http1Server::~Http1Server() {
  stop();
  SSL_CTX_free(static_cast<SSL_CTX*>(context_));
}

std::string Http1Server::url(const std::string& path) const {
  return (tls_ ? "https://localhost:" : "http://localhost:") + std::to_string(port()) + path;
}

std::vector<std::string> Http1Server::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void Http1Server::serve(int fd) {
  SSL* ssl = nullptr;
  if (tls_) {
    ssl = SSL_new(static_cast<SSL_CTX*>(context_));
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) != 1) {
      SSL_free(ssl);
      return;
    }
  }
  auto read = [&](char* to, std::size_t size) {
    return ssl != nullptr ? SSL_read(ssl, to, static_cast<int>(size))
                          : static_cast<int>(::recv(fd, to, size, 0));
  };
  std::string in;
  std::array<char, 4096> buffer{};
  bool open = true;
  while (open) {
    std::size_t whole = std::string::npos;
    for (;;) {
      if (const std::size_t head = in.find("\r\n\r\n"); head != std::string::npos) {
        const std::size_t length = in.find("Content-Length: ");
        whole = head + 4;
        if (length < head) whole += static_cast<std::size_t>(std::atoi(in.c_str() + length + 16));
      }
      if (whole != std::string::npos && in.size() >= whole) break;
      const int n = read(buffer.data(), buffer.size());
      if (n <= 0) break;
      in.append(buffer.data(), static_cast<std::size_t>(n));
    }
    if (in.empty()) break;
    std::string reply;
    {
      const std::lock_guard lock(mutex_);
      reply = script_[std::min(requests_.size(), script_.size() - 1)];
      requests_.push_back(std::exchange(in, {}));
    }
    const bool closes = reply.empty() || reply == "RST" || reply == "HANG";
    if (reply == "RST")
      reset_on_close(fd);
    else if (reply == "HANG")
      wait_for_end(fd);
    else if (!reply.empty() && ssl != nullptr)
      SSL_write(ssl, reply.data(), static_cast<int>(reply.size()));
    else if (!reply.empty())
      send_all(fd, reply);
    open = keep_alive_ && !closes;
    if (!open && reply != "RST" && ssl != nullptr) SSL_shutdown(ssl);
  }
  SSL_free(ssl);
}

}  // namespace sendonce::test
