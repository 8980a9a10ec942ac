// Laws about deliveries that are looked for: 1, 2, 4, 6, 12.
#include <algorithm>
#include <utility>

#include "tests/simulation/laws.hpp"

namespace sendonce::sim {
namespace {

// From the last byte that left to its place in the index: what is slower than that is a copy that
// no look can be expected to find.
constexpr Duration kUnderWay = kLookupLag - kIndexLag;

}  // namespace

Question& LawBook::questioned(Ticket ticket, std::size_t provider, const HttpRequest& request,
                              std::uint32_t life) {
  Known& known = asked_by(provider, request);
  const std::string who = short_text(known.key);
  if (!known.row || known.row->state != State::claimed || known.row->incarnation != incarnation_ ||
      known.row->ticket != ticket)
    broken(2, who + " is asked about without a claim");
  const Row& row = *known.row;
  if (!looks(known)) broken(6, who + " is asked about, and its class does not look");
  if (row.effect != Effect::maybe_sent) broken(6, who + " is asked about without a doubt");
  for (const Attempt& a : known.attempts)
    if (a.life == life && a.open()) broken(2, who + " is asked about while it is under way");
  for (const Question& q : known.questions)
    if (q.life == life && !q.delivered) broken(2, who + " is asked about twice at once");
  if (world_.mono() < known.doubted + kLookupLag)
    broken(6, who + " is asked about before its provider can know");
  if (!known.absent.empty() && world_.mono() < known.absent.back() + kLookupLag)
    broken(6, who + " is asked about a second time before its provider can know more");
  if (world_.wall() >= row.created + kFindWindow)
    broken(6, who + " is asked about when it may be forgotten");
  if (world_.wall() >= row.deadline) world_.hit(Probe::looked_for_after_the_deadline);
  return known.questions.emplace_back(Question{.of = &known, .life = life, .fence = row.fence});
}

void LawBook::answered(Question& question, Look told) {
  Known& known = *question.of;
  question.delivered = true;
  question.told = told;
  switch (told) {
    case Look::found:
      world_.hit(Probe::look_found);
      known.found = true;
      break;
    case Look::absent:
      world_.hit(Probe::look_absent);
      if (question.life == life_) known.absent.push_back(world_.mono());
      break;
    case Look::undecided:
      world_.hit(Probe::look_undecided);
      break;
  }
}

// What was asked before says nothing about what has been sent since.
void LawBook::note_doubt(Known& known) const {
  known.doubted = world_.mono();
  known.absent.clear();
  if (!known.attempts.empty()) known.attempts.back().doubted = world_.mono();
}

// Law 6: what may have been sent is sent again only when its provider has said twice that it does
// not know of it.
void LawBook::check_looked_for(const Known& known, bool no_receipt) const {
  const std::string who = short_text(known.key);
  if (known.absent.size() < 2) broken(6, who + " is sent again before it was looked for twice");
  if (no_receipt) broken(6, who + " is sent again after a success without a receipt");
  world_.hit(Probe::resend_after_two_looks);
}

void LawBook::check_late(const Attempt& attempt) {
  Known& known = *attempt.of;
  const bool waited_for = attempt.open() && known.row && known.row->state == State::claimed &&
                          known.row->fence == attempt.fence;
  if (!waited_for && attempt.doubted && world_.mono() > *attempt.doubted + kUnderWay)
    known.late_copy = true;
}

// 6.4: in doubt after the deadline it is still asked about.
void LawBook::check_look_window(const Row& before, const Row& after, WallTime now) const {
  const Known& known = known_.at(after.key);
  if (!looks(known) || has_ended(before.state) || after.state != State::unknown) return;
  if (after.reason == "expired" && before.look_until != WallTime{} &&
      now < after.deadline + look_for(kLookupLag))
    broken(6, short_text(after.key) + " ends in doubt although it can be asked about");
}

void LawBook::before_a_step_of_the_wall() {
  for (auto& [key, known] : known_) known.latest = std::max(known.latest, world_.wall());
}

// A claim in doubt ends without a call: only when there is nothing left to ask.
void LawBook::check_given_up(const Settlement& s, const Row& before, const Row& after) const {
  const Known& known = known_.at(s.key);
  const std::string who = short_text(s.key);
  const auto asked = std::ranges::find_if(
      known.questions, [&](const Question& q) { return q.fence == s.fence && q.delivered; });
  if (asked != known.questions.end() && asked->life == life_) {
    if ((asked->told == Look::found) != (s.attempted && s.verdict.effect == Effect::sent))
      broken(6, who + ": what was found is not what becomes of it");
    if (s.counted) broken(9, who + ": a question counts as an attempt");
  }
  if (!looks(known) || before.state != State::claimed || after.state != State::unknown) return;
  const bool asked_enough = known.absent.size() >= 2;
  const bool forgotten = std::max(known.latest, world_.wall()) >= before.created + kFindWindow;
  // With its ledger went the name of the gateway that may have it: any of the route.
  const bool nobody_to_ask = known.adopted && policy(known).routes.size() > 1 &&
                             providers_[known.provider].kind == ProviderKind::sms;
  if (nobody_to_ask) world_.hit(Probe::given_up_for_nobody_knows_whom_to_ask);
  if (!s.attempted && !asked_enough && !forgotten && !nobody_to_ask)
    broken(6, who + " is given up before it was looked for");
  if (s.attempted && s.verdict.effect == Effect::maybe_sent)
    broken(6, who + " is given up without a look");
  if (!s.attempted && asked_enough) world_.hit(Probe::given_up_after_two_looks);
}

}  // namespace sendonce::sim
