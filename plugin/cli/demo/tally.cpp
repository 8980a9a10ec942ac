#include "plugin/cli/demo/tally.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "plugin/cli/output.hpp"
#include "plugin/core/text.hpp"

namespace sendonce::cli {
namespace {

// A refusal of this message, and not one of our credentials or of our pace.
bool is_refusal(int status) {
  return status >= 400 && status < 500 && status != 401 && status != 403 && status != 429;
}

// Of no receipt is known more than that it was no answer.
std::vector<WallTime> doubts_of(const Row& row) {
  std::vector<WallTime> doubts;
  for (const Receipt& r : row.receipts) {
    if (r.effect == Effect::maybe_sent) doubts.push_back(r.at);
  }
  return doubts;
}

}  // namespace

std::uint64_t ClassTally::count(State state) const {
  const auto it = states.find(std::string(sendonce::name(state)));
  return it == states.end() ? 0 : it->second;
}

ClassTally& Tally::of(std::string_view message_class) {
  const auto it = std::ranges::find(classes_, message_class, &ClassTally::name);
  if (it != classes_.end()) return *it;
  classes_.push_back({.name = std::string(message_class)});
  return classes_.back();
}

std::string Tally::policy_of(const Delivery& delivery) const {
  const auto it = std::ranges::find(classes_, delivery.message_class, &ClassTally::name);
  return it == classes_.end() ? "" : it->policy;
}

Delivery* Tally::find(std::string_view ref) {
  const auto it = by_ref_.find(ref);
  return it == by_ref_.end() ? nullptr : &it->second;
}

void Tally::add_published(std::string_view message_class, Published delivery) {
  ClassTally& c = of(message_class);
  if (!delivery.undecodable) {
    c.published += delivery.copies;
    ++c.deliveries;
    ref_of_token_.emplace(delivery.token, delivery.ref);
  }
  std::string ref = delivery.ref;
  by_ref_.emplace(std::move(ref), Delivery{.message_class = std::string(message_class),
                                           .published = std::move(delivery)});
}

void Tally::add_row(const Row& row) {
  Delivery* d = find(row.ref);
  if (d == nullptr) {
    ++strangers_["row " + short_key(row.key)];
    return;
  }
  d->row = Ledgered{.key = row.key,
                    .state = row.state,
                    .dead_letter = row.dead_letter,
                    .revision = row.revision,
                    .ended = row.ended,
                    .reason = row.reason,
                    .doubts = doubts_of(row)};
  ref_of_key_.emplace(hex(row.key.view()), row.ref);
}

void Tally::add_request(std::string_view token, const Seen& seen) {
  if (seen.ends_connection) ended_connections_.try_emplace(seen.connection, seen.at);
  const auto ref = ref_of_token_.find(token);
  if (ref == ref_of_token_.end()) {
    ++strangers_["request for a token that was not published"];
    return;
  }
  find(ref->second)->seen.push_back(seen);
}

void Tally::add_event(std::string_view ref, std::uint32_t revision, std::string_view outcome) {
  Delivery* d = find(ref);
  if (d == nullptr) {
    ++strangers_["event for a ref that was not published"];
    return;
  }
  ++d->events;
  d->told.emplace(revision, outcome);
}

void Tally::add_dead_letter(std::string_view key_or_subject) {
  const auto ref = ref_of_key_.find(key_or_subject);
  Delivery* d = find(ref == ref_of_key_.end() ? key_or_subject : std::string_view(ref->second));
  if (d == nullptr) {
    ++strangers_["dead letter of a delivery that was not published"];
    return;
  }
  ++d->dead_letters;
}

void Tally::add_early_ack(std::string_view ref) {
  if (Delivery* d = find(ref); d != nullptr) d->acked_early = true;
}

std::vector<ClassTally> Tally::finish() {
  for (const auto& [ref, d] : by_ref_) {
    if (d.published.undecodable) continue;
    ClassTally& c = of(d.message_class);
    const auto accepted =
        static_cast<std::uint64_t>(std::ranges::count(d.seen, true, &Seen::accepted));
    const bool refused = std::ranges::find(d.seen, true, &Seen::refused) != d.seen.end();
    c.received += d.seen.size();
    if (accepted > 0) ++c.delivered;
    if (accepted > 1) c.extra_copies += accepted - 1;
    if (!d.row || !has_ended(d.row->state)) {
      ++c.unaccounted;
      continue;
    }
    const State state = d.row->state;
    ++c.states[std::string(sendonce::name(state))];
    const bool never_settled = state == State::unknown && c.policy == "resend" && !refused;
    if (accepted == 0 && (state == State::accepted || never_settled)) ++c.missing;
    if (state == State::unknown && accepted > 0) ++c.unknown_delivered;
  }
  return classes_;
}

void read_record(const std::string& file, Duration answer_within, Tally& tally) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object() || !j.contains("destination")) continue;
    const std::string provider = j.value("provider", "");
    if (provider != "apns" && provider != "fcm") continue;
    const std::chrono::milliseconds delay(j.value("delay_ms", 0));
    Seen seen{.at = WallTime(Duration(j.value("time_ns", std::int64_t{0}))),
              .connection = j.value("connection", std::uint64_t{0}),
              .status = j.value("status", 0),
              .accepted = j.value("accepted", false),
              .answered = j.value("ending", "") == "answer" && delay < answer_within,
              .ends_connection = j.value("ends_connection", false)};
    seen.refused = seen.answered && !seen.accepted && is_refusal(seen.status);
    tally.add_request(j["destination"].get<std::string>(), seen);
  }
}

std::string tally_table(const std::vector<ClassTally>& classes) {
  Table table({"class", "in doubt", "published", "duplicates", "deliveries", "accepted", "unknown",
               "failed", "expired", "requests", "delivered", "extra copies", "missing"});
  for (const ClassTally& c : classes)
    table.add({c.name, c.policy, std::to_string(c.published),
               std::to_string(c.suppressed_duplicates()), std::to_string(c.deliveries),
               std::to_string(c.count(State::accepted)), std::to_string(c.count(State::unknown)),
               std::to_string(c.count(State::failed)), std::to_string(c.count(State::suppressed)),
               std::to_string(c.received), std::to_string(c.delivered),
               std::to_string(c.extra_copies), std::to_string(c.missing)});
  return table.text();
}

std::string tally_json(const std::vector<ClassTally>& classes) {
  auto out = nlohmann::ordered_json::array();
  for (const ClassTally& c : classes)
    out.push_back({{"class", c.name},
                   {"policy", c.policy},
                   {"published", c.published},
                   {"duplicates", c.suppressed_duplicates()},
                   {"deliveries", c.deliveries},
                   {"states", c.states},
                   {"requests", c.received},
                   {"delivered", c.delivered},
                   {"extra_copies", c.extra_copies},
                   {"missing", c.missing},
                   {"unaccounted", c.unaccounted},
                   {"unknown_delivered", c.unknown_delivered}});
  return out.dump();
}

}  // namespace sendonce::cli
