// HTTP/1.1 by hand over a socket of any kind: what is sent is what the test wrote.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "plugin/core/unique_fd.hpp"

namespace sendonce::test {

// To 127.0.0.1; waits for at most 20 s for whatever comes.
inline UniqueFd connect_loopback(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fd.reset();
  return fd;
}

inline void send_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the server may hang up on us
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

// All that comes until the other side closes.
inline std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

struct HttpSeen {
  int status = 0;  // 0: it was no answer
  std::string head{};
  std::string body{};
};

inline HttpSeen say_http(int fd, std::string_view request) {
  send_all(fd, request);
  const std::string all = read_to_end(fd);
  const std::size_t end = all.find("\r\n\r\n");
  if (!all.starts_with("HTTP/1.1 ") || end == std::string::npos) return {};
  return {.status = std::atoi(all.c_str() + 9),
          .head = all.substr(0, end),
          .body = all.substr(end + 4)};
}

inline HttpSeen get(int fd, std::string_view target, std::string_view method = "GET") {
  std::string request(method);
  request.append(" ").append(target).append(" HTTP/1.1\r\nHost: test\r\n\r\n");
  return say_http(fd, request);
}

}  // namespace sendonce::test
