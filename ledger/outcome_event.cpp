#include "ledger/outcome_event.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

void member(std::string& out, std::string_view quoted_name, std::string_view text) {
  out += quoted_name;
  append_json_string(out, text);
}

void number_member(std::string& out, std::string_view quoted_name, std::uint64_t value) {
  out += quoted_name;
  append_number(out, static_cast<std::int64_t>(value));
}

// The provider's latest receipt is the one that proves the most, the newest of equals.
const Receipt* telling_receipt(const Row& row) {
  const Receipt* best = nullptr;
  for (const Receipt& receipt : row.receipts) {
    if (receipt.message_id.empty()) continue;
    if (best == nullptr || receipt.effect >= best->effect) best = &receipt;
  }
  return best;
}

void append_outcome_data(std::string& out, const Row& row, std::string_view event_id) {
  out += R"("data":{"key":")";
  append_hex(out, row.key.view());
  out += R"(","nid":")";
  std::array<char, kUuidSize> nid{};
  out += write_uuid(nid, row.nid.bytes);
  out += '"';
  member(out, R"(,"class":)", row.message_class);
  member(out, R"(,"provider":)", row.provider);
  member(out, R"(,"outcome":)", name(row.state));
  member(out, R"(,"effect":)", name(row.effect));
  member(out, R"(,"fault":)", name(row.fault));
  if (!row.reason.empty()) member(out, R"(,"reason":)", row.reason);
  if (const Receipt* receipt = telling_receipt(row); receipt != nullptr)
    member(out, R"(,"message_id":)", receipt->message_id);
  number_member(out, R"(,"attempts":)", row.attempts);
  if (!row.ref.empty()) member(out, R"(,"ref":)", row.ref);
  number_member(out, R"(,"revision":)", row.revision);
  if (!event_id.empty()) member(out, R"(,"event_id":)", event_id);
  if (row.dead_letter != DeadLetter::none) member(out, R"(,"dead_letter":)", name(row.dead_letter));
  out += "}}";
}

void append_device_data(std::string& out, const DeviceEvent& event) {
  out += R"("data":{"hash":")";
  append_hex(out, event.hash.view());
  out += '"';
  member(out, R"(,"change":)", name(event.device.state));
  member(out, R"(,"kind":)", event.kind);
  member(out, R"(,"provider":)", event.provider);
  if (!event.ref.empty()) member(out, R"(,"ref":)", event.ref);
  if (!event.reason.empty()) member(out, R"(,"reason":)", event.reason);
  if (event.provider_time) member(out, R"(,"provider_time":)", rfc3339(event.device.since));
  if (event.reported) member(out, R"(,"reported_at":)", rfc3339(event.device.since));
  if (event.device.registered_at)
    member(out, R"(,"registered_at":)", rfc3339(*event.device.registered_at));
  out += "}}";
}

constexpr std::string_view kReused = "reused";

// Keyed with the ledger's secret: two of them can be compared, and `sendonce inspect` finds rows by
// the recipient that one stands for.
void hash_member(std::string& out, std::string_view quoted_name, LookupHash hash) {
  std::array<char, sizeof(std::uint64_t)> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(hash.get() >> (8 * (bytes.size() - 1 - i)));
  out += quoted_name;
  out += '"';
  append_hex(out, {bytes.data(), bytes.size()});
  out += '"';
}

void append_reuse_data(std::string& out, const ReuseEvent& event) {
  out += R"("data":{"hash":")";
  append_hex(out, event.hash.view());
  out += '"';
  member(out, R"(,"change":)", kReused);
  member(out, R"(,"kind":)", event.kind);
  member(out, R"(,"provider":)", event.provider);
  if (!event.ref.empty()) member(out, R"(,"ref":)", event.ref);
  hash_member(out, R"(,"recipient":)", event.binding.told);
  hash_member(out, R"(,"bound_to":)", event.binding.recipient);
  member(out, R"(,"bound_since":)", rfc3339(event.binding.since));
  if (event.registered_at) member(out, R"(,"registered_at":)", rfc3339(*event.registered_at));
  if (!event.event_id.empty()) member(out, R"(,"event_id":)", event.event_id);
  out += event.refused ? R"(,"refused":true}})" : R"(,"refused":false}})";
}

}  // namespace

std::string outcome_subject(const Row& row) {
  std::string subject = "sendonce.outcome.";
  subject += row.message_class;
  subject += '.';
  subject += name(row.state);
  return subject;
}

std::string device_subject(std::string_view kind, std::string_view change) {
  std::string subject = "sendonce.device.";
  subject += kind;
  subject += '.';
  subject += change;
  return subject;
}

void EventBatch::begin(WallTime now) {
  entries_.clear();
  time_ = rfc3339(now);
}

std::string& EventBatch::body_for(std::string subject) {
  // From the back: the entry still open for a subject is its last one.
  const auto found =
      std::ranges::find(entries_.rbegin(), entries_.rend(), subject, &Entry::subject);
  if (found != entries_.rend() && found->events < kEventsPerEntry) {
    ++found->events;
    found->body += ',';
    return found->body;
  }
  Entry& entry = entries_.emplace_back();
  entry.subject = std::move(subject);
  entry.events = 1;
  entry.body.push_back('[');
  return entry.body;
}

void EventBatch::open_event(std::string& body, std::string_view type,
                            std::string_view traceparent) {
  body += R"({"specversion":"1.0","type":")";
  body += type;
  body += R"(","source":")";
  body += source_;
  body += R"(","time":")";
  body += time_;
  body += R"(","datacontenttype":"application/json",)";
  if (!traceparent.empty()) {
    member(body, R"("traceparent":)", traceparent);
    body += ',';
  }
}

void EventBatch::add_outcome(const Row& row, const EventOrigin& origin) {
  std::string& body = body_for(outcome_subject(row));
  open_event(body, kOutcomeEventType, origin.traceparent);
  body += R"("id":")";
  append_hex(body, row.key.view());
  body += '.';
  append_number(body, row.revision);
  body += R"(",)";
  append_outcome_data(body, row, origin.event_id);
}

void EventBatch::add_device(const DeviceEvent& event) {
  std::string& body = body_for(device_subject(event.kind, name(event.device.state)));
  open_device(body, event.hash, event.fence, event.traceparent);
  append_device_data(body, event);
}

void EventBatch::add_reuse(const ReuseEvent& event) {
  std::string& body = body_for(device_subject(event.kind, kReused));
  open_device(body, event.hash, event.fence, event.traceparent);
  append_reuse_data(body, event);
}

void EventBatch::open_device(std::string& body, const DeviceHash& hash, Fence fence,
                             std::string_view traceparent) {
  open_event(body, kDeviceEventType, traceparent);
  body += R"("id":")";
  append_hex(body, hash.view());
  body += '.';
  append_number(body, static_cast<std::int64_t>(fence.get()));
  body += R"(",)";
}

const std::vector<EventBatch::Entry>& EventBatch::finish() {
  for (Entry& entry : entries_) entry.body += ']';
  return entries_;
}

}  // namespace sendonce
