#include "plugin/pipeline/device_reports.hpp"

#include <algorithm>
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/core/crash_point.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/dead_letter.hpp"
#include "plugin/message/trace_context.hpp"
#include "plugin/pipeline/tickets.hpp"

namespace sendonce {
namespace {

// Requests stay open at the server, which delivers one at a time.
constexpr std::size_t kCredit = 64;
constexpr Duration kAgain = std::chrono::milliseconds(500);
constexpr Duration kRefusedAgain = std::chrono::seconds(30);
constexpr Duration kLookAfterEvery = std::chrono::seconds(1);

DeviceState state_of(ReportedState state) {
  switch (state) {
    case ReportedState::active:
      return DeviceState::active;
    case ReportedState::suspect:
      return DeviceState::suspect;
    case ReportedState::revoked:
      return DeviceState::revoked;
  }
  SO_ASSERT(false);
}

}  // namespace

DeviceReports::DeviceReports(Broker& broker, Log& log, std::optional<DeviceReportLane> lane,
                             Namer namer)
    : broker_(broker), log_(log), lane_(std::move(lane)), namer_(std::move(namer)) {}

Result<SetDevice> DeviceReports::read(const Message& message) {
  SO_TRY(const DeviceReport report, decoder_.decode(message.body));
  SO_TRY(Named named, namer_(report));
  std::string text = "reported";
  if (!report.reason.empty()) text.append(": ").append(report.reason);
  return SetDevice{.hash = named.hash,
                   .kind = std::move(named.kind),
                   .provider = std::move(named.provider),
                   .state = state_of(report.state),
                   .text = std::move(text),
                   // Nobody knows what will be: a clock that is ahead must not silence the others.
                   .reported = std::min(report.at.value_or(message.stored_at), message.stored_at),
                   .undated = !report.at,
                   .traceparent = std::string(traceparent_of(message.headers))};
}

void DeviceReports::take(Message&& message) {
  for (auto& [number, held] : held_) {
    if (held.message.seq != message.seq || held.message.incarnation != message.incarnation)
      continue;
    held.message.reply = std::move(message.reply);  // the same once more: the newer reply serves
    return;
  }
  Held& held = held_[++last_number_];
  auto request = read(message);
  if (request) {
    held.request = *std::move(request);
  } else {
    held.refused = std::move(request.error().text);
    held.stage = Stage::copy;
    log_.warn("device.report_refused", {{"sequence", message.seq.get()}, {"reason", held.refused}});
  }
  held.message = std::move(message);
}

void DeviceReports::on_recorded(std::uint64_t number, const Result<LedgerReply>& reply) {
  const auto at = held_.find(number);
  SO_ASSERT(at != held_.end() && at->second.stage == Stage::recording);
  Held& held = at->second;
  if (!reply) {  // nothing was changed: it is simply due again
    held.stage = Stage::record;
    held.due = now_ + kAgain;
    return;
  }
  const auto* found = std::get_if<FoundDevice>(&*reply);
  SO_ASSERT(found != nullptr);
  ++(found->changed ? counters_.applied : counters_.unchanged);
  log_.info("device.reported", {{"hash", hex(held.request.hash.view())},
                                {"state", name(held.request.state)},
                                {"provider", held.request.provider},
                                {"changed", found->changed}});
  held.stage = Stage::answer;
}

void DeviceReports::publish_copy(std::uint64_t number, Held& held) {
  Publication letter = undecodable_letter(held.message, lane_->name, lane_->stream, held.refused);
  if (held.without_body) {
    letter.body.clear();
    letter.headers.emplace_back("Sendonce-Body",
                                "omitted: the dead-letter stream refused the whole copy");
  }
  held.stage = Stage::copying;
  broker_.publish(ticket_of(TicketKind::report_copy, number), std::move(letter));
}

void DeviceReports::on_copied(std::uint64_t number, const Result<void>& result) {
  const auto at = held_.find(number);
  SO_ASSERT(at != held_.end() && at->second.stage == Stage::copying);
  Held& held = at->second;
  if (result) {
    ++counters_.refused;
    held.stage = Stage::answer;
    return;
  }
  log_.error("dead_letter.publish_failed",
             {{"class", lane_->name}, {"error", result.error().text}});
  const bool refused = result.error().code == Errc::invalid;
  const bool first_refusal = refused && !std::exchange(held.without_body, true);
  held.stage = Stage::copy;
  held.due = now_ + (refused && !first_refusal ? kRefusedAgain : kAgain);
}

// What was pulled in another incarnation is never answered: its reply would remove another message.
bool DeviceReports::answer(const Held& held) {
  crash_point(CrashPoint::ack_due);
  const auto told =
      held.refused.empty() ? broker_.ack(held.message) : broker_.terminate(held.message);
  return told || told.error().code == Errc::invalid;
}

void DeviceReports::step(std::uint64_t number, Held& held, bool may_record,
                         std::vector<TicketedRequest>& requests) {
  if (now_ < held.due) return;
  switch (held.stage) {
    case Stage::record: {
      if (!may_record) return;
      TicketedRequest& request = requests.emplace_back();
      request.ticket = ticket_of(TicketKind::report, number);
      request.request = held.request;
      held.stage = Stage::recording;
      return;
    }
    case Stage::copy:
      publish_copy(number, held);
      return;
    case Stage::recording:
    case Stage::copying:
    case Stage::answer:
      return;
  }
}

void DeviceReports::look_after() {
  looked_after_ = now_;
  for (auto& [number, held] : held_)
    if (now_ - held.progressed >= lane_->ack_wait / 3 && broker_.progress(held.message))
      held.progressed = now_;
}

void DeviceReports::poll(MonoTime now, bool draining, std::string no_room,
                         std::vector<TicketedRequest>& requests) {
  if (!lane_) return;
  now_ = now;
  if (no_room != no_room_)
    log_.info(no_room.empty() ? "device.reports_ready" : "device.reports_not_ready",
              {{"reason", no_room}});
  no_room_ = std::move(no_room);
  if (now - looked_after_ >= kLookAfterEvery) look_after();
  for (auto at = held_.begin(); at != held_.end();) {
    Held& held = at->second;
    step(at->first, held, draining || no_room_.empty(), requests);
    if (held.stage == Stage::answer && answer(held)) {
      at = held_.erase(at);
      credit_.reset();  // used up by what was taken: given anew
    } else {
      ++at;
    }
  }
  const std::size_t wanted = draining || !no_room_.empty() ? 0 : kCredit;
  if (credit_ != wanted) broker_.credit(lane_->index, wanted);
  credit_ = wanted;
}

}  // namespace sendonce
