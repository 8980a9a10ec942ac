// JSON Web Tokens (RFC 7519, RFC 7515) as the providers check them, and as tests forge them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sendonce::test {

// The parts of a compact token. Text claims and whole-number claims only; others are left out.
struct Jwt {
  std::string algorithm{};
  std::string key_id{};
  std::map<std::string, std::string> texts{};
  std::map<std::string, std::int64_t> numbers{};
  std::string signing_input{};
  std::string signature{};  // raw bytes

  [[nodiscard]] std::string text(const std::string& claim) const;  // empty when absent
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& claim) const;
};

// Empty when the text is not a token; the signature is not checked.
[[nodiscard]] std::optional<Jwt> parse_jwt(std::string_view compact);

enum class JwtAlgorithm : std::uint8_t { es256, rs256 };

// Takes the public or the private key as PEM.
class JwtVerifier {
 public:
  // Null when `pem` is no key of that kind.
  static std::unique_ptr<JwtVerifier> make(JwtAlgorithm algorithm, std::string_view pem);
  ~JwtVerifier();
  JwtVerifier(const JwtVerifier&) = delete;
  JwtVerifier& operator=(const JwtVerifier&) = delete;
  // The header names this algorithm, and the signature fits.
  [[nodiscard]] bool verify(const Jwt& token) const;

 private:
  struct State;
  explicit JwtVerifier(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// header and claims are JSON texts, signed as they are.
[[nodiscard]] std::string sign_jwt(JwtAlgorithm algorithm, std::string_view private_pem,
                                   std::string_view header, std::string_view claims);

// The token an APNs client sends.
[[nodiscard]] std::string apns_jwt(std::string_view private_pem, std::string_view key_id,
                                   std::string_view team, std::int64_t issued_at);

}  // namespace sendonce::test
