#include "plugin/transport/tls.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace sendonce {
namespace {

constexpr unsigned char kAlpnH2[] = {2, 'h', '2'};
constexpr std::size_t kReadBuffer = 64 * 1024;

// The slot of an SSL_CTX that holds its Handshake. Thread-safe, once.
int handshake_slot() {
  static const int slot = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return slot;
}

// Called at every step of a handshake. CURLINFO_TLS_SSL_PTR is NULL once a connect-only transfer is
// done, so what was negotiated is noted here.
void on_tls_step(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_DONE) == 0) return;
  auto* handshake =
      static_cast<Handshake*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), handshake_slot()));
  if (handshake == nullptr) return;
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl, &protocol, &size);
  handshake->done = true;
  handshake->h2 = size == 2 && std::memcmp(protocol, "h2", 2) == 0;
  handshake->resumed = SSL_session_reused(ssl) == 1;
}

}  // namespace

Result<TrustStore> TrustStore::load(const std::string& pem_file) {
  TrustStore trust(X509_STORE_new());
  SO_ASSERT(trust.store_ != nullptr);
  ERR_clear_error();
  if (X509_STORE_load_file(trust.store_, pem_file.c_str()) != 1) {
    ERR_clear_error();
    return fail(Errc::invalid,
                "CA file " + pem_file + " cannot be read or holds no PEM certificate");
  }
  // As libcurl does: a pinned intermediate or server certificate is enough.
  X509_STORE_set_flags(trust.store_, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
  return trust;
}

TrustStore::~TrustStore() {
  X509_STORE_free(store_);
}

TrustStore::TrustStore(const TrustStore& other) noexcept : store_(other.store_) {
  if (store_ != nullptr) X509_STORE_up_ref(store_);
}

TrustStore::TrustStore(TrustStore&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)) {}

TrustStore& TrustStore::operator=(TrustStore other) noexcept {
  std::swap(store_, other.store_);
  return *this;
}

void prepare_tls(void* ssl_ctx, const TrustStore& trust) noexcept {
  auto* ctx = static_cast<SSL_CTX*>(ssl_ctx);
  if (trust.get() != nullptr) SSL_CTX_set1_cert_store(ctx, trust.get());
}

void prepare_tls_stream(void* ssl_ctx, const TrustStore& trust) noexcept {
  prepare_tls(ssl_ctx, trust);
  SSL_CTX_set_mode(static_cast<SSL_CTX*>(ssl_ctx),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

bool prepare_tls_h2(void* ssl_ctx, const TrustStore& trust, Handshake& handshake) noexcept {
  prepare_tls_stream(ssl_ctx, trust);
  auto* ctx = static_cast<SSL_CTX*>(ssl_ctx);
  // libcurl has OpenSSL free and allocate its two 16 KiB buffers around every record; ours are few
  // connections that are never idle for long.
  SSL_CTX_clear_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
  // One read call for many records. Needs a reader who goes on until there is nothing more.
  SSL_CTX_set_read_ahead(ctx, 1);
  SSL_CTX_set_default_read_buffer_len(ctx, kReadBuffer);
  SSL_CTX_set_info_callback(ctx, on_tls_step);
  return SSL_CTX_set_ex_data(ctx, handshake_slot(), &handshake) == 1 &&
         SSL_CTX_set_alpn_protos(ctx, kAlpnH2, sizeof kAlpnH2) == 0;
}

std::string verify_error_text(long code) {
  return X509_verify_cert_error_string(code);
}

}  // namespace sendonce
