// Deliveries and answers that the suite asks a module about.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "classifiers/provider.hpp"

namespace sendonce::cli {

// 2026-11-29T12:00:00Z
inline constexpr WallTime kSampleNow{std::chrono::seconds(1'795'953'600)};

struct SampleDelivery {
  std::string name{};
  Notification notification{};
  Target target{};
  Key key{};
  NidDigest nid{};
  std::string collapse{};

  [[nodiscard]] Attempt attempt() const {
    return {notification, target, key, nid, collapse, kSampleNow + std::chrono::hours(6)};
  }
};

struct SampleBody {
  std::string name{};
  std::string text{};
};

// The first is an ordinary one, which a module should be able to send.
[[nodiscard]] std::vector<SampleDelivery> sample_deliveries(Channel channel);
// Bodies that say nothing: cut, nested, huge, garbage, of a front end.
[[nodiscard]] std::vector<SampleBody> sample_bodies();
// Every cause with every effect, without and with the beginning of an answer.
[[nodiscard]] std::vector<CallFailure> sample_failures();
[[nodiscard]] Target sample_target(Channel channel);

}  // namespace sendonce::cli
