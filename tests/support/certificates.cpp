#include "tests/support/certificates.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "tests/support/openssl_handles.hpp"

namespace sendonce::test {
namespace {

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  SO_ASSERT(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

X509Ptr blank(EVP_PKEY* key, const char* common_name, const LeafOptions& options) {
  X509Ptr certificate(X509_new());
  X509* c = certificate.get();
  X509_set_version(c, X509_VERSION_3);
  std::uint64_t serial = 0;
  SO_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(c), serial >> 1U);
  X509_gmtime_adj(X509_getm_notBefore(c), options.not_before.count());
  X509_gmtime_adj(X509_getm_notAfter(c), options.not_after.count());
  X509_set_pubkey(c, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
  return certificate;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ",") + name;
  return out;
}

std::string private_pem(EVP_PKEY* key) {
  return written_by([key](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string certificate_pem(X509* certificate) {
  return written_by([certificate](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

KeyPair pair_of(EVP_PKEY* key) {
  return {.private_pem = private_pem(key),
          .public_pem = written_by([key](BIO* bio) { return PEM_write_bio_PUBKEY(bio, key); })};
}

// Not by the macros EVP_EC_gen and EVP_RSA_gen, which cast as C does.
PkeyPtr new_p256() {
  return PkeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
}
PkeyPtr new_rsa() {
  constexpr std::size_t kBits = 2048;
  return PkeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", kBits));
}

}  // namespace

struct Authority::State {
  PkeyPtr key = new_p256();
  X509Ptr certificate{};
};

Authority::Authority() : state_(std::make_unique<State>()) {
  state_->certificate = blank(state_->key.get(), "sendonce test authority", {});
  X509* c = state_->certificate.get();
  X509_set_issuer_name(c, X509_get_subject_name(c));
  add_extension(c, c, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(c, c, NID_subject_key_identifier, "hash");
  SO_ASSERT(X509_sign(c, state_->key.get(), EVP_sha256()) > 0);
  pem_ = certificate_pem(c);
}

Authority::~Authority() = default;

Identity Authority::issue(const LeafOptions& options) const {
  const PkeyPtr key = new_p256();
  const X509Ptr certificate = blank(key.get(), "sendonce test", options);
  X509* c = certificate.get();
  X509* issuer = state_->certificate.get();
  X509_set_issuer_name(c, X509_get_subject_name(issuer));
  add_extension(c, issuer, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(c, issuer, NID_key_usage, "critical,digitalSignature");
  add_extension(c, issuer, NID_ext_key_usage, options.client ? "clientAuth" : "serverAuth");
  add_extension(c, issuer, NID_subject_alt_name, joined(options.names));
  add_extension(c, issuer, NID_authority_key_identifier, "keyid");
  SO_ASSERT(X509_sign(c, state_->key.get(), EVP_sha256()) > 0);
  return {.certificate = certificate_pem(c), .key = private_pem(key.get())};
}

Identity Authority::wrong_name() const {
  return issue({.names = {"DNS:wrong.example"}});
}

Identity Authority::expired() const {
  return issue({.not_before = -std::chrono::hours(2), .not_after = -std::chrono::hours(1)});
}

KeyPair make_p256_key() {
  return pair_of(new_p256().get());
}
KeyPair make_rsa_key() {
  return pair_of(new_rsa().get());
}

std::string service_account_json(std::string_view project, std::string_view email,
                                 std::string_view token_uri, std::string_view private_pem) {
  return nlohmann::json{{"type", "service_account"},
                        {"project_id", project},
                        {"private_key_id", "0123456789abcdef0123456789abcdef01234567"},
                        {"private_key", private_pem},
                        {"client_email", email},
                        {"client_id", "100000000000000000001"},
                        {"token_uri", token_uri}}
      .dump(2);
}

}  // namespace sendonce::test
