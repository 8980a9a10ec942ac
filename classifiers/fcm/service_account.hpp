// The JSON file that Google hands out for a service account.
// https://developers.google.com/identity/protocols/oauth2/service-account
#pragma once

#include <string>

#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"

namespace sendonce {

struct ServiceAccount {
  std::string project_id{};
  std::string client_email{};
  std::string private_key_id{};  // may be empty
  std::string token_uri{};
  Credential private_key{};  // PEM
};

// `json` is the contents of the file. Errors name the member that is missing or wrong and quote
// nothing of it.
[[nodiscard]] Result<ServiceAccount> parse_service_account(const Credential& json);

}  // namespace sendonce
