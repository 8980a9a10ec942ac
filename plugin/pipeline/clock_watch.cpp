#include "plugin/pipeline/clock_watch.hpp"

#include <algorithm>
#include <chrono>
#include <variant>

#include "classifiers/answer.hpp"

namespace sendonce {
namespace {

constexpr Duration kEvery = std::chrono::seconds(1);
constexpr Duration kApart = std::chrono::seconds(30);
constexpr Duration kHalfOfItsUnit = std::chrono::milliseconds(500);  // a date is cut to seconds

ClockWatch::State said_by(Duration lead) {
  if (lead > kApart) return ClockWatch::State::provider_ahead;
  return lead < -kApart ? ClockWatch::State::provider_behind : ClockWatch::State::agreed;
}

}  // namespace

bool ClockWatch::observe(Duration lead) {
  leads_.at(at_) = lead;
  at_ = (at_ + 1) % kRow;
  filled_ = std::min(filled_ + 1, kRow);
  const State said = said_by(lead);
  const bool by_all = filled_ == kRow && std::ranges::all_of(leads_, [said](Duration each) {
                        return said_by(each) == said;
                      });
  if (!by_all || said == state_) return false;
  state_ = said;
  return true;
}

std::optional<Duration> ClockWatch::lead() const {
  if (filled_ == 0) return std::nullopt;
  std::array<Duration, kRow> sorted = leads_;
  auto* const middle = sorted.begin() + filled_ / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + filled_);
  return *middle;
}

void ClockWatch::look_now(const Completion& completion, std::string_view provider, WallTime wall,
                          MonoTime mono, Log& log) {
  const auto* answer = std::get_if<HttpAnswer>(&completion.result);
  if (answer == nullptr) return;
  next_ = mono + kEvery;
  // It was written at some time while we waited: half of it is taken off.
  const auto ours = clock_lead(answer->headers, wall - completion.elapsed / 2);
  if (!ours || !observe(kHalfOfItsUnit - *ours)) return;
  if (state_ == State::agreed) return log.info("provider.clock_agreed", {{"provider", provider}});
  const Duration apart = std::chrono::abs(*lead());
  log.error("provider.clock_skew",
            {{"provider", provider},
             {"seconds", std::chrono::round<std::chrono::seconds>(apart).count()},
             {"ahead", state_ == State::provider_ahead ? "provider" : "we"}});
}

}  // namespace sendonce
