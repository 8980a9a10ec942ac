#include "tests/truth/stub_server.hpp"

#include <array>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/assert.hpp"

namespace sendonce::truth {
namespace {

constexpr int kLookMs = 50;
constexpr int kPatienceMs = 2'000;

}  // namespace

StubServer::StubServer(std::string answer)
    : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  SO_ASSERT(::bind(listener_.get(), raw, size) == 0 && ::listen(listener_.get(), 16) == 0 &&
            ::getsockname(listener_.get(), raw, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

StubServer::~StubServer() {
  stopping_ = true;
  thread_.join();
}

void StubServer::serve() const {
  while (!stopping_.load()) {
    pollfd ready{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, kLookMs) <= 0) continue;
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    pollfd asked{.fd = client.get(), .events = POLLIN, .revents = 0};
    std::array<char, 4096> request{};
    if (client.get() < 0 || ::poll(&asked, 1, kPatienceMs) <= 0) continue;
    if (::recv(client.get(), request.data(), request.size(), 0) <= 0) continue;
    static_cast<void>(!::send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL));
  }
}

}  // namespace sendonce::truth
