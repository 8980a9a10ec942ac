// Secrets come from files that only we can read; the configuration holds references to them. The
// contents go from the file to a Credential and nowhere else.
#pragma once

#include <string>
#include <string_view>

#include "config/schema.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"

namespace sendonce {

inline constexpr std::size_t kCredentialBytesMax = std::size_t{64} << 10U;

// $CREDENTIALS_DIRECTORY as systemd sets it (systemd.exec(5), "Credentials"); empty outside a unit
// with LoadCredential=. Reads the environment: call it before threads start.
[[nodiscard]] std::string credentials_directory();

// Where a reference points to; `directory` is credentials_directory(). For libraries that insist on
// a path: they do not check who may read it, so check with read_credential.
[[nodiscard]] Result<std::string> credential_path(const SecretRef& ref, std::string_view directory);

// The file's bytes without line ends at its end. Refuses anything but a regular file of 1 byte to
// 64 KiB, and a file that group or others may read or write unless it stands below `directory`,
// which systemd protects. Errors: invalid (fix the reference), denied (permissions), unavailable
// (reading failed). Never echoes contents. Any thread; blocks for a small read.
[[nodiscard]] Result<Credential> read_credential(const SecretRef& ref, std::string_view directory);

}  // namespace sendonce
