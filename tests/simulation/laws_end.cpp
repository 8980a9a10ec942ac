// Laws about how a message ends: 3, 9, 14, and what has to be true when everything is over.
#include <algorithm>
#include <utility>

#include "plugin/core/text.hpp"
#include "tests/simulation/laws.hpp"

namespace sendonce::sim {
namespace {

std::string copy_id_of(const Key& key) {
  return hex(key.view()) + ".dlq";
}

}  // namespace

// Law 3, where it counts: the server removes the message.
void LawBook::acked(Published& message, bool terminated) {
  message.acked = true;
  if (message.poison) {
    if (!copies_.contains(message.copy_id))
      broken(3, "message " + message.copy_id + " is ended before its copy is confirmed");
    if (!terminated) broken(3, "message " + message.copy_id + " is acked, and not terminated");
    world_.hit(Probe::undecodable_copied);
    return;
  }
  if (terminated) broken(3, "message " + message.copy_id + " is terminated, and was decodable");
  for (const Published::Wanted& wanted : message.wanted) check_delivery_acked(message, wanted);
}

void LawBook::check_delivery_acked(const Published& message,
                                   const Published::Wanted& wanted) const {
  const Known& known = *wanted.known;
  const std::string who = short_text(known.key);
  if (!known.row) {
    if (!known.forgotten && !known.adopted) broken(3, who + " is acked, and has no row");
    return;
  }
  const Row& row = *known.row;
  if (row.fingerprint != wanted.fingerprint) {
    if (!copies_.contains(copy_id_of(known.key) + "." + std::to_string(message.seq)) &&
        !known.forgotten)
      broken(10, who + " is acked as a conflict before its copy is confirmed");
    world_.hit(Probe::conflict_copied);
    return;
  }
  if (!has_ended(row.state)) {
    if (known.adopted || known.forgotten) return;  // it had ended, in the ledger that was lost
    broken(3, who + " is acked while it is " + std::string(name(row.state)));
  }
  if (row.dead_letter == DeadLetter::due || row.dead_letter == DeadLetter::lost)
    broken(3, who + " is acked while its copy is owed");
}

void LawBook::copied(const std::string& message_id, const std::string& body) {
  if (!copies_.insert(message_id).second) world_.hit(Probe::dead_letter_published_twice);
  if (body.empty()) world_.hit(Probe::dead_letter_copy_refused_whole);
}

// Events follow what is durable, never the other way round.
void LawBook::told_outcome(const std::string& message_id, const std::string& body) {
  const auto [told, first] = told_in_life_.try_emplace(message_id, life_);
  if (!first && told->second != life_) world_.hit(Probe::event_republished_after_crash);
  constexpr std::string_view kMember = R"("id":")";
  for (std::size_t at = body.find(kMember); at != std::string::npos;
       at = body.find(kMember, at + 1)) {
    const std::size_t begin = at + kMember.size();
    const std::string id = body.substr(begin, body.find('"', begin) - begin);
    const std::size_t dot = id.find('.');
    if (dot != 64) continue;  // of a device
    const auto digits = unhex(std::string_view(id).substr(0, dot));
    if (!digits) broken(14, "an event whose id names no key: " + id);
    Key key;
    std::ranges::copy(*digits, key.bytes.begin());
    const auto found = known_.find(key);
    if (found == known_.end()) broken(14, "an event about a stranger: " + id);
    Known& known = found->second;
    const auto revision = static_cast<std::uint32_t>(std::stoul(id.substr(dot + 1)));
    if (!known.revisions.contains(revision)) {
      if (known.adopted || known.forgotten) continue;
      broken(14, "event " + message_id + " tells of what is not durable");
    }
    if (!known.events.insert(revision).second) world_.hit(Probe::event_published_twice);
  }
}

bool LawBook::all_ended() const {
  for (const Published& m : messages_)
    if (!m.acked && !m.lost) return false;
  for (const auto& [key, known] : known_)
    if (known.row && !has_ended(known.row->state)) return false;
  return true;
}

std::string LawBook::what_is_open() const {
  for (const auto& [key, known] : known_)
    if (known.row && !has_ended(known.row->state))
      return short_text(key) + " is " + std::string(name(known.row->state)) + ": " +
             known.row->reason;
  for (const Published& m : messages_)
    if (!m.acked && !m.lost)
      return "message " + m.copy_id + " is not acked (" + std::to_string(m.wanted.size()) +
             " targets)";
  return "nothing";
}

// Law 9: not only at its deadline, also at its next time something happens to a row.
void LawBook::check_nothing_overdue() const {
  constexpr Duration kLate = std::chrono::minutes(4);
  for (const auto& [key, known] : known_) {
    if (!known.row || known.row->state != State::waiting) continue;
    if (known.row->next_at + kLate < world_.wall() && can_come_back(known))
      broken(9, short_text(key) + " waits, and its time came " +
                    text_of(world_.wall() - known.row->next_at) + " ago");
  }
}

// Laws 9 and 14, conservation, and the truth of every ending.
void LawBook::check_end(bool calm, std::size_t outbox_entries) {
  if (outbox_entries != 0)
    broken(14, std::to_string(outbox_entries) + " events are left in the outbox");
  for (const auto& [key, known] : known_) check_key(known, calm);
}

// Whether its stream still has, or has delivered, a message with the row's content.
bool LawBook::can_come_back(const Known& known) const {
  return std::ranges::any_of(messages_, [&](const Published& m) {
    return !m.lost && !m.acked_before &&
           std::ranges::any_of(m.wanted, [&](const Published::Wanted& w) {
             return w.known == &known && w.fingerprint == known.row->fingerprint;
           });
  });
}

void LawBook::check_key(const Known& known, bool calm) const {
  const std::string who = short_text(known.key);
  for (const auto& [revision, state] : known.revisions)
    if (!known.events.contains(revision))
      broken(14, who + "." + std::to_string(revision) + " was never told");
  if (!known.row) return;
  const Row& row = *known.row;
  if (!has_ended(row.state)) broken(9, who + " has not ended");
  if (row.dead_letter == DeadLetter::due && can_come_back(known))
    broken(14, who + ": its copy is owed for ever");
  const bool counted = row.state != State::accepted || !known.revisions.empty() ||
                       policy(known).config.events == EventsMode::exceptions;
  if (!counted) broken(14, who + " ended, and nobody was told");
  const bool of_device = row.fault == Fault::device || row.fault == Fault::mismatch;
  if (row.state == State::failed && of_device != (row.dead_letter == DeadLetter::none))
    broken(14, who + " failed by " + std::string(name(row.fault)) + ", its dead letter is " +
                   std::string(name(row.dead_letter)));
  // A look may find what an earlier ledger has sent, or a row that was forgotten.
  if (row.state == State::accepted && known.processed == 0 && !known.found)
    broken(6, who + " is accepted, and reached nobody");
  if ((row.state == State::failed || row.state == State::suppressed) && known.processed != 0)
    broken(6, who + " is " + std::string(name(row.state)) + ", and was processed");
  if (row.state == State::unknown) {
    bool doubt = known.taken_over || known.adopted;
    for (const Attempt& a : known.attempts)
      doubt = doubt || !a.settled || *a.settled == Effect::maybe_sent;
    if (!doubt && row.attempts < 1) broken(6, who + " is unknown without a reason");
    if (policy(known).ambiguous(Channel::push) == AmbiguityPolicy::give_up)
      world_.hit(Probe::give_up_in_doubt);
    if (row.reason == "the provider may have forgotten the key") world_.hit(Probe::key_forgotten);
    if (row.reason == "request_changed") {
      world_.hit(Probe::request_changed);
      // Of the same content all get the same bytes, but FCM, whose lifetime shrinks.
      if (providers_[known.provider].kind != ProviderKind::fcm && !known.adopted &&
          !known.nameless_claim)
        broken(6, who + " is given up as changed, and its request never changes");
    }
  }
  if (row.reason.starts_with("attempts exhausted")) world_.hit(Probe::attempts_exhausted);
  if (!calm) return;
  Service& service = *providers_[known.provider].service;
  const bool good = known.well_formed && !service.token(known.token).dead_since &&
                    !service.token(known.token).mismatch && !service.refuses_content(known.marker);
  if (good && row.state != State::accepted)
    broken(0, who + " is " + std::string(name(row.state)) + " although nothing went wrong");
  if (good && known.processed != 1)
    broken(0, who + " was processed " + std::to_string(known.processed) + " times on a calm day");
}

std::map<std::string, std::uint64_t> LawBook::census() const {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [key, known] : known_)
    ++counts[known.row         ? std::string(name(known.row->state))
             : known.forgotten ? "forgotten"
                               : "never claimed"];
  for (const Published& m : messages_) {
    if (m.poison) ++counts["undecodable"];
    if (m.lost && !m.acked) ++counts["message lost by its stream"];
  }
  return counts;
}

}  // namespace sendonce::sim
