#include "tests/unit/transport/pki.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace sendonce::test {
namespace {

struct Identity {
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
  Identity() = default;
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;
  ~Identity() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

void extend(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX ctx;
  X509V3_set_ctx(&ctx, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &ctx, nid, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

struct Plan {
  const char* name = "";
  const char* subject_alt = nullptr;  // null: a CA
  const Identity* issuer = nullptr;   // null: itself
  long from_days = -1;
  long to_days = 30;
};

void make(Identity& id, const Plan& plan, const std::string& folder) {
  static long serial = 1;
  id.key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  id.certificate = X509_new();
  X509* c = id.certificate;
  X509_set_version(c, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(c), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(c), plan.from_days * 86400);
  X509_gmtime_adj(X509_getm_notAfter(c), plan.to_days * 86400);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(plan.name), -1, -1, 0);
  X509_set_pubkey(c, id.key);
  const Identity& issuer = plan.issuer != nullptr ? *plan.issuer : id;
  X509_set_issuer_name(c, X509_get_subject_name(issuer.certificate));
  if (plan.subject_alt != nullptr) {
    extend(c, issuer.certificate, NID_subject_alt_name, plan.subject_alt);
  } else {
    extend(c, issuer.certificate, NID_basic_constraints, "critical,CA:TRUE");
    extend(c, issuer.certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  }
  X509_sign(c, issuer.key, EVP_sha256());

  const std::string base = folder + "/" + plan.name;
  std::FILE* f = std::fopen((base + ".pem").c_str(), "w");
  PEM_write_X509(f, c);
  std::fclose(f);
  f = std::fopen((base + ".key").c_str(), "w");
  PEM_write_PrivateKey(f, id.key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(f);
}

}  // namespace

const Pki& Pki::get() {
  static const Pki pki;
  return pki;
}

Pki::Pki() {
  std::string name = (std::filesystem::temp_directory_path() / "sendonce-pki-XXXXXX").string();
  folder_ = ::mkdtemp(name.data());
  constexpr const char* kHere = "DNS:localhost,IP:127.0.0.1,IP:::1";
  Identity ca;
  Identity other;
  make(ca, {.name = "ca"}, folder_);
  make(other, {.name = "other"}, folder_);
  const Plan plans[] = {
      {.name = "server", .subject_alt = kHere, .issuer = &ca},
      {.name = "wrong", .subject_alt = "DNS:elsewhere.example", .issuer = &ca},
      {.name = "expired", .subject_alt = kHere, .issuer = &ca, .from_days = -30, .to_days = -1},
      {.name = "unknown", .subject_alt = kHere, .issuer = &other},
      {.name = "client", .subject_alt = "DNS:client.example", .issuer = &ca},
      {.name = "stranger", .subject_alt = "DNS:client.example", .issuer = &other},
  };
  for (const Plan& plan : plans) {
    Identity id;
    make(id, plan, folder_);
  }
  std::ofstream(at("empty.pem")) << "nothing here\n";
}

Pki::~Pki() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace sendonce::test
