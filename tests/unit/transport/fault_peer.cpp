#include "tests/unit/transport/fault_peer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sendonce::test {
namespace {

constexpr const char* kReceipt = "EC1BF194-B3B2-424A-89A9-5A918A6E6B5D";

std::vector<nghttp2_nv> to_nv(const std::vector<std::pair<std::string, std::string>>& fields) {
  auto bytes = [](const std::string& s) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(s.data()));
  };
  std::vector<nghttp2_nv> out;
  for (const auto& [n, v] : fields) {
    out.push_back({bytes(n), bytes(v), n.size(), v.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return out;
}

bool would_block(SSL* ssl, int rc) {
  const int e = SSL_get_error(ssl, rc);
  return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE;
}

}  // namespace

FaultServer::Peer::Peer(FaultServer& server, int fd)
    : server_(server), fd_(fd), ssl_(SSL_new(static_cast<SSL_CTX*>(server.tls_))) {
  SSL_set_fd(ssl_, fd);
  deaf_ = server.options_.deaf;
}

FaultServer::Peer::~Peer() {
  if (session_ != nullptr) nghttp2_session_del(session_);
  SSL_free(ssl_);
  ::close(fd_);
}

void FaultServer::Peer::step() {
  if (server_.options_.hang) return;
  if (!handshake()) return;
  read();
  play();
  flush();
  if (session_ != nullptr && nghttp2_session_want_read(session_) == 0 &&
      nghttp2_session_want_write(session_) == 0 && !wants_write()) {
    dead_ = true;
  }
}

void FaultServer::Peer::headers(std::int32_t id, const std::string& status, bool end,
                                std::vector<Field> more) {
  if (status[0] == '2') more.insert(more.begin(), {"apns-id", kReceipt});
  more.insert(more.begin(), {":status", status});
  const auto nv = to_nv(more);
  nghttp2_submit_headers(session_, end ? NGHTTP2_FLAG_END_STREAM : NGHTTP2_FLAG_NONE, id, nullptr,
                         nv.data(), nv.size(), nullptr);
  pack();
  if (end) answered(id);
}

void FaultServer::Peer::interim(std::int32_t id, const std::string& status) {
  const std::vector<Field> fields{{":status", status}, {"link", "</x>"}};
  const auto nv = to_nv(fields);
  nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, id, nullptr, nv.data(), nv.size(), nullptr);
  pack();
}

void FaultServer::Peer::body(std::int32_t id, std::size_t size, bool end) {
  left_ = size;
  end_body_ = end;
  nghttp2_data_provider p{};
  p.source.ptr = this;
  p.read_callback = [](nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room,
                       std::uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
    auto& me = *static_cast<Peer*>(source->ptr);
    if (me.left_ == 0) return NGHTTP2_ERR_DEFERRED;
    const std::size_t n = std::min(room, me.left_);
    std::memset(to, 'x', n);
    me.left_ -= n;
    if (me.left_ == 0 && me.end_body_) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
  };
  nghttp2_submit_data(session_, NGHTTP2_FLAG_END_STREAM, id, &p);
  pack();
}

void FaultServer::Peer::reset(std::int32_t id, std::uint32_t error) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, error);
  pack();
}

void FaultServer::Peer::goaway(std::int32_t last, std::uint32_t error) {
  static const char debug[] = R"({"reason":"Shutdown"})";
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, error,
                        reinterpret_cast<const std::uint8_t*>(debug), sizeof debug - 1);
  pack();
}

void FaultServer::Peer::notice() {
  nghttp2_submit_shutdown_notice(session_);
  pack();
}

void FaultServer::Peer::allow(std::uint32_t streams) {
  const nghttp2_settings_entry e{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &e, 1);
  pack();
}

void FaultServer::Peer::answer_silent(const char* status) {
  for (const std::int32_t id : std::exchange(silent_, {})) headers(id, status, true);
}

void FaultServer::Peer::finish_if_due() {
  if (session_ != nullptr && !dead_) flush();
  if (session_ == nullptr && close_) dead_ = true;
  if (dead_ && cut_) {
    const linger l{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &l, sizeof l);
  }
}

bool FaultServer::Peer::handshake() {
  if (session_ != nullptr) return true;
  ERR_clear_error();
  const int rc = SSL_accept(ssl_);
  if (rc != 1) {
    dead_ = !would_block(ssl_, rc);
    return false;
  }
  X509* peer = SSL_get1_peer_certificate(ssl_);
  {
    const std::lock_guard lock(server_.mutex_);
    ++server_.totals_.handshakes;
    if (SSL_session_reused(ssl_) == 1) ++server_.totals_.resumed;
    if (peer != nullptr) ++server_.totals_.with_client_certificate;
  }
  X509_free(peer);
  if (server_.options_.close_after_tls) {
    dead_ = true;
    return false;
  }
  begin();
  flush();
  greeted_ = true;
  return true;
}

void FaultServer::Peer::begin() {
  const FaultOptions& o = server_.options_;
  nghttp2_session_callbacks* c = nullptr;
  nghttp2_session_callbacks_new(&c);
  nghttp2_session_callbacks_set_on_header_callback(c, on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(c, on_close);
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, o.no_window_update ? 1 : 0);
  nghttp2_option_set_no_auto_ping_ack(option, 1);
  nghttp2_session_server_new2(&session_, c, this, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(c);
  if (o.mute) return;
  const std::array e{nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, o.max_streams},
                     nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, o.window}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, e.data(), e.size());
  if (o.connection_window != 65535) {
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, o.connection_window);
  }
  pack();
}

void FaultServer::Peer::read() {
  std::array<std::uint8_t, 16384> buffer{};
  while (wants_read() && !dead_) {
    ERR_clear_error();
    const int n = SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
    if (n <= 0) {
      dead_ = !would_block(ssl_, n);
      return;
    }
    {
      const std::lock_guard lock(server_.mutex_);
      server_.totals_.plaintext += static_cast<std::size_t>(n);
    }
    if (nghttp2_session_mem_recv(session_, buffer.data(), static_cast<std::size_t>(n)) < 0) {
      dead_ = true;
    }
  }
}

void FaultServer::Peer::pack() {
  if (session_ == nullptr || server_.options_.mute) return;
  for (;;) {
    const std::uint8_t* data = nullptr;
    const auto n = nghttp2_session_mem_send(session_, &data);
    if (n <= 0) return;
    out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
  }
}

void FaultServer::Peer::flush() {
  pack();
  while (wants_write()) {
    ERR_clear_error();
    const int n = SSL_write(ssl_, out_.data() + out_at_, static_cast<int>(out_.size() - out_at_));
    if (n <= 0) {
      dead_ = !would_block(ssl_, n);
      return;
    }
    out_at_ += static_cast<std::size_t>(n);
  }
  out_.clear();
  out_at_ = 0;
  if (close_) dead_ = true;
}

void FaultServer::Peer::answered(std::int32_t) {
  if (server_.options_.raise_to == 0 || std::exchange(raised_, true)) return;
  allow(server_.options_.raise_to);
}

void FaultServer::Peer::play() {
  for (const Moment& m : std::exchange(moments_, {})) {
    const auto it = streams_.find(m.id);
    if (it == streams_.end()) continue;
    const Stream s = it->second;
    if (m.end)
      at_end(m.id, s);
    else
      at_headers(m.id, s);
  }
}

int FaultServer::Peer::on_header(nghttp2_session*, const nghttp2_frame* f, const std::uint8_t* n,
                                 std::size_t ns, const std::uint8_t* v, std::size_t vs,
                                 std::uint8_t, void* user) {
  const std::string name(reinterpret_cast<const char*>(n), ns);
  const std::string value(reinterpret_cast<const char*>(v), vs);
  Stream& s = of(user).streams_[f->hd.stream_id];
  if (name == ":path") s.path = value;
  if (name == "x-ticket") s.ticket = value;
  s.fields[name] = value;
  return 0;
}

int FaultServer::Peer::on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t*,
                               std::size_t n, void* user) {
  Peer& me = of(user);
  const std::lock_guard lock(me.server_.mutex_);
  me.server_.seen_[me.streams_[id].ticket].body += n;
  return 0;
}

int FaultServer::Peer::on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
  std::erase(of(user).silent_, id);
  of(user).open_.erase(id);
  return 0;
}

int FaultServer::Peer::on_frame(nghttp2_session* session, const nghttp2_frame* f, void* user) {
  Peer& me = of(user);
  const std::lock_guard lock(me.server_.mutex_);
  FaultTotals& totals = me.server_.totals_;
  switch (f->hd.type) {
    case NGHTTP2_GOAWAY:
      ++totals.goaways;
      return 0;
    case NGHTTP2_RST_STREAM:
      ++totals.resets;
      return 0;
    case NGHTTP2_PING:
      if ((f->hd.flags & NGHTTP2_FLAG_ACK) != 0) return 0;
      ++totals.pings;
      if (!me.ignore_pings_) {
        nghttp2_submit_ping(session, NGHTTP2_FLAG_ACK, f->ping.opaque_data);
      }
      return 0;
    case NGHTTP2_HEADERS: {
      const Stream& s = me.streams_[f->hd.stream_id];
      Witness& w = me.server_.seen_[s.ticket];
      w.headers = true;
      ++w.times;
      me.server_.headers_[s.ticket] = s.fields;
      me.open_[f->hd.stream_id] = true;
      totals.most_streams = std::max(totals.most_streams, me.open_.size());
      me.moments_.push_back({f->hd.stream_id, false});
      break;
    }
    case NGHTTP2_DATA:
      break;
    default:
      return 0;
  }
  if ((f->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
  me.server_.seen_[me.streams_[f->hd.stream_id].ticket].end_stream = true;
  me.moments_.push_back({f->hd.stream_id, true});
  return 0;
}

void FaultServer::Peer::at_headers(std::int32_t id, const Stream& s) {
  if (s.path == "/rst-before-end") reset(id, NGHTTP2_CANCEL);
  if (s.path == "/refuse-before-end") reset(id, NGHTTP2_REFUSED_STREAM);
  if (s.path == "/early-413" || s.path == "/early-413-no-rst") headers(id, "413", true);
  if (s.path == "/early-413") reset(id, NGHTTP2_NO_ERROR);
  if (s.path == "/early-200-rst") {
    headers(id, "200", false);
    reset(id, NGHTTP2_INTERNAL_ERROR);
  }
}

void FaultServer::Peer::at_end(std::int32_t id, const Stream& s) {
  const std::string& p = s.path;
  const bool refused = p == "/refuse" || p == "/goaway-below" || p == "/goaway-calm-0";
  if (!refused) {
    const std::lock_guard lock(server_.mutex_);
    server_.seen_[s.ticket].given_to_app = true;
  }
  if (p == "/ok") headers(id, "200", true);
  if (p.starts_with("/status/")) headers(id, p.substr(8), true);
  if (p == "/silent") silent(id);
  if (p == "/refuse") reset(id, NGHTTP2_REFUSED_STREAM);
  if (p == "/calm") reset(id, NGHTTP2_ENHANCE_YOUR_CALM);
  if (p == "/internal") reset(id, NGHTTP2_INTERNAL_ERROR);
  if (p == "/no-error") reset(id, NGHTTP2_NO_ERROR);
  if (p == "/h1-required") reset(id, NGHTTP2_HTTP_1_1_REQUIRED);
  if (p.starts_with("/100-")) interim(id, "100");
  if (p == "/100-rst") reset(id, NGHTTP2_INTERNAL_ERROR);
  if (p == "/100-200") headers(id, "200", true);
  if (p == "/103-refuse") {
    interim(id, "103");
    reset(id, NGHTTP2_REFUSED_STREAM);
  }
  if (p.starts_with("/200-")) headers(id, "200", false);
  if (p == "/200-rst") reset(id, NGHTTP2_INTERNAL_ERROR);
  if (p == "/200-close" || p == "/close") close_after_flush();
  if (p == "/die") cut_after_flush();
  if (p == "/goaway-below") goaway(std::max(0, id - 2), NGHTTP2_NO_ERROR);
  if (p == "/goaway-calm-0") goaway(0, NGHTTP2_ENHANCE_YOUR_CALM);
  if (p.starts_with("/goaway-cover-")) goaway(id, NGHTTP2_NO_ERROR);
  if (p == "/goaway-cover-ok") headers(id, "200", true);
  if (p == "/goaway-cover-close" || p == "/goaway-calm-0") close_after_flush();
  if (p == "/goaway-notice") {
    notice();
    silent(id);
  }
  if (p == "/header-cut") {
    // HEADERS without END_HEADERS: ":status: 200" (static table 8), then nothing.
    std::string frame{'\0', '\0', '\x01', '\x01', '\0', '\0', '\0', '\0', '\0', '\x88'};
    frame[8] = static_cast<char>(id & 0xff);
    frame[7] = static_cast<char>((id >> 8) & 0xff);
    raw(frame);
    close_after_flush();
  }
  if (p == "/body-cut") {
    headers(id, "200", false);
    body(id, 100, false);
    close_after_flush();
  }
  if (p == "/big") {
    headers(id, "200", false);
    body(id, 60000, true);
  }
  if (p == "/many-headers") {
    std::vector<Field> many;
    for (int i = 0; i < 300; ++i) many.push_back({"x-" + std::to_string(i), "v"});
    headers(id, "200", true, std::move(many));
  }
  if (p == "/long-header") headers(id, "200", true, {{"x-long", std::string(20000, 'y')}});
}

}  // namespace sendonce::test
