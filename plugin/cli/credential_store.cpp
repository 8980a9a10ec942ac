#include "plugin/cli/credential_store.hpp"

#include <cstdlib>
#include <filesystem>

#include "config/credentials.hpp"

namespace sendonce::cli {
namespace {

constexpr const char* kCredentialStore = "/etc/credstore";

}  // namespace

void use_credential_store() {
  std::error_code ignored;
  if (credentials_directory().empty() && std::filesystem::is_directory(kCredentialStore, ignored))
    ::setenv("CREDENTIALS_DIRECTORY", kCredentialStore, 0);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace sendonce::cli
