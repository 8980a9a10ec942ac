#include "tests/support/raw_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/clock.hpp"
#include "tests/support/openssl_handles.hpp"

namespace sendonce::test {
namespace {

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {.name = bytes(name),
          .value = bytes(value),
          .namelen = name.size(),
          .valuelen = value.size(),
          .flags = NGHTTP2_NV_FLAG_NONE};
}

std::string openssl_error() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_peek_last_error(), text.data(), text.size());
  return text.data();
}

struct Body {
  std::string bytes{};
  std::size_t sent = 0;
  bool whole = true;
};

// NOLINTNEXTLINE(readability-function-size): nghttp2's signature
ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t room,
                  std::uint32_t* flags, nghttp2_data_source* source, void*) {
  auto& body = *static_cast<Body*>(source->ptr);
  const std::size_t n = std::min(room, body.bytes.size() - body.sent);
  if (n == 0 && !body.whole) return NGHTTP2_ERR_DEFERRED;
  // NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, no text
  std::memcpy(to, body.bytes.data() + body.sent, n);
  body.sent += n;
  if (body.sent == body.bytes.size() && body.whole) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(n);
}

SslCtxPtr client_context(const RawClientOptions& options) {
  SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  const X509Ptr ca(PEM_read_bio_X509(reader_of(options.ca_pem).get(), nullptr, nullptr, nullptr));
  if (ca != nullptr) X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (!options.identity.key.empty()) {
    const X509Ptr own(PEM_read_bio_X509(reader_of(options.identity.certificate).get(), nullptr,
                                        nullptr, nullptr));
    const PkeyPtr key = private_key_from(options.identity.key);
    SSL_CTX_use_certificate(context.get(), own.get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
  }
  static constexpr unsigned char kH2[] = "\x02h2";
  static constexpr unsigned char kH1[] = "\x08http/1.1";
  if (options.h2) {
    SSL_CTX_set_alpn_protos(context.get(), kH2, sizeof kH2 - 1);
  } else {
    SSL_CTX_set_alpn_protos(context.get(), kH1, sizeof kH1 - 1);
  }
  return context;
}

}  // namespace

struct RawClient::State {
  ~State() {
    if (session != nullptr) nghttp2_session_del(session);
    ssl.reset();
    if (fd >= 0) ::close(fd);
  }
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // NOLINTNEXTLINE(readability-function-size): nghttp2's signature
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user);
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* data,
                     std::size_t size, void* user);
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user);
  static int on_close(nghttp2_session*, std::int32_t stream, std::uint32_t code, void* user);
  void begin_h2();
  Result<void> handshake();
  void wait(short events, int milliseconds) const;
  void write();
  void read();
  void judge_end(int result);

  int fd = -1;
  SslCtxPtr context{};
  SslPtr ssl{};
  nghttp2_session* session = nullptr;
  std::string out{};
  std::string in_h1{};
  Closure closure = Closure::open;
  std::map<std::int32_t, RawAnswer> answers{};
  std::map<std::int32_t, std::unique_ptr<Body>> bodies{};
  std::vector<RawGoAway> goaways{};
  std::size_t settings = 0;
  std::unique_ptr<Clock> clock = make_system_clock();
};

// NOLINTNEXTLINE(readability-function-size)
int RawClient::State::on_header(nghttp2_session*, const nghttp2_frame* frame,
                                const std::uint8_t* name, std::size_t name_size,
                                const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                                void* user) {
  RawAnswer& answer = static_cast<State*>(user)->answers[frame->hd.stream_id];
  const std::string n(reinterpret_cast<const char*>(name), name_size);
  const std::string v(reinterpret_cast<const char*>(value), value_size);
  if (n != ":status") {
    answer.headers[n] = v;
  } else if (v.starts_with('1')) {
    answer.interim.push_back(std::stoi(v));
  } else {
    answer.status = std::stoi(v);
  }
  return 0;
}

int RawClient::State::on_data(nghttp2_session*, std::uint8_t, std::int32_t stream,
                              const std::uint8_t* data, std::size_t size, void* user) {
  static_cast<State*>(user)->answers[stream].body.append(reinterpret_cast<const char*>(data), size);
  return 0;
}

int RawClient::State::on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  auto& self = *static_cast<State*>(user);
  if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) {
    ++self.settings;
  }
  if (frame->hd.type == NGHTTP2_GOAWAY) {
    self.goaways.push_back(
        {.last = frame->goaway.last_stream_id,
         .code = frame->goaway.error_code,
         .debug = std::string(reinterpret_cast<const char*>(frame->goaway.opaque_data),
                              frame->goaway.opaque_data_len)});
  }
  const bool carries = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
  if (carries && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
    self.answers[frame->hd.stream_id].whole = true;
  }
  return 0;
}

int RawClient::State::on_close(nghttp2_session*, std::int32_t stream, std::uint32_t code,
                               void* user) {
  static_cast<State*>(user)->answers[stream].closed_with = code;
  return 0;
}

void RawClient::State::begin_h2() {
  nghttp2_session_callbacks* callbacks = nullptr;
  SO_ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  SO_ASSERT(nghttp2_session_client_new(&session, callbacks, this) == 0);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
}

Result<void> RawClient::State::handshake() {
  const MonoTime deadline = clock->mono() + std::chrono::seconds(10);
  while (clock->mono() < deadline) {
    ERR_clear_error();
    const int result = SSL_connect(ssl.get());
    if (result == 1) return {};
    const int error = SSL_get_error(ssl.get(), result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      return fail(Errc::unavailable, "handshake: " + openssl_error());
    }
    wait(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, 100);
  }
  return fail(Errc::unavailable, "handshake: no answer");
}

void RawClient::State::wait(short events, int milliseconds) const {
  pollfd one{.fd = fd, .events = events, .revents = 0};
  ::poll(&one, 1, milliseconds);
}

void RawClient::State::judge_end(int result) {
  const int system_error = errno;
  const int error = SSL_get_error(ssl.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return;
  if (error == SSL_ERROR_ZERO_RETURN) {
    closure = Closure::notified;
  } else {
    closure = system_error == ECONNRESET || system_error == EPIPE ? Closure::reset : Closure::eof;
  }
}

void RawClient::State::write() {
  while (session != nullptr) {
    const std::uint8_t* data = nullptr;
    const auto n = nghttp2_session_mem_send(session, &data);
    if (n <= 0) break;
    out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(n));
  }
  while (!out.empty() && closure == Closure::open) {
    ERR_clear_error();
    errno = 0;
    const int n = SSL_write(ssl.get(), out.data(), static_cast<int>(out.size()));
    if (n <= 0) return;  // an end shows when reading
    out.erase(0, static_cast<std::size_t>(n));
  }
}

void RawClient::State::read() {
  std::array<char, 16384> buffer{};
  while (closure == Closure::open) {
    ERR_clear_error();
    errno = 0;
    const int n = SSL_read(ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (n <= 0) {
      judge_end(n);
      return;
    }
    if (session == nullptr) {
      in_h1.append(buffer.data(), static_cast<std::size_t>(n));
    } else {
      nghttp2_session_mem_recv(session, reinterpret_cast<const std::uint8_t*>(buffer.data()),
                               static_cast<std::size_t>(n));
    }
  }
}

Result<std::unique_ptr<RawClient>> RawClient::connect(std::uint16_t port,
                                                      const RawClientOptions& options) {
  sigset_t broken_pipe;  // OpenSSL writes with write(2)
  ::sigemptyset(&broken_pipe);
  ::sigaddset(&broken_pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  auto state = std::make_unique<State>();
  state->fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SO_ASSERT(state->fd >= 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(state->fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    return fail(Errc::unavailable, std::string("connect: ") + ::strerrordesc_np(errno));
  }
  ::fcntl(state->fd, F_SETFL, O_NONBLOCK);
  state->context = client_context(options);
  state->ssl.reset(SSL_new(state->context.get()));
  SSL_set_fd(state->ssl.get(), state->fd);
  std::string host = options.host;  // the macro SSL_set_tlsext_host_name casts as C does
  SSL_ctrl(state->ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data());
  SSL_set1_host(state->ssl.get(), options.host.c_str());
  SO_CHECK(state->handshake());
  if (options.h2) state->begin_h2();
  return std::unique_ptr<RawClient>(new RawClient(std::move(state)));
}

RawClient::RawClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
RawClient::~RawClient() = default;

std::int32_t RawClient::submit(std::string_view method, std::string_view path,
                               const RawHeaders& headers, std::string_view body, bool whole) {
  std::vector<nghttp2_nv> fields{field(":method", method), field(":scheme", "https"),
                                 field(":authority", "localhost"), field(":path", path)};
  for (const auto& [name, value] : headers) fields.push_back(field(name, value));
  auto owned = std::make_unique<Body>(Body{.bytes = std::string(body), .whole = whole});
  nghttp2_data_provider provider{};
  provider.source.ptr = owned.get();
  provider.read_callback = read_body;
  const bool has_body = !body.empty() || !whole;
  const std::int32_t stream =
      nghttp2_submit_request(state_->session, nullptr, fields.data(), fields.size(),
                             has_body ? &provider : nullptr, nullptr);
  SO_ASSERT(stream > 0);
  state_->bodies[stream] = std::move(owned);
  state_->answers[stream];
  return stream;
}

bool RawClient::run(const std::function<bool()>& until, std::chrono::milliseconds within) {
  const MonoTime deadline = state_->clock->mono() + within;
  for (;;) {
    state_->write();
    state_->read();
    state_->write();
    if (until()) return true;
    if (state_->closure != Closure::open || state_->clock->mono() >= deadline) return false;
    state_->wait(static_cast<short>(POLLIN | (state_->out.empty() ? 0 : POLLOUT)), 5);
  }
}

const RawAnswer& RawClient::request(std::string_view method, std::string_view path,
                                    const RawHeaders& headers, std::string_view body) {
  const std::int32_t stream = submit(method, path, headers, body);
  run([&] { return state_->answers[stream].closed_with.has_value(); });
  return state_->answers[stream];
}

std::string RawClient::exchange_h1(std::string_view bytes, std::string_view enough) {
  state_->in_h1.clear();
  state_->out.append(bytes);
  run([&] { return !enough.empty() && state_->in_h1.find(enough) != std::string::npos; });
  return state_->in_h1;
}

const RawAnswer& RawClient::answer(std::int32_t stream) const {
  return state_->answers.at(stream);
}
const std::vector<RawGoAway>& RawClient::goaways() const {
  return state_->goaways;
}
std::uint32_t RawClient::max_concurrent_streams() const {
  return nghttp2_session_get_remote_settings(state_->session,
                                             NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}
std::size_t RawClient::settings_received() const {
  return state_->settings;
}
Closure RawClient::closure() const {
  return state_->closure;
}

}  // namespace sendonce::test
