// The sockets that libcurl opens for one transfer, and how far its attempt to connect has come.
#pragma once

#include <array>
#include <cstddef>

#include <curl/curl.h>

#include "plugin/transport/curl/connect_failure.hpp"

namespace sendonce {

class ConnectSockets {
 public:
  // Must not move while the transfer lives. With `h2` the kernel is told to keep little unsent
  // data.
  void attach(CURL* easy, bool h2);
  // Meaningful while the transfer has not been handed over.
  [[nodiscard]] ConnectPhase phase(CURL* easy, bool by_proxy) const;
  // Why it failed, as libcurl says it; `detail` is lent.
  [[nodiscard]] ConnectReport report(CURL* easy, CURLcode code, std::string_view detail,
                                     bool by_proxy) const;

 private:
  static int on_new_socket(void* self, curl_socket_t fd, curlsocktype);
  [[nodiscard]] bool any_connected() const;

  std::array<curl_socket_t, 8> sockets_{};  // the latest; addresses are tried in parallel
  std::size_t count_ = 0;
  bool h2_ = false;
};

}  // namespace sendonce
