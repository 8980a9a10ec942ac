// Strong ids: no two of them convert into each other.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace sendonce {

template <class Tag, class T>
class Strong {
 public:
  constexpr Strong() = default;
  constexpr explicit Strong(T value) : value_(value) {}
  [[nodiscard]] constexpr T get() const noexcept { return value_; }
  friend constexpr auto operator<=>(const Strong&, const Strong&) = default;

 private:
  T value_{};
};

// A digest or other fixed run of bytes.
template <class Tag, std::size_t N>
struct Bytes {
  std::array<std::uint8_t, N> bytes{};
  static constexpr std::size_t kSize = N;
  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
  [[nodiscard]] std::string_view view() const noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), N};
  }
};

using Fence = Strong<struct FenceTag, std::uint64_t>;    // grows with every claim in a ledger
using Ticket = Strong<struct TicketTag, std::uint64_t>;  // one request to a port, answered once
using StreamSeq = Strong<struct StreamSeqTag, std::uint64_t>;
using Incarnation = Strong<struct IncarnationTag, std::uint32_t>;  // one life of the owning process
using OutboxSeq = Strong<struct OutboxSeqTag, std::uint64_t>;

// Positions in the tables of the running configuration; never stored.
using ClassIndex = Strong<struct ClassIndexTag, std::uint16_t>;
using ProviderIndex = Strong<struct ProviderIndexTag, std::uint16_t>;
using ScopeIndex =
    Strong<struct ScopeIndexTag, std::uint16_t>;  // a key scope's table in the ledger

using Key = Bytes<struct KeyTag, 32>;              // of a delivery; SHA-256 (message/key.hpp)
using NidDigest = Bytes<struct NidDigestTag, 32>;  // of a notification, before it becomes a UUID
using Nid = Bytes<struct NidTag, 16>;              // UUID version 8 made from a NidDigest
using Fingerprint = Bytes<struct FingerprintTag, 16>;  // of the content, law 10
using DeviceHash = Bytes<struct DeviceHashTag, 16>;    // of kind + app + destination
using RequestHash = Bytes<struct RequestHashTag, 16>;  // of a request without its credentials

// Keyed 8-byte hashes by which an operator can find rows again; 0 = absent.
using LookupHash = Strong<struct LookupHashTag, std::uint64_t>;

}  // namespace sendonce

template <class Tag, class T>
struct std::hash<sendonce::Strong<Tag, T>> {
  std::size_t operator()(const sendonce::Strong<Tag, T>& v) const noexcept {
    return std::hash<T>{}(v.get());
  }
};

template <class Tag, std::size_t N>
struct std::hash<sendonce::Bytes<Tag, N>> {
  // The bytes are digests already.
  std::size_t operator()(const sendonce::Bytes<Tag, N>& v) const noexcept {
    std::size_t h = 0;
    std::memcpy(&h, v.bytes.data(), sizeof h);
    return h;
  }
};
