#include "plugin/cli/demo/audit.hpp"

#include <algorithm>
#include <functional>

#include "plugin/core/text.hpp"

namespace sendonce::cli {
namespace {

// Every check of one delivery.
class Judge {
 public:
  Judge(const Tally& tally, const AuditContext& context, const Delivery& delivery)
      : tally_(tally), context_(context), d_(delivery), policy_(tally.policy_of(delivery)) {}

  [[nodiscard]] std::vector<Broken> judge() {
    if (d_.acked_early) broken("ack-last", "acked before it had ended");
    if (d_.published.undecodable) {
      if (d_.dead_letters == 0) broken("dead-letter", "undecodable, and there is no copy");
      return std::move(found_);
    }
    check_copies();
    if (!d_.row || !has_ended(d_.row->state)) {
      broken("ended", d_.row ? "has not ended" : "has no row");
      return std::move(found_);
    }
    check_delivered();
    check_explained();
    check_events();
    check_dead_letter();
    return std::move(found_);
  }

 private:
  void check_copies() {
    for (std::size_t i = 0; i + 1 < d_.seen.size(); ++i) {
      const Seen& s = d_.seen[i];
      if (!s.accepted) continue;
      if (policy_ == "give-up") {
        broken("one-copy", "a request after one that was taken");
      } else if (!is_doubt(s, d_.seen[i + 1].at)) {
        broken("one-copy", "sent again although it was taken and nothing was in doubt");
      }
    }
  }

  void check_delivered() {
    const State state = d_.row->state;
    const bool taken = any(&Seen::accepted);
    if (!taken && state == State::accepted)
      broken("delivered", "accepted, and the provider never took it");
    if (!taken && state == State::unknown && policy_ == "resend" && !any(&Seen::refused))
      broken("delivered", "resend has given up, and the provider neither took nor refused it");
    if (taken && (state == State::failed || state == State::suppressed))
      broken("truthful", "the provider took it, and the ledger says that it was not sent");
  }

  void check_explained() {
    const Ledgered& row = *d_.row;
    if (row.state == State::suppressed) broken("explained", "suppressed, and nothing had expired");
    if (row.state == State::failed && !any(&Seen::refused) &&
        !row.reason.starts_with("attempts exhausted"))
      broken("explained", "failed without a refusal");
    if (row.state == State::unknown && !unknown_is_explained())
      broken("explained", "unknown, and no fault explains it");
  }

  [[nodiscard]] bool unknown_is_explained() const {
    const WallTime ended = d_.row->ended + context_.skew;
    if (disturbed(d_.published.at, ended)) return true;
    if (std::ranges::any_of(d_.seen, [&](const Seen& s) { return is_doubt(s, ended); }))
      return true;
    // A request that the provider never read to its end is not in its record, the end of its
    // connection is.
    const Duration near = context_.call_total + context_.skew;
    return std::ranges::any_of(d_.row->doubts, [&](WallTime doubt) {
      return std::ranges::any_of(tally_.ended_connections(), [&](const auto& ended_at) {
        return ended_at.second <= doubt + near && ended_at.second >= doubt - near;
      });
    });
  }

  void check_events() {
    const Ledgered& row = *d_.row;
    for (std::uint32_t revision = 1; revision <= row.revision; ++revision) {
      if (!d_.told.contains(revision))
        broken("told", "no event of revision " + std::to_string(revision));
    }
    if (d_.told.empty()) return;
    const auto& [revision, outcome] = *d_.told.rbegin();
    if (revision > row.revision || (revision == row.revision && outcome != name(row.state)))
      broken("truthful", "the newest event is revision " + std::to_string(revision) + ", " +
                             outcome + "; the row's is " + std::to_string(row.revision));
  }

  void check_dead_letter() {
    switch (d_.row->dead_letter) {
      case DeadLetter::none:
        if (d_.dead_letters > 0) broken("dead-letter", "a copy of what has not failed");
        return;
      case DeadLetter::done:
        if (d_.dead_letters == 0) broken("dead-letter", "its copy is not on the stream");
        return;
      case DeadLetter::due:
      case DeadLetter::lost:
        broken("dead-letter", "its copy is " + std::string(name(d_.row->dead_letter)));
    }
  }

  // Whether the sender could not know that the request was taken: its answer was late, lost, or
  // none; or who waited for it was not there, before `until`.
  [[nodiscard]] bool is_doubt(const Seen& s, WallTime until) const {
    if (!s.answered || s.status >= 500) return true;
    // What came on it after the request that was to end it has lost its answer too.
    const auto ended = tally_.ended_connections().find(s.connection);
    if (ended != tally_.ended_connections().end() && ended->second <= s.at + context_.call_total)
      return true;
    return disturbed(s.at, until);
  }

  [[nodiscard]] bool disturbed(WallTime from, WallTime to) const {
    return std::ranges::any_of(context_.disturbances,
                               [&](const Disturbance& x) { return x.from <= to && x.to >= from; });
  }

  [[nodiscard]] bool any(bool Seen::* what) const {
    return std::ranges::any_of(d_.seen, [what](const Seen& s) { return s.*what; });
  }

  void broken(std::string promise, const std::string& what) {
    found_.push_back({.promise = std::move(promise),
                      .key = key(),
                      .message_class = d_.message_class,
                      .story = what + ": " + story()});
  }

  [[nodiscard]] std::string key() const {
    if (d_.row) return short_key(d_.row->key);
    std::string hashed;
    const std::size_t hash = std::hash<std::string>{}(d_.published.ref);
    append_hex(hashed, {reinterpret_cast<const char*>(&hash), 4});
    return "ref:" + hashed;
  }

  static std::string clock_time(WallTime t) { return rfc3339(t).substr(11, 12); }

  [[nodiscard]] std::string story() const {
    std::string out = policy_ + ", published " + clock_time(d_.published.at);
    WallTime last = d_.published.at;
    for (const Seen& s : d_.seen) {
      out += "; " + clock_time(s.at) + " connection " + std::to_string(s.connection) + ' ' +
             (s.answered ? std::to_string(s.status) : "no whole answer") +
             (s.accepted ? " taken" : " not taken");
      last = s.at;
    }
    if (d_.row) {
      out += "; " + std::string(name(d_.row->state)) + " at " + clock_time(d_.row->ended) +
             ", revision " + std::to_string(d_.row->revision);
      if (!d_.row->reason.empty()) out += " (" + d_.row->reason + ")";
      last = std::max(last, d_.row->ended);
    }
    out += "; " + std::to_string(d_.events) + " events, " + std::to_string(d_.dead_letters) +
           " copies";
    const WallTime first = d_.seen.empty() ? d_.published.at : d_.seen.front().at;
    for (const Disturbance& x : context_.disturbances) {
      if (x.from <= last && x.to >= first) out += "; " + x.fault + ' ' + clock_time(x.from);
    }
    return out;
  }

  const Tally& tally_;
  const AuditContext& context_;
  const Delivery& d_;
  std::string policy_;
  std::vector<Broken> found_{};
};

}  // namespace

std::vector<Broken> audit(const Tally& tally, const AuditContext& context) {
  std::vector<Broken> all;
  for (const auto& [ref, delivery] : tally.deliveries()) {
    for (Broken& b : Judge(tally, context, delivery).judge()) all.push_back(std::move(b));
  }
  for (const auto& [what, times] : tally.strangers())
    all.push_back({.promise = "nothing-else", .story = std::to_string(times) + " times: " + what});
  return all;
}

std::string broken_text(const std::vector<Broken>& broken, std::size_t max) {
  std::string out;
  for (std::size_t i = 0; i < std::min(max, broken.size()); ++i) {
    const Broken& b = broken[i];
    out += b.promise + ' ' + b.message_class + ' ' + b.key + ": " + b.story + '\n';
  }
  if (broken.size() > max) out += "and " + std::to_string(broken.size() - max) + " more\n";
  return out;
}

}  // namespace sendonce::cli
