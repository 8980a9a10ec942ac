// What libcurl's TLS lacks for us: one parsed set of trusted CAs for all connections, ALPN that
// offers h2 alone, write modes that never make a retry wait for the same buffer. The only file of
// the transport that sees OpenSSL.
#pragma once

#include <string>

#include "plugin/core/error.hpp"

struct x509_store_st;

namespace sendonce {

// A counted handle to parsed CA certificates; copies share them.
class TrustStore {
 public:
  TrustStore() = default;  // trusts nobody
  // Reads and parses a PEM bundle: tens of milliseconds, so once, before traffic.
  [[nodiscard]] static Result<TrustStore> load(const std::string& pem_file);
  ~TrustStore();
  TrustStore(const TrustStore& other) noexcept;
  TrustStore(TrustStore&& other) noexcept;
  TrustStore& operator=(TrustStore other) noexcept;

  [[nodiscard]] x509_store_st* get() const noexcept { return store_; }

 private:
  explicit TrustStore(x509_store_st* store) noexcept : store_(store) {}
  x509_store_st* store_ = nullptr;
};

// What the handshake came to; written while it runs. Must outlive the connection.
struct Handshake {
  bool done = false;
  bool h2 = false;
  bool resumed = false;
};

// For CURLOPT_SSL_CTX_FUNCTION: `ssl_ctx` is the SSL_CTX of one connection to be.
void prepare_tls(void* ssl_ctx, const TrustStore& trust) noexcept;
// The same for a connection that is spoken on by curl_easy_send.
void prepare_tls_stream(void* ssl_ctx, const TrustStore& trust) noexcept;
// False: out of memory.
[[nodiscard]] bool prepare_tls_h2(void* ssl_ctx, const TrustStore& trust,
                                  Handshake& handshake) noexcept;

// OpenSSL's words for an X509_V_ERR_... code.
[[nodiscard]] std::string verify_error_text(long code);

}  // namespace sendonce
