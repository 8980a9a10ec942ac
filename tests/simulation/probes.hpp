// Rare paths. A simulator that never takes them proves nothing about them: the fixed set of seeds
// must take each, or the test fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sendonce::sim {

// The port calls of the engine, each with a crash before and after it.
enum class Port : std::uint8_t {
  take_messages,
  credit,
  ack,
  nak,
  progress,
  terminate,
  publish,
  take_confirmations,
  lane,
  submit,
  serve_sockets,
  pool_state,
  ledger_submit,
  ledger_take,
};
inline constexpr std::size_t kPorts = 14;
[[nodiscard]] std::string_view name(Port port);

enum class Probe : std::uint8_t {
  takeover_after_crash,
  takeover_after_stall,
  fenced_settlement,
  late_receipt_raises_row,
  late_settlement_ends_nothing,
  claim_repeated_after_lost_reply,
  settlement_repeated_after_lost_reply,
  commit_fails_before_it_writes,
  commit_fails_before_it_is_durable,
  commit_fails_after_it_is_durable,
  crash_before_commit,
  crash_inside_commit_lost,
  crash_inside_commit_kept,
  crash_after_commit,
  ledger_full_refuses_claims,
  ledger_full_refuses_settlements,
  busy_duplicate,
  waiting_duplicate,
  duplicate_of_ended,
  conflict,
  conflict_copied,
  undecodable_copied,
  refused_payload,
  dead_letter_due_after_crash,
  dead_letter_lost,
  dead_letter_copy_refused_whole,
  dead_letter_published_twice,
  event_republished_after_crash,
  event_published_twice,
  events_batched,
  outcome_stream_missing,
  ack_lost,
  ack_late,
  message_redelivered_while_held,
  message_duplicated_on_the_wire,
  handed_back_with_delay,
  blocked_at_max_ack_pending,
  consumer_recreated_while_held,
  stream_recreated_backwards,
  old_reply_dropped_by_broker,
  stream_purged_while_held,
  reconnect_with_buffered_replies,
  row_ended_by_sweep,
  claim_left_behind_ended_by_sweep,
  row_forgotten,
  duplicate_within_retention,
  expired_before_call,
  expired_at_the_transport,
  answer_longer_than_lease,
  call_processed_and_answer_lost,
  call_processed_after_timeout,
  receipt_in_partial_answer,
  success_without_receipt,
  refused_stream,
  goaway,
  reset_mid_request,
  no_connection,
  no_room_at_submit,
  throttled_with_retry_after,
  throttle_became_hold,
  credential_refused,
  credential_from_another_time,
  credential_refreshed,
  credential_exchange_failed,
  config_fault_holds,
  part_held,
  hold_probed,
  hold_closed,
  breaker_opened,
  device_invalidated,
  device_fault_not_believed,
  dead_device_suppressed,
  device_mismatch_kept,
  resend_in_doubt,
  give_up_in_doubt,
  request_changed,
  key_forgotten,
  look_found,
  look_absent,
  look_undecided,
  looked_for_after_the_deadline,
  resend_after_two_looks,
  given_up_after_two_looks,
  failed_over,
  doubt_stays_with_its_provider,
  given_up_for_nobody_knows_whom_to_ask,
  attempts_exhausted,
  wall_stepped_forward,
  wall_stepped_back,
  drained_and_restarted,
  reloaded,
  adopted_ledger_in_doubt,
  priority_last_quarter,
  mixed_targets_one_message,
};
inline constexpr std::size_t kProbes =
    static_cast<std::size_t>(Probe::mixed_targets_one_message) + 1;
[[nodiscard]] std::string_view name(Probe probe);

struct Probes {
  std::array<std::uint64_t, kProbes> hits{};
  std::array<std::uint64_t, kPorts * 2> crashes{};  // before, after

  void add(const Probes& other);
};

}  // namespace sendonce::sim
