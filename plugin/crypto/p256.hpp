// Key agreement on P-256 (RFC 5903 9, SEC 1 3.3.1), as Web Push does it (RFC 8291 3.1).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/core/secret.hpp"

namespace sendonce {

inline constexpr std::size_t kP256ScalarBytes = 32;
inline constexpr std::size_t kP256PointBytes = 65;  // uncompressed, begins with 4

// A private key and its public point. Movable, not thread-safe.
class P256Key {
 public:
  // A fresh one, from OpenSSL's source of chance.
  [[nodiscard]] static Result<P256Key> generate();
  // From its scalar, 32 bytes in big endian.
  [[nodiscard]] static Result<P256Key> from_scalar(const Credential& scalar);

  P256Key(P256Key&&) noexcept;
  P256Key& operator=(P256Key&&) noexcept;
  ~P256Key();

  [[nodiscard]] const std::string& point() const noexcept { return point_; }
  // The x coordinate of the common point. invalid: `peer` is no point on the curve.
  [[nodiscard]] Result<Credential> agree(std::string_view peer) const;

 private:
  struct Key;
  P256Key(std::unique_ptr<Key> key, std::string point);

  std::unique_ptr<Key> key_;
  std::string point_;
};

}  // namespace sendonce
