// One store under the ledger's work: durable claims of new keys and outcomes of earlier ones. Ours
// is in ledger_own.hpp, those it is compared with are in tests/bench/ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/core/error.hpp"

namespace sendonce::cli {

class BenchStore {
 public:
  virtual ~BenchStore() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  // One durable transaction: claims `count` new keys from `first` on and, unless `settle_from` is
  // negative, records the outcome of as many earlier ones.
  [[nodiscard]] virtual Result<void> batch(std::uint64_t first, std::uint64_t count,
                                           std::int64_t settle_from) = 0;
  // The same without syncing each transaction, until the store holds `rows`; durable on return.
  [[nodiscard]] virtual Result<void> preload(std::uint64_t rows) = 0;

  // CPU seconds used by other processes on the store's behalf.
  [[nodiscard]] virtual double server_cpu_seconds() const { return 0; }
};

// 32 bytes that look like a digest.
void fill_key(std::uint64_t number, char* to);
// What the other stores keep beside the key: as much as an ordinary row of ours.
inline constexpr std::size_t kValueBytes = 160;

}  // namespace sendonce::cli
