#include "plugin/module/http/tcp_listener.hpp"

#include <cerrno>
#include <memory>
#include <system_error>

#include <netdb.h>
#include <sys/socket.h>

namespace sendonce {
namespace {

constexpr int kBacklog = 16;

Error why(int error, const std::string& where) {
  const Errc code = error == EADDRINUSE                 ? Errc::busy
                    : error == EACCES || error == EPERM ? Errc::denied
                                                        : Errc::invalid;
  return {code, "cannot listen on " + where + ": " + std::generic_category().message(error)};
}

}  // namespace

Result<UniqueFd> listen_tcp(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string number = std::to_string(port);
  if (::getaddrinfo(host.c_str(), number.c_str(), &hints, &found) != 0)
    return fail(Errc::invalid, host + " is not an address");
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> address(found, &::freeaddrinfo);
  std::string where = host;
  where.append(" port ").append(number);
  UniqueFd fd(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return std::unexpected(why(errno, where));
  // A restart must not wait for the connections of the life before.
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd.get(), address->ai_addr, address->ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0)
    return std::unexpected(why(errno, where));
  return fd;
}

}  // namespace sendonce
