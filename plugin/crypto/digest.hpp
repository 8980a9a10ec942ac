// SHA-256 and HMAC-SHA-256. OpenSSL is seen only below plugin/crypto and by the h2 link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace sendonce {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Reusable: begin, update any number of times, finish. Allocates nothing after its construction.
// Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void begin();
  void update(std::string_view bytes);
  // The length as 4 bytes, big endian, then the bytes: no two lists of fields look alike.
  void update_field(std::string_view bytes);
  [[nodiscard]] Sha256Digest finish();
  [[nodiscard]] Sha256Digest of(std::string_view bytes);

 private:
  void flush();

  struct State;
  std::unique_ptr<State> state_;
  // Keys are made of many short fields, and each call of the library costs more than its bytes.
  std::array<char, 512> gathered_{};
  std::size_t size_ = 0;
};

[[nodiscard]] Sha256Digest hmac_sha256(std::string_view secret, std::string_view bytes);

// In a time that does not tell how much of `given` is right; of its length it does.
[[nodiscard]] bool same_secret(std::string_view secret, std::string_view given);

}  // namespace sendonce
