// What came of a demo, counted three ways: what was published, what the ledger says, and what the
// provider saw. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/row.hpp"

namespace sendonce::cli {

// What the provider saw of one destination.
struct Seen {
  std::uint64_t received = 0;
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;  // for good: 4xx
};

struct ClassTally {
  std::string name{};
  std::string policy{};
  std::uint64_t published = 0;                    // messages, repeats included
  std::uint64_t deliveries = 0;                   // different ones
  std::map<std::string, std::uint64_t> states{};  // of the ledger's rows
  std::uint64_t received = 0;                     // requests at the provider
  std::uint64_t delivered = 0;                    // deliveries that the provider took at least once
  std::uint64_t extra_copies = 0;                 // taken more often than once
  // The provider never took it, and the ledger says accepted; or, under resend, says unknown and
  // the provider did not refuse it either: a refusal after a doubt ends a delivery as unknown.
  std::uint64_t missing = 0;
  std::uint64_t unaccounted = 0;        // deliveries without a row that has ended
  std::uint64_t unknown_delivered = 0;  // of the unknown ones: the provider had taken it

  [[nodiscard]] std::uint64_t count(State state) const;
  [[nodiscard]] std::uint64_t suppressed_duplicates() const { return published - deliveries; }
};

// One delivery as the demo published it: its token is its own.
struct Published {
  std::string token{};
  std::string ref{};
  std::uint64_t copies = 1;
};

class Tally {
 public:
  ClassTally& of(std::string_view message_class);
  void add_published(std::string_view message_class, Published delivery);
  void add_row(const Row& row);                                          // of the ledger
  void add_record(std::string_view token, bool accepted, bool refused);  // of the provider
  // Compares; call once, last.
  [[nodiscard]] std::vector<ClassTally> finish();

 private:
  struct Delivery {
    std::string message_class{};
    std::string token{};
    std::optional<State> state{};
  };
  std::vector<ClassTally> classes_{};
  std::map<std::string, Delivery, std::less<>> by_ref_{};
  std::map<std::string, Seen, std::less<>> by_token_{};
};

// Reads the provider's record (JSONL) into the tally.
void read_record(const std::string& file, Tally& tally);

[[nodiscard]] std::string tally_table(const std::vector<ClassTally>& classes);
[[nodiscard]] std::string tally_json(const std::vector<ClassTally>& classes);
// The promises, checked: empty when they hold, else a sentence for each that does not.
[[nodiscard]] std::vector<std::string> broken_promises(const std::vector<ClassTally>& classes);

}  // namespace sendonce::cli
