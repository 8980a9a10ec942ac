#include "tests/simulation/lane.hpp"

#include <iterator>
#include <utility>

namespace sendonce::sim {
namespace {

std::string kind_of(const LedgerRequest& request) {
  static constexpr const char* kNames[] = {"claim",         "settle", "letter done", "read outbox",
                                           "remove events", "sweep",  "find",        "resolve"};
  return kNames[request.index()];
}

std::string text_of_reply(const LedgerReply& reply) {
  if (const auto* claim = std::get_if<ClaimReply>(&reply)) {
    static constexpr const char* kNames[] = {
        "claimed", "busy", "waiting", "done", "conflict", "dead letter due", "stopped"};
    std::string text = kNames[claim->index()];
    if (const auto* c = std::get_if<Claimed>(claim))
      text +=
          " fence " + std::to_string(c->fence.get()) + ", carries " + std::string(name(c->carried));
    if (const auto* d = std::get_if<Done>(claim)) text += " " + std::string(name(d->state));
    return text;
  }
  if (const auto* s = std::get_if<Settled>(&reply))
    return std::string(s->fenced ? "fenced, " : "") + std::string(name(s->state)) + ", " +
           std::string(name(s->effect)) + (s->dead_letter_due ? ", copy due" : "");
  return "done";
}

std::string key_of(const LedgerRequest& request) {
  if (const auto* c = std::get_if<ClaimRequest>(&request)) return short_text(c->key);
  if (const auto* s = std::get_if<Settlement>(&request))
    return short_text(s->key) + " (" + std::string(name(s->verdict.name)) + ": " +
           s->verdict.reason + ")";
  if (const auto* d = std::get_if<DeadLetterDone>(&request)) return short_text(d->key);
  return {};
}

void tell_commit(const World& world, const std::vector<TicketedRequest>& batch,
                 const std::vector<LaneReply>& replies) {
  if (!world.tracing()) return;
  for (const LaneReply& r : replies) {
    for (const TicketedRequest& q : batch) {
      if (q.ticket != r.ticket || q.request.index() > 2) continue;
      world.tell("ledger", kind_of(q.request) + " " + key_of(q.request) + " -> " +
                               (r.reply ? text_of_reply(*r.reply) : r.reply.error().text));
    }
  }
}

}  // namespace

DiskLane::DiskLane(World& world, Ledger& ledger, LawBook& book, LaneOptions options,
                   std::shared_ptr<Life> life, std::function<Ledger*()> present)
    : world_(world),
      ledger_(ledger),
      book_(book),
      options_(options),
      life_(std::move(life)),
      present_(std::move(present)),
      committer_(ledger, world),
      stats_(ledger.stats()) {}

void DiskLane::submit(std::vector<TicketedRequest>&& batch) {
  world_.gate(Port::ledger_submit, Edge::before);
  if (life_->ghost) {
    submit_late(batch);
  } else {
    for (const TicketedRequest& r : batch)
      if (std::holds_alternative<ClaimRequest>(r.request)) book_.claim_asked(r.ticket);
    std::move(batch.begin(), batch.end(), std::back_inserter(queued_));
    if (on_its_way_.empty()) begin();
  }
  world_.gate(Port::ledger_submit, Edge::after);
}

// What a process that lost its ledger still has to say: what it knows, never a claim.
void DiskLane::submit_late(const std::vector<TicketedRequest>& batch) {
  Ledger* ledger = present_();
  if (ledger == nullptr) return;
  std::vector<TicketedRequest> known;
  for (const TicketedRequest& r : batch)
    if (std::holds_alternative<Settlement>(r.request) ||
        std::holds_alternative<DeadLetterDone>(r.request))
      known.push_back(r);
  if (known.empty()) return;
  std::vector<LaneReply> replies;
  if (!Committer(*ledger, world_).commit(known, replies)) return;
  tell_commit(world_, known, replies);
  std::move(replies.begin(), replies.end(), std::back_inserter(replies_));
}

void DiskLane::begin() {
  if (queued_.empty()) return;
  on_its_way_ = std::exchange(queued_, {});
  world_.after(world_.between(options_.latency / 2, options_.latency * 2), [this, life = life_] {
    if (!life->dead && !life->ghost) finish();
  });
}

void DiskLane::finish() {
  if (world_.chance(options_.crash_before)) {
    world_.hit(Probe::crash_before_commit);
    throw Crash{"before a commit"};
  }
  const std::vector<TicketedRequest> batch = std::exchange(on_its_way_, {});
  std::vector<LaneReply> replies;
  if (const auto done = committer_.commit(batch, replies); !done)
    throw Crash{"the ledger is lost: " + done.error().text};
  tell_commit(world_, batch, replies);
  for (const LaneReply& r : replies)
    if (r.reply && std::holds_alternative<ClaimReply>(*r.reply)) book_.claim_answered(r.ticket);
  for (const LaneReply& r : replies)
    if (!r.reply) world_.hit(Probe::ledger_full_refuses_settlements);
  if (world_.chance(options_.crash_after)) {
    world_.hit(Probe::crash_after_commit);
    throw Crash{"after a commit"};
  }
  stats_ = ledger_.stats();
  std::move(replies.begin(), replies.end(), std::back_inserter(replies_));
  life_->woken = true;
  begin();
}

void DiskLane::process_died() {
  if (on_its_way_.empty() || life_->ghost) return;
  if (world_.chance(0.5)) {
    world_.hit(Probe::crash_inside_commit_lost);
    return;
  }
  const std::vector<TicketedRequest> batch = std::exchange(on_its_way_, {});
  std::vector<LaneReply> replies;
  if (!committer_.commit(batch, replies)) return;
  world_.hit(Probe::crash_inside_commit_kept);
  world_.tell("ledger", "a commit arrives although its process died");
  tell_commit(world_, batch, replies);
}

void DiskLane::take(std::vector<LaneReply>& replies) {
  world_.gate(Port::ledger_take, Edge::before);
  std::move(replies_.begin(), replies_.end(), std::back_inserter(replies));
  replies_.clear();
  world_.gate(Port::ledger_take, Edge::after);
}

}  // namespace sendonce::sim
