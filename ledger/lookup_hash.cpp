#include "ledger/lookup_hash.hpp"

#include "ledger/bytes.hpp"
#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kBlockSize = 64;  // of SHA-256; RFC 2104

std::string pad(const LedgerSecret& secret, char with) {
  std::string block(secret.expose());
  SO_ASSERT(block.size() <= kBlockSize);
  block.resize(kBlockSize, '\0');
  for (char& c : block) c = static_cast<char>(c ^ with);
  return block;
}

std::string_view view(const Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

LookupHasher::LookupHasher(const LedgerSecret& secret)
    : inner_pad_(pad(secret, '\x36')), outer_pad_(pad(secret, '\x5c')) {}

LookupHash LookupHasher::of(std::string_view text) {
  if (text.empty()) return LookupHash{};
  sha_.begin();
  sha_.update(inner_pad_);
  sha_.update(text);
  const Sha256Digest inner = sha_.finish();
  sha_.begin();
  sha_.update(outer_pad_);
  sha_.update(view(inner));
  const Sha256Digest outer = sha_.finish();
  const auto hash = load<std::uint64_t>(view(outer), 0);
  return LookupHash(hash == 0 ? 1 : hash);
}

LookupHash lookup_hash(const LedgerSecret& secret, std::string_view text) {
  return LookupHasher(secret).of(text);
}

}  // namespace sendonce
