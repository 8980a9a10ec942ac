#include "plugin/crypto/certificate.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace sendonce {
namespace {

struct Free {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
};

WallTime end_of(const X509& certificate) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &parts) != 1) return WallTime{};
  // Beyond what 64 bits of nanoseconds hold, a certificate has no end that matters.
  constexpr int kYearMax = 2200 - 1900;
  if (parts.tm_year > kYearMax) return WallTime::max();
  return WallTime(std::chrono::seconds(::timegm(&parts)));
}

}  // namespace

Result<CertificateEnds> certificate_ends(std::string_view pem) {
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  SO_ASSERT(bio != nullptr);
  CertificateEnds ends{.first = WallTime::max(), .last = WallTime::min()};
  bool any = false;
  for (;;) {
    const std::unique_ptr<X509, Free> next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    any = true;
    ends.first = std::min(ends.first, end_of(*next));
    ends.last = std::max(ends.last, end_of(*next));
  }
  ERR_clear_error();
  if (!any) return fail(Errc::invalid, "holds no PEM certificate");
  return ends;
}

}  // namespace sendonce
