#include "plugin/crypto/jwt.hpp"

#include "plugin/core/text.hpp"

namespace sendonce {

Result<std::string> make_jws(const SigningKey& key, std::string_view header,
                             std::string_view claims) {
  std::string jws;
  append_base64url(jws, header);
  jws.push_back('.');
  append_base64url(jws, claims);
  SO_TRY(const std::string signature, key.sign(jws));
  jws.push_back('.');
  append_base64url(jws, signature);
  return jws;
}

}  // namespace sendonce
