#include "tests/support/jwt.hpp"

#include <nlohmann/json.hpp>
#include <openssl/ecdsa.h>

#include "plugin/core/text.hpp"
#include "tests/support/openssl_handles.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kP256Half = 32;

using EcdsaSigPtr = std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>>;

std::string_view name_of(JwtAlgorithm algorithm) {
  return algorithm == JwtAlgorithm::es256 ? "ES256" : "RS256";
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// JWS carries ECDSA signatures as r and s of fixed length (RFC 7518 3.4), OpenSSL as DER.
std::string der_from_raw(std::string_view raw) {
  if (raw.size() != 2 * kP256Half) return {};
  const EcdsaSigPtr signature(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(bytes_of(raw), int{kP256Half}, nullptr);
  BIGNUM* s = BN_bin2bn(bytes_of(raw) + kP256Half, int{kP256Half}, nullptr);
  ECDSA_SIG_set0(signature.get(), r, s);
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  std::string out(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

std::string raw_from_der(std::string_view der) {
  const unsigned char* at = bytes_of(der);
  const EcdsaSigPtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  SO_ASSERT(signature != nullptr);
  std::string out(2 * kP256Half, '\0');
  auto* to = reinterpret_cast<unsigned char*>(out.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), to, int{kP256Half});
  BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), to + kP256Half, int{kP256Half});
  return out;
}

std::optional<Json> decoded_object(std::string_view part) {
  const std::optional<std::string> text = unbase64url(part);
  if (!text) return std::nullopt;
  Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  return json;
}

std::string member(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

std::string Jwt::text(const std::string& claim) const {
  const auto at = texts.find(claim);
  return at == texts.end() ? std::string() : at->second;
}

std::optional<std::int64_t> Jwt::number(const std::string& claim) const {
  const auto at = numbers.find(claim);
  if (at == numbers.end()) return std::nullopt;
  return at->second;
}

std::optional<Jwt> parse_jwt(std::string_view compact) {
  const std::size_t first = compact.find('.');
  const std::size_t second = compact.find('.', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto header = decoded_object(compact.substr(0, first));
  const auto claims = decoded_object(compact.substr(first + 1, second - first - 1));
  const auto signature = unbase64url(compact.substr(second + 1));
  if (!header || !claims || !signature) return std::nullopt;
  Jwt out{.algorithm = member(*header, "alg"),
          .key_id = member(*header, "kid"),
          .signing_input = std::string(compact.substr(0, second)),
          .signature = *signature};
  for (const auto& [name, value] : claims->items()) {
    if (value.is_string()) out.texts[name] = value.get<std::string>();
    if (value.is_number_integer()) out.numbers[name] = value.get<std::int64_t>();
  }
  return out;
}

struct JwtVerifier::State {
  JwtAlgorithm algorithm = JwtAlgorithm::es256;
  PkeyPtr key{};
};

JwtVerifier::JwtVerifier(std::unique_ptr<State> state) : state_(std::move(state)) {}
JwtVerifier::~JwtVerifier() = default;

std::unique_ptr<JwtVerifier> JwtVerifier::make(JwtAlgorithm algorithm, std::string_view pem) {
  PkeyPtr key = public_key_from(pem);
  if (key == nullptr) key = private_key_from(pem);
  const char* wanted = algorithm == JwtAlgorithm::es256 ? "EC" : "RSA";
  if (key == nullptr || EVP_PKEY_is_a(key.get(), wanted) != 1) return nullptr;
  auto state = std::make_unique<State>(State{.algorithm = algorithm, .key = std::move(key)});
  return std::unique_ptr<JwtVerifier>(new JwtVerifier(std::move(state)));
}

bool JwtVerifier::verify(const Jwt& token) const {
  if (token.algorithm != name_of(state_->algorithm)) return false;
  const bool ec = state_->algorithm == JwtAlgorithm::es256;
  const std::string signature = ec ? der_from_raw(token.signature) : token.signature;
  if (signature.empty()) return false;
  const MdCtxPtr context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, state_->key.get()) ==
             1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(),
                          bytes_of(token.signing_input), token.signing_input.size()) == 1;
}

std::string sign_jwt(JwtAlgorithm algorithm, std::string_view private_pem, std::string_view header,
                     std::string_view claims) {
  const PkeyPtr key = private_key_from(private_pem);
  const std::string input = base64url(header) + "." + base64url(claims);
  const MdCtxPtr context(EVP_MD_CTX_new());
  std::size_t size = 0;
  SO_ASSERT(key != nullptr &&
            EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
            EVP_DigestSign(context.get(), nullptr, &size, bytes_of(input), input.size()) == 1);
  std::string signature(size, '\0');
  SO_ASSERT(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                           bytes_of(input), input.size()) == 1);
  signature.resize(size);
  if (algorithm == JwtAlgorithm::es256) signature = raw_from_der(signature);
  return input + "." + base64url(signature);
}

std::string apns_jwt(std::string_view private_pem, std::string_view key_id, std::string_view team,
                     std::int64_t issued_at) {
  return sign_jwt(JwtAlgorithm::es256, private_pem, Json{{"alg", "ES256"}, {"kid", key_id}}.dump(),
                  Json{{"iss", team}, {"iat", issued_at}}.dump());
}

}  // namespace sendonce::test
