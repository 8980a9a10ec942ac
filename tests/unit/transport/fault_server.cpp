#include "tests/unit/transport/fault_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/assert.hpp"
#include "tests/unit/transport/pki.hpp"

namespace sendonce::test {
namespace {

using Field = std::pair<std::string, std::string>;
constexpr const char* kReceipt = "EC1BF194-B3B2-424A-89A9-5A918A6E6B5D";

std::vector<nghttp2_nv> to_nv(const std::vector<Field>& fields) {
  auto bytes = [](const std::string& s) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(s.data()));
  };
  std::vector<nghttp2_nv> out;
  for (const auto& [n, v] : fields) {
    out.push_back({bytes(n), bytes(v), n.size(), v.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return out;
}

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

bool would_block(SSL* ssl, int rc) {
  const int e = SSL_get_error(ssl, rc);
  return e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE;
}

}  // namespace

class FaultServer::Peer {
 public:
  Peer(FaultServer& server, int fd)
      : server_(server), fd_(fd), ssl_(SSL_new(static_cast<SSL_CTX*>(server.tls_))) {
    SSL_set_fd(ssl_, fd);
    deaf_ = server.options_.deaf;
  }
  ~Peer() {
    if (session_ != nullptr) nghttp2_session_del(session_);
    SSL_free(ssl_);
    ::close(fd_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool dead() const { return dead_; }
  [[nodiscard]] bool wants_read() const { return !server_.options_.hang && !(deaf_ && greeted_); }
  [[nodiscard]] bool wants_write() const { return out_at_ < out_.size(); }

  void step() {
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

  // ---- what a script can do: everything before it has been packed first
  void headers(std::int32_t id, const std::string& status, bool end, std::vector<Field> more = {}) {
    if (status[0] == '2') more.insert(more.begin(), {"apns-id", kReceipt});
    more.insert(more.begin(), {":status", status});
    const auto nv = to_nv(more);
    nghttp2_submit_headers(session_, end ? NGHTTP2_FLAG_END_STREAM : NGHTTP2_FLAG_NONE, id, nullptr,
                           nv.data(), nv.size(), nullptr);
    pack();
    if (end) answered(id);
  }
  void interim(std::int32_t id, const std::string& status) {
    const std::vector<Field> fields{{":status", status}, {"link", "</x>"}};
    const auto nv = to_nv(fields);
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, id, nullptr, nv.data(), nv.size(), nullptr);
    pack();
  }
  void body(std::int32_t id, std::size_t size, bool end) {
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
  void reset(std::int32_t id, std::uint32_t error) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, error);
    pack();
  }
  void goaway(std::int32_t last, std::uint32_t error) {
    static const char debug[] = R"({"reason":"Shutdown"})";
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, error,
                          reinterpret_cast<const std::uint8_t*>(debug), sizeof debug - 1);
    pack();
  }
  void notice() {
    nghttp2_submit_shutdown_notice(session_);
    pack();
  }
  void allow(std::uint32_t streams) {
    const nghttp2_settings_entry e{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &e, 1);
    pack();
  }
  void raw(std::string_view bytes) { out_.append(bytes); }
  void close_after_flush() { close_ = true; }
  void cut_after_flush() { close_ = cut_ = true; }
  void cut_now() { cut_ = dead_ = true; }
  void hear() { deaf_ = false; }
  void ignore_pings() { ignore_pings_ = true; }
  void answer_silent(const char* status) {
    for (const std::int32_t id : std::exchange(silent_, {})) headers(id, status, true);
  }
  void silent(std::int32_t id) { silent_.push_back(id); }
  void finish_if_due() {
    if (session_ != nullptr && !dead_) flush();
    if (session_ == nullptr && close_) dead_ = true;
    if (dead_ && cut_) {
      const linger l{1, 0};
      ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    }
  }

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

  bool handshake() {
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

  void begin() {
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
    const std::array e{
        nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, o.max_streams},
        nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, o.window}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, e.data(), e.size());
    if (o.connection_window != 65535) {
      nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, o.connection_window);
    }
    pack();
  }

  void read() {
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

  void pack() {
    if (session_ == nullptr || server_.options_.mute) return;
    for (;;) {
      const std::uint8_t* data = nullptr;
      const auto n = nghttp2_session_mem_send(session_, &data);
      if (n <= 0) return;
      out_.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
    }
  }

  void flush() {
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

  void answered(std::int32_t) {
    if (server_.options_.raise_to == 0 || std::exchange(raised_, true)) return;
    allow(server_.options_.raise_to);
  }

  // Scripts run after nghttp2 has returned: it may not be called from its own callbacks.
  void play() {
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
  void at_headers(std::int32_t id, const Stream& s);
  void at_end(std::int32_t id, const Stream& s);

  static Peer& of(void* user) { return *static_cast<Peer*>(user); }
  static int on_header(nghttp2_session*, const nghttp2_frame* f, const std::uint8_t* n,
                       std::size_t ns, const std::uint8_t* v, std::size_t vs, std::uint8_t,
                       void* user) {
    const std::string name(reinterpret_cast<const char*>(n), ns);
    const std::string value(reinterpret_cast<const char*>(v), vs);
    Stream& s = of(user).streams_[f->hd.stream_id];
    if (name == ":path") s.path = value;
    if (name == "x-ticket") s.ticket = value;
    s.fields[name] = value;
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t*,
                     std::size_t n, void* user) {
    Peer& me = of(user);
    const std::lock_guard lock(me.server_.mutex_);
    me.server_.seen_[me.streams_[id].ticket].body += n;
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    std::erase(of(user).silent_, id);
    of(user).open_.erase(id);
    return 0;
  }
  static int on_frame(nghttp2_session* session, const nghttp2_frame* f, void* user) {
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
  ::close(listen_);
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
    accept_all();
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
