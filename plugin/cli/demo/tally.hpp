// What came of a demo or a truth run, seen four ways: what was published, what the ledger says,
// what the provider recorded, and what the streams tell. Pure; audit.hpp judges it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/row.hpp"

namespace sendonce::cli {

// One request as the provider recorded it.
struct Seen {
  WallTime at{};
  std::uint64_t connection = 0;
  int status = 0;
  bool accepted = false;         // it took the message, whether or not its answer arrived
  bool refused = false;          // for good
  bool answered = false;         // it sent the whole answer, at once
  bool ends_connection = false;  // with all the other requests on it
};

// What the ledger says of a delivery.
struct Ledgered {
  Key key{};
  State state = State::claimed;
  DeadLetter dead_letter = DeadLetter::none;
  std::uint32_t revision = 0;
  WallTime ended{};
  std::string reason{};
  std::vector<WallTime> doubts{};  // when attempts ended in doubt
};

// One delivery as it was published: its token and its ref are its own.
struct Published {
  std::string token{};
  std::string ref{};
  std::uint64_t copies = 1;
  WallTime at{};
  // A message that cannot be decoded has no delivery: `ref` is then its subject.
  bool undecodable = false;
};

struct Delivery {
  std::string message_class{};
  Published published{};
  std::optional<Ledgered> row{};
  std::vector<Seen> seen{};                     // in the order of arrival
  std::map<std::uint32_t, std::string> told{};  // revision -> outcome, by events
  std::uint64_t events = 0;                     // repeats included
  std::uint64_t dead_letters = 0;               // repeats included
  bool acked_early = false;
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

class Tally {
 public:
  ClassTally& of(std::string_view message_class);
  void add_published(std::string_view message_class, Published delivery);
  void add_row(const Row& row);                                // of the ledger
  void add_request(std::string_view token, const Seen& seen);  // of the provider's record
  void add_event(std::string_view ref, std::uint32_t revision, std::string_view outcome);
  // By the key of the delivery, or the subject of what could not be decoded.
  void add_dead_letter(std::string_view key_or_subject);
  void add_early_ack(std::string_view ref);

  // Counts; call once, last.
  [[nodiscard]] std::vector<ClassTally> finish();

  [[nodiscard]] const std::map<std::string, Delivery, std::less<>>& deliveries() const {
    return by_ref_;
  }
  [[nodiscard]] std::string policy_of(const Delivery& delivery) const;
  // When the provider ended connections, by their number.
  [[nodiscard]] const std::map<std::uint64_t, WallTime>& ended_connections() const {
    return ended_connections_;
  }
  // Requests, events and dead letters that belong to nothing that was published.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& strangers() const { return strangers_; }

 private:
  Delivery* find(std::string_view ref);

  std::vector<ClassTally> classes_{};
  std::map<std::string, Delivery, std::less<>> by_ref_{};
  std::map<std::string, std::string, std::less<>> ref_of_token_{};
  std::map<std::string, std::string, std::less<>> ref_of_key_{};  // in hexadecimal
  std::map<std::uint64_t, WallTime> ended_connections_{};
  std::map<std::string, std::uint64_t> strangers_{};
};

// Reads the provider's record (JSONL) into the tally. An answer that was to be later than
// `answer_within` counts as none.
void read_record(const std::string& file, Duration answer_within, Tally& tally);

[[nodiscard]] std::string tally_table(const std::vector<ClassTally>& classes);
[[nodiscard]] std::string tally_json(const std::vector<ClassTally>& classes);

}  // namespace sendonce::cli
