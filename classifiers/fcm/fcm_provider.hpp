// Firebase Cloud Messaging, HTTP v1.
// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send
#pragma once

#include <memory>
#include <string>

#include "classifiers/provider.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/message/http_spec.hpp"

namespace sendonce {

struct FcmOptions {
  Credential service_account{};       // contents of the JSON file
  std::string project{};              // empty: the service account's
  std::string token_endpoint{};       // empty: the service account's token_uri
  std::vector<AnswerRule> answers{};  // the operator's, before our own table: answer_rules.hpp

  friend bool operator==(const FcmOptions&, const FcmOptions&) = default;
};

// invalid: which option or member of the file is wrong, and why.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_fcm_provider(const FcmOptions& options);

}  // namespace sendonce
