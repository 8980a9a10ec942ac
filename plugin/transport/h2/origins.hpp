// The pools of a provider with many origins: one for each authority that requests name, made when
// it is first asked for. What they may be is the provider's business; how many there are at a time
// is bounded here, and one that nobody has asked for lately gives way.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/transport/h2/context.hpp"
#include "plugin/transport/h2/options.hpp"
#include "plugin/transport/h2/pool.hpp"

namespace sendonce {

class H2Origins {
 public:
  static constexpr std::size_t kMax = 64;

  H2Origins(H2Context& context, H2Options options, TrustStore trust);

  [[nodiscard]] const H2Options& options() const noexcept { return options_; }
  [[nodiscard]] const TrustStore& trust() const noexcept { return trust_; }

  // Null: the authority is none, or as many as there may be are in use.
  [[nodiscard]] H2Pool* wanted(std::string_view authority);
  // Null: not asked for yet.
  [[nodiscard]] const H2Pool* find(std::string_view authority) const;
  // All of them as one. It is not connected, and has a cause for it, only when none is connected.
  [[nodiscard]] PoolState state() const;
  [[nodiscard]] std::vector<std::pair<std::string, PoolState>> states() const;
  // Continues what `old` began; its pools, which only drain from now on, go to `retired`.
  void succeed(H2Origins& old, std::vector<std::unique_ptr<H2Pool>>& retired);

  template <class F>
  void each(F&& f) const {
    for (const Entry& e : entries_) f(*e.pool);
  }

 private:
  struct Entry {
    std::string authority{};
    std::unique_ptr<H2Pool> pool{};
    MonoTime wanted{};
    MonoTime made{};
  };
  [[nodiscard]] H2Pool* make(std::string_view authority);
  [[nodiscard]] bool make_place();

  H2Context& context_;
  H2Options options_;
  TrustStore trust_;
  std::vector<Entry> entries_{};
};

}  // namespace sendonce
