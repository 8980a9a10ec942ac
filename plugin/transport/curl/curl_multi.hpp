// libcurl's multi interface driven by our EventLoop: libcurl's sockets become event sources, its
// timer a deadline of ours. No call blocks.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include <curl/curl.h>

#include "plugin/core/clock.hpp"
#include "plugin/transport/event_loop.hpp"

namespace sendonce {

// curl_global_init, once. Never undone: another user of libcurl may live in the host's process.
void init_curl_once();
// The bundle that this build of libcurl trusts by default; empty if it has none.
[[nodiscard]] std::string system_ca_file();

class CurlMulti {
 public:
  class Transfer {
   public:
    // libcurl has finished with the transfer; it may be removed from within.
    virtual void on_done(CURLcode code) = 0;

   protected:
    ~Transfer() = default;
  };

  CurlMulti(EventLoop& loop, const Clock& clock);
  ~CurlMulti();  // every transfer must have been removed
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  void keep_at_most(std::size_t connections);  // that are idle
  // Takes over the handle's CURLOPT_PRIVATE. The transfer stays until removed.
  void add(CURL* easy, Transfer& transfer);
  void remove(CURL* easy);  // closes a connect-only connection

  // When on_time() must be called, however busy the descriptors are.
  [[nodiscard]] std::optional<MonoTime> due() const { return due_; }
  void on_time();

 private:
  struct Socket;
  static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* socket);
  static int on_timer(CURLM* multi, long ms, void* self);
  void act(curl_socket_t fd, int mask);
  void collect();

  EventLoop& loop_;
  const Clock& clock_;
  CURLM* multi_;
  std::map<curl_socket_t, std::unique_ptr<Socket>> sockets_;
  std::optional<MonoTime> due_{};
};

}  // namespace sendonce
