// One connection of the fault server: TLS and HTTP/2 from the server's side, and the scripts that
// the paths of its requests name. It lives on the server's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "tests/unit/transport/fault_server.hpp"

namespace sendonce::test {

class FaultServer::Peer {
 public:
  using Field = std::pair<std::string, std::string>;

  Peer(FaultServer& server, int fd);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool dead() const { return dead_; }
  [[nodiscard]] bool wants_read() const { return !server_.options_.hang && !(deaf_ && greeted_); }
  [[nodiscard]] bool wants_write() const { return out_at_ < out_.size(); }

  void step();

  // ---- what a script can do: everything before it has been packed first
  void headers(std::int32_t id, const std::string& status, bool end, std::vector<Field> more = {});
  void interim(std::int32_t id, const std::string& status);
  void body(std::int32_t id, std::size_t size, bool end);
  void reset(std::int32_t id, std::uint32_t error);
  void goaway(std::int32_t last, std::uint32_t error);
  void notice();
  void allow(std::uint32_t streams);
  void raw(std::string_view bytes) { out_.append(bytes); }
  void close_after_flush() { close_ = true; }
  void cut_after_flush() { close_ = cut_ = true; }
  void cut_now() { cut_ = dead_ = true; }
  void hear() { deaf_ = false; }
  void ignore_pings() { ignore_pings_ = true; }
  void answer_silent(const char* status);
  void silent(std::int32_t id) { silent_.push_back(id); }
  void finish_if_due();

 private:
  struct Stream {
    std::string path{};
    std::string ticket{};
    std::map<std::string, std::string> fields{};
  };
  struct Moment {
    std::int32_t id = 0;
    bool end = false;
  };

  bool handshake();
  void begin();
  void read();
  void pack();
  void flush();
  void answered(std::int32_t);

  // Scripts run after nghttp2 has returned: it may not be called from its own callbacks.
  void play();
  void at_headers(std::int32_t id, const Stream& s);
  void at_end(std::int32_t id, const Stream& s);

  static Peer& of(void* user) { return *static_cast<Peer*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* f, const std::uint8_t* n,
                       std::size_t ns, const std::uint8_t* v, std::size_t vs, std::uint8_t,
                       void* user);
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t*,
                     std::size_t n, void* user);
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user);
  static int on_frame(nghttp2_session* session, const nghttp2_frame* f, void* user);

  FaultServer& server_;
  int fd_;
  SSL* ssl_;
  nghttp2_session* session_ = nullptr;
  std::string out_{};
  std::size_t out_at_ = 0;
  std::map<std::int32_t, Stream> streams_{};
  std::map<std::int32_t, bool> open_{};
  std::vector<Moment> moments_{};
  std::vector<std::int32_t> silent_{};
  std::size_t left_ = 0;
  bool end_body_ = true;
  bool deaf_ = false;
  bool greeted_ = false;
  bool raised_ = false;
  bool ignore_pings_ = false;
  bool close_ = false;
  bool cut_ = false;
  bool dead_ = false;
};

}  // namespace sendonce::test
