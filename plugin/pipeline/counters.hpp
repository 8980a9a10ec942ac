// What the engine counts. Written by the engine thread; others read a copy (Engine::report).
#pragma once

#include <array>
#include <cstdint>

#include "plugin/core/histogram.hpp"

namespace sendonce {

struct ClassCounters {
  std::uint64_t received = 0;
  std::uint64_t redelivered = 0;
  std::uint64_t undecodable = 0;
  std::uint64_t targets = 0;
  std::array<std::uint64_t, 7> claim_answers{};  // by the alternative of ClaimReply
  std::uint64_t claimed = 0;
  std::uint64_t taken_over = 0;
  std::uint64_t calls = 0;
  std::uint64_t repeats = 0;             // calls after an attempt that was counted and sent nothing
  std::uint64_t repeats_in_doubt = 0;    // calls although an earlier one may have sent
  std::array<std::uint64_t, 3> looks{};  // answers to lookups, by Look
  std::uint64_t failovers = 0;           // to the next provider of the route
  std::uint64_t accepted = 0;
  std::uint64_t failed = 0;
  std::uint64_t unknown = 0;
  std::uint64_t suppressed = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t duplicates_suppressed = 0;
  std::uint64_t found_ended = 0;  // a redelivery met its own ended row
  std::uint64_t fenced = 0;
  std::uint64_t dead_letters = 0;
  std::uint64_t acked = 0;
  std::uint64_t postponed = 0;         // handed back with a delay
  std::uint64_t forgotten = 0;         // replies of another incarnation
  DurationHistogram accepted_after{};  // from the message's arrival on its stream
};

struct ProviderCounters {
  std::array<std::uint64_t, 9> verdicts{};  // by VerdictClass
  std::uint64_t device_faults_withheld = 0;
  std::uint64_t mismatches_withheld = 0;
  std::uint64_t devices_reused = 0;  // claims for devices of another recipient
  DurationHistogram calls{};         // from the hand-over to the transport to the answer
};

}  // namespace sendonce
