// Any HTTP endpoint, as configuration describes it (docs/providers.md).
#pragma once

#include <memory>
#include <string>

#include "classifiers/provider.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/message/http_spec.hpp"

namespace sendonce {

struct HttpOptions {
  HttpSpec spec{};  // checked by the configuration
  std::string endpoint{};
  std::string token_endpoint{};
  Credential secret{};

  friend bool operator==(const HttpOptions&, const HttpOptions&) = default;
};

[[nodiscard]] Result<std::unique_ptr<Provider>> make_http_provider(const HttpOptions& options);

}  // namespace sendonce
