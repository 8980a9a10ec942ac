#include "plugin/crypto/lookup_hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

// At most eight bytes, the first the lowest; what is missing is zero.
std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof word));
  return std::endian::native == std::endian::little ? word : std::byteswap(word);
}

struct SipState {
  std::array<std::uint64_t, 4> v;

  void round() {
    v[0] += v[1];
    v[1] = std::rotl(v[1], 13) ^ v[0];
    v[0] = std::rotl(v[0], 32);
    v[2] += v[3];
    v[3] = std::rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = std::rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = std::rotl(v[1], 17) ^ v[2];
    v[2] = std::rotl(v[2], 32);
  }

  void absorb(std::uint64_t word) {
    v[3] ^= word;
    round();
    round();
    v[0] ^= word;
  }
};

}  // namespace

LookupHash lookup_hash(std::string_view secret, std::string_view text) {
  SO_ASSERT(secret.size() >= 16);
  if (text.empty()) return {};
  const std::uint64_t k0 = little_endian(secret.substr(0, 8));
  const std::uint64_t k1 = little_endian(secret.substr(8, 8));
  SipState s{{k0 ^ 0x736f6d6570736575U, k1 ^ 0x646f72616e646f6dU, k0 ^ 0x6c7967656e657261U,
              k1 ^ 0x7465646279746573U}};
  std::string_view rest = text;
  for (; rest.size() >= 8; rest.remove_prefix(8)) s.absorb(little_endian({rest.data(), 8}));
  s.absorb(little_endian(rest) | static_cast<std::uint64_t>(text.size()) << 56U);
  s.v[2] ^= 0xff;
  for (int i = 0; i < 4; ++i) s.round();
  const std::uint64_t hash = s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
  return LookupHash(hash == 0 ? 1 : hash);
}

}  // namespace sendonce
