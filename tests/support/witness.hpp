// What the providers saw: how often each destination and each notification came, and how often it
// was taken. The truth that a sender's ledger is compared with.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugin/crypto/digest.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {

// `received`: whole requests. `accepted`: those the provider took, whether or not its answer
// arrived.
struct Copies {
  std::uint64_t received = 0;
  std::uint64_t accepted = 0;
};

struct WitnessTotals {
  Copies copies{};
  std::uint64_t keys = 0;           // different (destination, id)
  std::uint64_t keys_accepted = 0;  // accepted at least once
  std::uint64_t duplicates = 0;     // accepted more than once
  bool complete = true;             // false: more keys came than are remembered
};

struct Duplicate {
  ProviderKind provider = ProviderKind::other;
  std::string destination{};
  std::string id{};
  Copies copies{};
};

// How a message counts that has no id of its own.
[[nodiscard]] std::string id_of_content(Sha256& sha, std::string_view content);

// Any thread.
class Witness {
 public:
  explicit Witness(std::size_t max_keys = 4'000'000) : max_keys_(max_keys) {}

  // `id` names the notification: the apns-id, the nid in FCM's data, else the body's hash.
  void count(ProviderKind provider, std::string_view destination, std::string_view id,
             bool accepted);

  [[nodiscard]] WitnessTotals totals() const;
  [[nodiscard]] Copies destination(ProviderKind provider, std::string_view destination) const;
  [[nodiscard]] Copies copies(ProviderKind provider, std::string_view destination,
                              std::string_view id) const;
  [[nodiscard]] std::vector<Duplicate> duplicates() const;

  // {"received":N,"accepted":N,"keys":N,"keys_accepted":N,"duplicates":N,"complete":true} and, with
  // detail, "destinations":{"apns:TOKEN":{"received":N,"accepted":N},...}
  [[nodiscard]] std::string stats_json(bool detail) const;
  // {"duplicates":[{"provider":"apns","destination":"..","id":"..","received":2,"accepted":2}]}
  [[nodiscard]] std::string duplicates_json() const;

 private:
  mutable std::mutex mutex_;
  std::size_t max_keys_;
  WitnessTotals totals_{};
  std::string scratch_{};
  std::unordered_map<std::string, Copies> destinations_{};
  // By a 64-bit hash of destination and id: a collision among a million keys has a chance of 1 in
  // 30 million, and each key costs a tenth of what its text would.
  std::unordered_map<std::uint64_t, Copies> keys_{};
  std::unordered_map<std::uint64_t, Duplicate> duplicates_{};
};

}  // namespace sendonce::test
