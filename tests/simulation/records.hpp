// What the law book writes down: attempts, questions, deliveries and messages.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ledger/row.hpp"
#include "plugin/core/look.hpp"
#include "tests/simulation/service.hpp"

namespace sendonce::sim {

struct Known;

struct Attempt {
  Known* of = nullptr;
  std::size_t provider = 0;
  std::uint32_t life = 0;
  Fence fence{};
  MonoTime submitted{};
  MonoTime claim_asked{};
  std::uint64_t order = 0;  // of that, among renewals and refusals
  std::string authorization{};
  std::string path{};
  std::string body{};
  bool needs_key = false;  // repeats what may have been sent: its provider must know the key
  bool left = false;
  std::uint32_t processed = 0;
  bool forgotten = false;  // with its row, or with its ledger: it counts for nobody any more
  Told told = Told::nothing;
  Blame blame = Blame::nobody;
  std::optional<WallTime> dead_since{};  // as the provider said
  bool delivered = false;                // the process has read what it was told
  std::optional<MonoTime> doubted{};     // since then a look may be expected to find it
  std::optional<Effect> settled{};       // as became durable
  std::uint64_t receipt = 0;             // when it became durable that it was sent, by `order`
  bool open() const { return !delivered; }
};

// What the provider was asked about a delivery in doubt.
struct Question {
  Known* of = nullptr;
  std::uint32_t life = 0;
  Fence fence{};
  bool delivered = false;  // the process has read the answer
  Look told = Look::undecided;
};

// One delivery, as the checkers know it.
struct Known {
  Key key{};
  std::size_t message_class = 0;
  std::size_t provider = 0;           // the first that may send it; all of them agree on the token
  std::set<std::size_t> may_go_to{};  // those that a message has named, or its route
  std::string token{};
  DeviceHash device{};
  std::optional<WallTime> registered_at{};
  std::string marker{};  // of the content that came first to the ledger; empty: none yet
  std::map<Fingerprint, std::string> contents{};
  bool well_formed = true;  // the provider can take the token
  std::list<Attempt> attempts{};
  std::list<Attempt> forgotten_attempts{};
  std::uint32_t processed = 0;
  std::list<Question> questions{};
  MonoTime doubted{};              // when the process that lives learned last that it is in doubt
  std::vector<MonoTime> absent{};  // when it was told so since then
  bool found = false;              // by a question, once
  bool late_copy = false;          // one was processed when nobody waited for it any more
  std::optional<Row> row{};        // as is durable
  WallTime ended{};                // by a clock that is right
  WallTime latest{};               // that its process may have seen since its claim
  bool taken_over = false;         // a claim of it was left behind
  bool nameless_claim = false;     // one without a call, as after a step of the clock
  bool adopted = false;            // its row went with a ledger that was lost
  bool forgotten = false;          // the row was, after its retention
  std::map<std::uint32_t, State> revisions{};  // an event is owed for each
  std::set<std::uint32_t> events{};            // stored by the outcome stream
};

struct Published {  // one message as its stream has it
  std::size_t message_class = 0;
  std::uint64_t seq = 0;
  std::string body{};
  WallTime stored_at{};
  bool poison = false;
  std::string copy_id{};  // of the dead letter when it is poison
  struct Wanted {
    Known* known = nullptr;
    Fingerprint fingerprint{};
  };
  std::vector<Wanted> wanted{};
  bool acked = false;
  bool acked_before = false;  // under a ledger that is lost: its successor has no row of it
  bool lost = false;          // by a purge or with its stream: nobody can be asked to deliver it
};

}  // namespace sendonce::sim
