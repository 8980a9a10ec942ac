#include "tests/support/connection.hpp"

#include <array>

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/clock.hpp"

namespace sendonce::test {
namespace {

bool only_waiting(SSL* ssl, int result) {
  const int error = SSL_get_error(ssl, result);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

}  // namespace

Connection::Connection(std::uint64_t id, int fd, SslPtr ssl, ServerContext& context)
    : id_(id), fd_(fd), ssl_(std::move(ssl)), context_(context) {
  ++context_.totals.connections;
  ++context_.totals.open;
}

Connection::~Connection() {
  if (wire_.aborting) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  } else if (protocol_ != nullptr) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }
  ::close(fd_);
  context_.handler.on_connection_closed(id_);
  --context_.totals.open;
}

void Connection::abort() {
  wire_.aborting = true;
}

bool Connection::step() {
  if (context_.options.silence == Silence::handshake || wire_.deaf) return true;
  if (protocol_ == nullptr) {
    const Progress progress = handshake();
    if (progress != Progress::going) return progress == Progress::waiting;
    choose_protocol();
  }
  return read() && write();
}

void Connection::release(std::int32_t stream) {
  if (!wire_.deaf && !wire_.closing) protocol_->release(stream);
}

bool Connection::flush() {
  return wire_.deaf || write();
}

Connection::Progress Connection::handshake() {
  ERR_clear_error();
  const int result = SSL_accept(ssl_.get());
  if (result == 1) {
    ++context_.totals.handshakes;
    return Progress::going;
  }
  return only_waiting(ssl_.get(), result) ? Progress::waiting : Progress::over;
}

void Connection::choose_protocol() {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  const bool h2 = std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
  protocol_ = h2 ? make_h2_protocol(id_, wire_, context_) : make_h1_protocol(id_, wire_, context_);
}

bool Connection::read() {
  std::array<char, 16384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): overwritten
  while (!wire_.closing && !wire_.deaf) {
    ERR_clear_error();
    const int n = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (n <= 0) return only_waiting(ssl_.get(), n);
    if (!protocol_->receive({buffer.data(), static_cast<std::size_t>(n)})) {
      static_cast<void>(write());  // a GOAWAY that says why
      return false;
    }
  }
  return true;
}

bool Connection::write() {
  if (context_.options.silence == Silence::settings) return true;
  for (;;) {
    if (written_ == wire_.out.size()) {
      wire_.out.clear();
      written_ = 0;
      if (wire_.deaf) return true;
      if (!wire_.closing) protocol_->produce();
      if (wire_.out.empty()) return !wire_.closing && !protocol_->finished();
    }
    ERR_clear_error();
    const int n = SSL_write(ssl_.get(), wire_.out.data() + written_,
                            static_cast<int>(wire_.out.size() - written_));
    if (n <= 0) return only_waiting(ssl_.get(), n);
    written_ += static_cast<std::size_t>(n);
  }
}

}  // namespace sendonce::test
