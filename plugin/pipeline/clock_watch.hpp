// Whether a provider's clock and ours agree, by the `date` of its answers: who signs a time is
// refused when they do not. One instance per provider.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

class ClockWatch {
 public:
  enum class State : std::uint8_t { agreed, provider_ahead, provider_behind };

  // What one answer says, by how much the provider's clock is ahead of ours. True: the state has
  // changed. Only answers in a row that all say the same change it: behind one name there may be
  // many servers, and one of them may be odd.
  bool observe(Duration lead);

  [[nodiscard]] State state() const { return state_; }
  // The median of the latest; empty: no answer has said so far.
  [[nodiscard]] std::optional<Duration> lead() const;

  // An answer has come. Looks at one a second and costs the others nothing.
  void look(const Completion& completion, std::string_view provider, WallTime wall, MonoTime mono,
            Log& log) {
    if (mono >= next_) look_now(completion, provider, wall, mono, log);
  }

 private:
  static constexpr std::size_t kRow = 10;
  void look_now(const Completion& completion, std::string_view provider, WallTime wall,
                MonoTime mono, Log& log);

  std::array<Duration, kRow> leads_{};  // the latest, in a ring
  std::size_t filled_ = 0;
  std::size_t at_ = 0;
  State state_ = State::agreed;
  MonoTime next_{};
};

}  // namespace sendonce
