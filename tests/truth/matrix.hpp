// Plays the rows of the fault matrix against one daemon with a class of each policy, and judges
// what the provider saw of every message.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ledger/row.hpp"
#include "plugin/cli/demo/world.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "tests/support/staged_provider.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/truth/matrix_rows.hpp"

namespace sendonce::truth {

// Of one row and one policy.
struct Cell {
  std::uint64_t requests_least = UINT64_MAX;  // of a message
  std::uint64_t requests_most = 0;
  std::uint64_t copies_least = UINT64_MAX;
  std::uint64_t copies_most = 0;
  std::map<std::string, int> ended{};
  std::vector<std::string> broken{};

  [[nodiscard]] std::string text() const;
};

struct PlayedRow {
  Row row{};
  Cell give_up{};
  Cell resend{};
  Duration took{};
};

class Matrix {
 public:
  [[nodiscard]] Result<void> prepare();
  [[nodiscard]] Result<void> play(const Row& row);
  // Stops the daemon and reads the ledger.
  [[nodiscard]] Result<std::vector<PlayedRow>> judge();
  [[nodiscard]] std::string daemons_last_words() const;

 private:
  Result<void> publish(const Row& row);
  Result<void> restart(const std::string& config);
  Result<void> start_daemon();
  Result<void> wait_for_a_failed_connect();
  Result<void> wait_until_settled();
  [[nodiscard]] std::string state_of(const std::string& what) const;
  void add(Cell& cell, const PlayedRow& played, bool may_repeat, const std::string& token,
           const std::string& ref, const std::map<std::string, State>& states) const;

  std::unique_ptr<Clock> clock_ = make_system_clock();
  test::TempDir dir_{};
  test::StagedProvider provider_{};
  std::unique_ptr<cli::World> world_{};
  std::unique_ptr<Publisher> client_{};
  std::string good_config_{};
  std::size_t log_from_ = 0;  // of the row being played
  std::vector<PlayedRow> played_{};
};

[[nodiscard]] std::string markdown(const std::vector<PlayedRow>& rows);

}  // namespace sendonce::truth
