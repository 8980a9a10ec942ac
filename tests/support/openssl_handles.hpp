// Owners of the OpenSSL objects that tests/support uses.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "plugin/core/assert.hpp"

namespace sendonce::test {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* handle) const noexcept {
    Free(handle);
  }
};

using PkeyPtr = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Freed<X509_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using MdCtxPtr = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using SslCtxPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Freed<SSL_free>>;

[[nodiscard]] inline BioPtr reader_of(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// What `write(BIO*)` writes. It must succeed.
template <class Write>
[[nodiscard]] std::string written_by(Write&& write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  SO_ASSERT(write(bio.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// Null when the text is no key.
[[nodiscard]] inline PkeyPtr private_key_from(std::string_view pem) {
  return PkeyPtr(PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, nullptr, nullptr));
}
[[nodiscard]] inline PkeyPtr public_key_from(std::string_view pem) {
  return PkeyPtr(PEM_read_bio_PUBKEY(reader_of(pem).get(), nullptr, nullptr, nullptr));
}

}  // namespace sendonce::test
