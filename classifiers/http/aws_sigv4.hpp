// Signature version 4 of Amazon Web Services: an HMAC over the request, under a key derived from
// the secret, the day, the region and the service.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
#pragma once

#include <string>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

struct AwsCredential {
  std::string key_id{};
  Credential secret{};
  Credential session_token{};  // of temporary credentials; else empty

  // The contents of a file: the secret of `key_id`; or without one "ID:SECRET", or
  // "ID:SECRET:TOKEN" as temporary credentials come: three that belong together and change
  // together. invalid: which part is missing or cannot stand in a header.
  [[nodiscard]] static Result<AwsCredential> read(const std::string& key_id,
                                                  const Credential& contents);
};

struct AwsScope {
  std::string_view region{};
  std::string_view service{};
};

// Adds x-amz-date, x-amz-security-token and authorization to a request that is otherwise finished.
// `authority` is what the transport will send as host, `target` path and query as they will be
// sent. Signed are the host, content-type and everything named x-amz-…; not for S3, whose paths are
// encoded differently.
void sign_aws(HttpRequest& request, std::string_view authority, std::string_view target,
              const AwsCredential& credential, const AwsScope& scope, WallTime now);

}  // namespace sendonce
