// How a configured request proves whose it is.
#pragma once

#include <optional>
#include <string>

#include "classifiers/access_token.hpp"
#include "classifiers/http/aws_sigv4.hpp"
#include "classifiers/provider.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/message/http_spec.hpp"

namespace sendonce {

// RFC 4648 4, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

class HttpCredential {
 public:
  // invalid: the secret cannot stand where the type puts it.
  [[nodiscard]] static Result<HttpCredential> make(const HttpAuthSpec& spec, Credential secret,
                                                   std::string token_endpoint);

  // Adds what belongs to the credential; the rest of the request is finished, `path` is what is
  // signed as {request.path}, `authority` where it goes.
  [[nodiscard]] Result<void> apply(HttpRequest& request, std::string_view authority,
                                   std::string_view path, const Attempt& attempt,
                                   WallTime now) const;

  [[nodiscard]] bool ready(WallTime now) const;
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime now) const;  // RFC 6749 4.4
  [[nodiscard]] Verdict accept(const CallResult& result, WallTime now) {
    return token_.accept(result, now);
  }
  void refused(WallTime now);
  [[nodiscard]] std::uint64_t fetched() const { return token_.fetched(); }
  [[nodiscard]] std::optional<WallTime> ends() const { return token_.ends(); }

 private:
  HttpCredential(const HttpAuthSpec& spec, Credential secret, std::string token_endpoint);
  [[nodiscard]] Result<void> sign(HttpRequest& request, std::string_view path,
                                  const Attempt& attempt, WallTime now) const;

  HttpAuthSpec spec_;
  Credential secret_;
  std::string token_endpoint_;
  std::string authorization_{};  // bearer, basic: made once
  AccessToken token_{};          // oauth2
  AwsCredential aws_{};          // aws_sigv4
};

}  // namespace sendonce
