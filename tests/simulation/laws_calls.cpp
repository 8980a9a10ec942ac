// Laws about what is sent: 1, 2, 4, 6, 7, 10, 12.
#include <algorithm>
#include <utility>

#include "classifiers/stable_id.hpp"
#include "plugin/core/text.hpp"
#include "tests/simulation/dialect.hpp"
#include "tests/simulation/laws.hpp"

namespace sendonce::sim {

std::string short_text(const Key& key) {
  return hex(key.view()).substr(0, 8);
}

std::string marker_in(const std::string& body) {
  const std::size_t at = body.find("<<");
  const std::size_t end = body.find(">>");
  if (at == std::string::npos || end == std::string::npos) return {};
  return body.substr(at, end + 2 - at);
}

Published& LawBook::published(std::size_t message_class, std::string body, WallTime stored_at,
                              const std::string& stream, std::uint64_t seq) {
  Published& message = messages_.emplace_back();
  message.message_class = message_class;
  message.seq = seq;
  message.stored_at = stored_at;
  message.body = std::move(body);
  const ClassPolicy& of_class = classes_[message_class];
  auto note = decoder_.decode(message.body);
  message.copy_id = stream + "." + std::to_string(seq) + "." +
                    std::to_string(stored_at.time_since_epoch().count());
  message.poison = !note;
  if (!note) return message;
  const auto digest = keys_.nid_digest(of_class.recipe, *note);
  for (const Target& target : note->targets) {
    const auto route = std::ranges::find_if(of_class.routes, [&](const auto& r) {
      const ProviderFacts& p = providers_[r.second.get()];
      return target.kind ? p.kind == *target.kind : p.name == target.provider;
    });
    if (route == of_class.routes.end() || !digest) {
      message.poison = true;
      message.wanted.clear();
      return message;
    }
    const std::size_t index = route->second.get();
    const ProviderFacts& facts = providers_[index];
    const auto normal = facts.provider->normal_form(target);
    const Destination& destination = normal ? *normal : target.destination;
    const Key key = keys_.delivery_key(*digest, facts.kind, facts.app_scope, destination);
    auto [at, fresh] = known_.try_emplace(key);
    Known& known = at->second;
    if (fresh) {
      known.key = key;
      known.message_class = message_class;
      known.provider = index;
      known.token = destination.expose();
      known.device = keys_.device_hash(facts.kind, facts.app_scope, destination);
      known.registered_at = target.registered_at;
      known.well_formed = normal.has_value();
      by_device_[known.device].push_back(&known);
      by_request_[request_name(facts.kind, key, uuid_text(nid_from(*digest).bytes), known.token)] =
          &known;
    }
    known.may_go_to.insert(index);
    for (const auto& [channel, other] : of_class.routes)
      if (target.kind) known.may_go_to.insert(other.get());
    const Fingerprint print = keys_.fingerprint(*note, facts.kind);
    known.contents[print] = marker_in(message.body);
    message.wanted.push_back({.known = &known, .fingerprint = print});
  }
  if (message.wanted.size() > 1) world_.hit(Probe::mixed_targets_one_message);
  return message;
}

Known& LawBook::known_of(const Key& key) {
  const auto found = known_.find(key);
  if (found == known_.end()) broken(0, "the ledger holds a key that nobody asked for");
  return found->second;
}

Known& LawBook::asked_by(std::size_t provider, const HttpRequest& request) {
  const auto found = by_request_.find(request_name(providers_[provider].kind, request));
  if (found == by_request_.end()) broken(0, "a request that belongs to no delivery");
  return *found->second;
}

Attempt& LawBook::submitted(Ticket ticket, std::size_t provider, const HttpRequest& request,
                            std::uint32_t life) {
  Known& known = asked_by(provider, request);
  Attempt now{.of = &known,
              .provider = provider,
              .life = life,
              .submitted = world_.mono(),
              .claim_asked = claim_asked_[ticket].at,
              .order = claim_asked_[ticket].order,
              .authorization = std::string(request.headers.find("authorization").value_or("")),
              .path = request.path,
              .body = request.body};
  const std::string who = short_text(known.key);
  for (const Question& q : known.questions)
    if (q.life == life && !q.delivered) broken(2, who + " is sent while it is asked about");
  if (!known.row) broken(1, who + " is sent without a row");
  const Row& row = *known.row;
  if (row.state != State::claimed) broken(1, who + " is sent while its row is not claimed");
  if (row.incarnation != incarnation_) broken(2, who + " is sent under the claim of another life");
  if (row.ticket != ticket) broken(2, who + " is sent under the claim of another ticket");
  if (!known.may_go_to.contains(provider)) broken(0, who + " is sent to another provider");
  now.fence = row.fence;
  for (const Attempt& a : known.attempts) {
    if (a.life == life && a.open()) broken(2, who + " is sent while another request is under way");
    if (a.fence == row.fence && a.life == life) broken(2, who + " is sent twice under one claim");
  }
  if (marker_in(request.body) != known.marker)
    broken(10, who + " is sent with a content that is not its first");
  check_repeat(known, now);
  check_failover(known, now);
  note_authorization(holds_[provider], now);
  check_hold(now, provider);
  return known.attempts.emplace_back(std::move(now));
}

// Laws 5 and 6: what an earlier attempt may have sent is repeated only as the class says.
void LawBook::check_repeat(const Known& known, Attempt& now) const {
  const AmbiguityPolicy ambiguous = policy(known).ambiguous(Channel::push);
  const std::string who = short_text(known.key);
  bool doubt = known.adopted;
  bool no_receipt = false;
  for (const Attempt& a : known.attempts) {
    const bool settled = a.settled.has_value();
    // That of another life may come after the claim: nobody can know it then.
    if (settled && *a.settled == Effect::sent && a.receipt < now.order)
      broken(4, who + " is sent again after its receipt");
    const bool doubtful = !settled || *a.settled == Effect::maybe_sent;
    doubt = doubt || doubtful;
    no_receipt = no_receipt || (settled && a.told == Told::no_receipt);
    if (ambiguous == AmbiguityPolicy::resend && settled && a.told == Told::no_receipt)
      broken(6, who + " is sent again after a success without a receipt");
    const bool remembered = a.fence != Fence{};  // by this ledger
    if (ambiguous == AmbiguityPolicy::resend_with_key && doubtful && remembered &&
        (a.path != now.path || a.body != now.body))
      broken(6, who + " is repeated with other bytes");
  }
  if (doubt && ambiguous == AmbiguityPolicy::lookup) check_looked_for(known, no_receipt);
  if (doubt && ambiguous == AmbiguityPolicy::give_up)
    broken(6, who + " is sent again under give-up although it may have been sent");
  if (doubt) world_.hit(Probe::resend_in_doubt);
  if (known.row->attempts >= policy(known).config.retry.attempts)
    broken(6, who + " has no attempts left");
  now.needs_key = doubt && ambiguous == AmbiguityPolicy::resend_with_key;
}

// Law 6 along a route: another provider gets only what was provably not sent.
void LawBook::check_failover(const Known& known, const Attempt& now) {
  const bool routed = known.may_go_to.size() > 1;
  // In doubt by an adoption alone: whoever has it is known to nobody, and cannot be asked.
  const bool adopted_doubt = known.row->effect == Effect::maybe_sent && known.row->attempts == 0;
  if (routed && adopted_doubt && policy(known).ambiguous(Channel::push) != AmbiguityPolicy::resend)
    broken(6, short_text(known.key) + " is sent, and nobody knows which provider may have it");
  for (const Attempt& a : known.attempts) {
    if (a.fence == Fence{}) continue;  // of a ledger that is lost
    const bool doubtful = !a.settled || *a.settled == Effect::maybe_sent;
    if (a.provider == now.provider) {
      if (doubtful && routed) world_.hit(Probe::doubt_stays_with_its_provider);
      continue;
    }
    if (doubtful)
      broken(6, short_text(known.key) + " goes to another provider although it may have been sent");
    world_.hit(Probe::failed_over);
  }
}

// One that is minted here is new from the refusal on that it was minted for.
void LawBook::note_authorization(HoldFacts& hold, const Attempt& now) {
  if (hold.held && hold.authorization != now.authorization) {
    hold.renewed = std::max(hold.renewed, hold.refused);
    hold.may_probe = true;
  }
  hold.authorization = now.authorization;
}

// Law 7: while a provider is held, one delivery at a time tries it, and not too often.
void LawBook::check_hold(const Attempt& attempt, std::size_t provider) {
  HoldFacts& hold = holds_[provider];
  if (!hold.counts(attempt)) return;
  for (const auto& [key, known] : known_) {
    for (const Attempt& a : known.attempts)
      if (a.provider == provider && a.life == attempt.life && a.open() && hold.counts(a))
        broken(7, "two deliveries at once try a provider that is held");
  }
  const Duration least = providers_[provider].breaker_probe;
  if (!hold.may_probe && attempt.claim_asked < hold.last + least)
    broken(7, "a provider that is held is tried again after " +
                  text_of(attempt.claim_asked - hold.last));
  hold.may_probe = false;
  world_.hit(Probe::hold_probed);
}

void LawBook::left(Attempt& attempt) {
  Known& known = *attempt.of;
  const std::string who = short_text(known.key);
  if (!known.row || known.row->fence != attempt.fence || known.row->state != State::claimed) {
    // Taken over or ended meanwhile: the process that holds the request cannot know.
    if (attempt.life == life_) broken(1, who + " leaves without its claim");
  } else if (world_.wall() >= known.row->deadline) {
    broken(12, who + " leaves after its deadline");
  } else if (attempt.needs_key && world_.wall() >= known.row->created + kKeyWindow) {
    broken(6, who + " is repeated when its key may be forgotten");
  }
  attempt.left = true;
}

void LawBook::processed(Attempt& attempt) {
  Known& known = *attempt.of;
  ++attempt.processed;
  if (attempt.processed > 1) broken(0, "one request is processed twice");
  if (attempt.forgotten) return;
  check_late(attempt);
  ++known.processed;
  const bool once = policy(known).ambiguous(Channel::push) == AmbiguityPolicy::give_up;
  if (once && known.processed > 1)
    broken(6, short_text(known.key) + " reached its person twice under give-up");
  if (looks(known) && known.processed > 1 && !known.late_copy && !known.adopted)
    broken(6, short_text(known.key) + " reached its person twice although it was looked for");
}

void LawBook::heard(Attempt& attempt, Told told, const Reply* reply) {
  attempt.told = told;
  attempt.delivered = true;
  Known& known = *attempt.of;
  if (known.row && known.row->state == State::claimed && known.row->fence == attempt.fence &&
      world_.wall() > known.row->lease_end)
    world_.hit(Probe::answer_longer_than_lease);
  if (reply != nullptr && told == Told::refused) {
    attempt.blame = reply->blame;
    attempt.dead_since = reply->dead_since;
    if (reply->blame == Blame::credential) world_.hit(Probe::credential_refused);
  }
  // What a process hears that lost its ledger is not known to its successor.
  if (attempt.life == life_) note_health(attempt, told, reply);
  const bool doubtful = told == Told::maybe_sent || told == Told::no_receipt;
  if (attempt.life == life_ && doubtful) note_doubt(known);
}

void LawBook::note_health(const Attempt& attempt, Told told, const Reply* reply) {
  HoldFacts& hold = holds_[attempt.provider];
  if (told == Told::sent) {
    if (hold.held) world_.hit(Probe::hold_closed);
    hold.close();
    return;
  }
  if (hold.counts(attempt)) hold.last = world_.mono();
  if (!hold.ill_since) hold.ill_since = world_.mono();
  if (reply == nullptr || told != Told::refused) return;
  switch (reply->blame) {
    case Blame::credential:
      if (is_replaced(attempt)) return;  // says nothing against the new one
      // Whoever began before the hold may be the one for which a new credential is minted.
      if (hold.held && attempt.authorization == hold.authorization) hold.refused = ++order_;
      if (hold.is_old(attempt)) return;
      hold.old = attempt.authorization;
      hold.old_since = world_.mono();
      hold.refused = ++order_;
      [[fallthrough]];
    case Blame::setup:
      // A token of the other environment: its answer tells no more than that of a bad one.
      if (!reply->wide) hold.close();
      if (!reply->wide || hold.held) return;
      // A tripped breaker may have opened it before.
      hold.held = true;
      hold.since = world_.mono();
      hold.last = *hold.ill_since;
      hold.authorization = attempt.authorization;
      return;
    case Blame::device:
    case Blame::mismatch:
    case Blame::message:
      // The provider is well enough to judge.
      hold.close();
      return;
    case Blame::nobody:
    case Blame::part:
    case Blame::load:
      return;
  }
}

void LawBook::made_with(std::size_t provider, const std::string& authorization,
                        std::uint64_t credential) {
  credentials_[provider].numbers[authorization] = credential;
}

bool LawBook::is_replaced(const Attempt& a) const {
  const Credentials& c = credentials_[a.provider];
  const auto number = c.numbers.find(a.authorization);
  return number != c.numbers.end() && number->second != c.at_hand;
}

void LawBook::renewed(std::size_t provider) {
  holds_[provider].renewed = ++order_;
  holds_[provider].may_probe = true;
}

void LawBook::process_began(std::uint32_t life, Incarnation incarnation) {
  life_ = life;
  incarnation_ = incarnation;
  for (HoldFacts& hold : holds_) hold = HoldFacts{};
  for (Credentials& c : credentials_) c = Credentials{};
}

void LawBook::process_died() {
  claim_asked_.clear();
}

}  // namespace sendonce::sim
