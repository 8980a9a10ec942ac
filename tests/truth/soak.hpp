// A daemon under load and mixed faults for minutes, and what it takes of the machine meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugin/cli/demo/traffic.hpp"
#include "plugin/cli/demo/world.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "tests/truth/trend.hpp"

namespace sendonce::truth {

struct SoakOptions {
  double minutes = 30;
  std::uint32_t rate = 200;  // messages a second
  std::uint32_t every = 2;   // seconds between samples
  std::uint64_t seed = 1;
};

class Soak {
 public:
  explicit Soak(const SoakOptions& options);

  [[nodiscard]] Result<void> run();

  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  [[nodiscard]] const std::vector<Series>& series() const { return series_; }
  // Samples until the first rows expire and the pools have their size.
  [[nodiscard]] std::size_t warm_up() const;
  [[nodiscard]] std::uint64_t published() const { return published_; }
  [[nodiscard]] std::uint64_t nats_kills() const { return nats_kills_; }
  [[nodiscard]] std::uint64_t freezes() const { return freezes_; }
  [[nodiscard]] std::string daemons_last_words() const;

 private:
  Result<void> connect();
  void publish_due(double elapsed);
  Result<void> disturb(double elapsed);
  Result<void> sample(double elapsed);

  SoakOptions options_;
  cli::Traffic traffic_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::unique_ptr<cli::World> world_{};
  std::unique_ptr<Publisher> client_{};
  std::uint64_t published_ = 0;
  std::uint64_t nats_kills_ = 0;
  std::uint64_t freezes_ = 0;
  double next_nats_kill_ = 0;
  double next_freeze_ = 0;
  double next_sample_ = 0;
  std::vector<double> times_{};
  std::vector<Series> series_;
};

}  // namespace sendonce::truth
