#include "plugin/transport/curl/connect_sockets.hpp"

#include <algorithm>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace sendonce {
namespace {

// Requests that lie in the send buffer when a connection dies are in doubt. The kernel takes no
// more than this beyond what it has sent.
constexpr int kUnsentBytes = 16 * 1024;

}  // namespace

void ConnectSockets::attach(CURL* easy, bool h2) {
  h2_ = h2;
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_new_socket);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, this);
}

int ConnectSockets::on_new_socket(void* self, curl_socket_t fd, curlsocktype) {
  auto& me = *static_cast<ConnectSockets*>(self);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);  // libcurl does not, and hosts fork
  if (me.h2_) {
    ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
  }
  me.sockets_[me.count_++ % me.sockets_.size()] = fd;
  return CURL_SOCKOPT_OK;
}

bool ConnectSockets::any_connected() const {
  for (std::size_t i = 0; i < std::min(count_, sockets_.size()); ++i) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(sockets_[i], reinterpret_cast<sockaddr*>(&peer), &size) == 0) return true;
  }
  return false;
}

// CURLINFO_CONNECT_TIME stays 0 until TLS is done, too, so the sockets are asked.
ConnectPhase ConnectSockets::phase(CURL* easy, bool by_proxy) const {
  curl_off_t resolved = 0;
  long proxy_status = 0;
  curl_easy_getinfo(easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved);
  curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
  if (resolved == 0) return ConnectPhase::resolving;
  if (!any_connected()) return ConnectPhase::reaching;
  if (by_proxy && proxy_status / 100 != 2) return ConnectPhase::proxying;
  return ConnectPhase::tls;
}

ConnectReport ConnectSockets::report(CURL* easy, CURLcode code, std::string_view detail,
                                     bool by_proxy) const {
  ConnectReport report;
  report.code = code;
  report.detail = detail;
  report.phase = phase(easy, by_proxy);
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &report.os_errno);
  curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &report.proxy_status);
  curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &report.verify_result);
  return report;
}

}  // namespace sendonce
