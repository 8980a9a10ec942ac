#include "plugin/cli/demo/tally.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "plugin/cli/output.hpp"

namespace sendonce::cli {

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

void Tally::add_published(std::string_view message_class, Published delivery) {
  ClassTally& c = of(message_class);
  c.published += delivery.copies;
  ++c.deliveries;
  by_ref_.emplace(std::move(delivery.ref), Delivery{.message_class = std::string(message_class),
                                                    .token = std::move(delivery.token)});
}

void Tally::add_row(const Row& row) {
  const auto it = by_ref_.find(row.ref);
  if (it != by_ref_.end()) it->second.state = row.state;
}

void Tally::add_record(std::string_view token, bool accepted, bool refused) {
  auto it = by_token_.find(token);
  if (it == by_token_.end()) it = by_token_.emplace(std::string(token), Seen{}).first;
  ++it->second.received;
  if (accepted) ++it->second.accepted;
  if (refused) ++it->second.refused;
}

std::vector<ClassTally> Tally::finish() {
  for (const auto& [ref, d] : by_ref_) {
    ClassTally& c = of(d.message_class);
    const auto seen_at = by_token_.find(d.token);
    const Seen seen = seen_at == by_token_.end() ? Seen{} : seen_at->second;
    c.received += seen.received;
    if (seen.accepted > 0) ++c.delivered;
    if (seen.accepted > 1) c.extra_copies += seen.accepted - 1;
    if (!d.state || !has_ended(*d.state)) {
      ++c.unaccounted;
      continue;
    }
    ++c.states[std::string(sendonce::name(*d.state))];
    const bool never_settled =
        *d.state == State::unknown && c.policy == "resend" && seen.refused == 0;
    if (seen.accepted == 0 && (*d.state == State::accepted || never_settled)) ++c.missing;
    if (*d.state == State::unknown && seen.accepted > 0) ++c.unknown_delivered;
  }
  return classes_;
}

void read_record(const std::string& file, Tally& tally) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    const auto j = nlohmann::json::parse(line, nullptr, false);
    if (!j.is_object() || !j.contains("destination")) continue;
    const int status = j.value("status", 0);
    const bool accepted = j.value("accepted", false);
    tally.add_record(j["destination"].get<std::string>(), accepted,
                     !accepted && status >= 400 && status < 500);
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

std::vector<std::string> broken_promises(const std::vector<ClassTally>& classes) {
  std::vector<std::string> broken;
  for (const ClassTally& c : classes) {
    if (c.policy == "give-up" && c.extra_copies > 0)
      broken.push_back(c.name + ": under give-up " + std::to_string(c.extra_copies) +
                       " deliveries were taken twice");
    if (c.missing > 0)
      broken.push_back(c.name + ": under " + c.policy + " " + std::to_string(c.missing) +
                       " deliveries never arrived, and neither the ledger nor a refusal says why");
    if (c.unaccounted > 0)
      broken.push_back(c.name + ": " + std::to_string(c.unaccounted) +
                       " deliveries have not ended");
  }
  return broken;
}

}  // namespace sendonce::cli
