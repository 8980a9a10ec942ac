// HKDF-SHA-256 (RFC 5869) and AES-128-GCM (NIST SP 800-38D), as the aes128gcm content coding uses
// them (RFC 8188 2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"

namespace sendonce {

inline constexpr std::size_t kAesKeyBytes = 16;
inline constexpr std::size_t kGcmNonceBytes = 12;
inline constexpr std::size_t kGcmTagBytes = 16;

// Extract and expand in one; at most 32 bytes, which is one block of the expansion.
[[nodiscard]] std::string hkdf_sha256(std::string_view salt, std::string_view secret,
                                      std::string_view info, std::size_t bytes);

// The ciphertext and then the tag. Key and nonce must never meet another plaintext.
[[nodiscard]] Result<std::string> seal_aes128gcm(std::string_view key, std::string_view nonce,
                                                 std::string_view plaintext);
// Empty when the tag does not fit.
[[nodiscard]] std::optional<std::string> open_aes128gcm(std::string_view key,
                                                        std::string_view nonce,
                                                        std::string_view sealed);

// Fit for keys and salts, from OpenSSL's source of chance.
[[nodiscard]] Result<std::string> secret_bytes(std::size_t bytes);

}  // namespace sendonce
