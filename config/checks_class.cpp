// Checks of classes.
#include <algorithm>

#include "config/checks.hpp"
#include "config/collapse.hpp"
#include "config/quantity.hpp"
#include "config/recipe.hpp"
#include "plugin/core/subject.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

std::string field_of(const ClassConfig& of, std::string_view key) {
  return "class." + of.name + "." + std::string(key);
}

// The longest that all waits between the attempts can add up to.
Duration longest_waits(const RetryConfig& retry) {
  Duration sum{};
  double wait = static_cast<double>(retry.first.count());
  const auto cap = static_cast<double>(retry.cap.count());
  for (std::uint32_t i = 1; i < retry.attempts; ++i) {
    sum += Duration(static_cast<Duration::rep>(std::min(wait, cap)));
    if (sum > retry.horizon) break;  // enough to know, and far from any overflow
    wait = std::min(wait * retry.factor, cap);
  }
  return sum;
}

void judge_recipe_of(const CheckInput& in, Findings& out, const std::string& field,
                     const std::vector<std::string>& recipe) {
  for (RecipeFault& fault : judge_recipe(recipe))
    out.push_back({fault.severity, in.positions.find(field), field, std::move(fault.text),
                   std::move(fault.remedy)});
}

}  // namespace

void check_claims(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    const Duration least = longest_call(in.config, c) + kClaimSlack;
    if (c.claim >= least) continue;
    report_error(in, out, field_of(c, "claim"),
                 duration_text(c.claim) + " can end before the attempt does, whose call may take " +
                     duration_text(least - kClaimSlack),
                 "make it at least \"" + duration_text(least) + "\" or shorten call.total");
  }
}

void check_ack_wait(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    const Duration least = c.claim + kClockSlack;
    if (c.ack_wait >= least) continue;
    report_warning(in, out, field_of(c, "ack_wait"),
                   duration_text(c.ack_wait) + " lets a redelivery meet a claim of " +
                       duration_text(c.claim) + " that still holds; it will wait in vain",
                   "make it at least \"" + duration_text(least) + "\"");
  }
}

void check_expires(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    const Duration call = longest_call(in.config, c);
    if (c.expires > c.retention)
      report_error(in, out, field_of(c, "expires"),
                   duration_text(c.expires) + " is longer than the ledger remembers (retention = " +
                       duration_text(c.retention) + ")",
                   "shorten it or make retention longer");
    if (c.expires < call)
      report_error(in, out, field_of(c, "expires"),
                   duration_text(c.expires) + " is shorter than one call of " + duration_text(call),
                   "make it longer, or shorten call.total");
  }
}

void check_retention(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    // No repeat starts after the deadline, whatever the horizon says.
    const Duration repeats = std::min(c.retry.horizon, c.expires);
    const Duration least = repeats + std::max(c.replay, c.expires) + kClockSlack;
    if (c.retention >= least) continue;
    report_error(in, out, field_of(c, "retention"),
                 duration_text(c.retention) +
                     " forgets a send while it can still be repeated: " + duration_text(repeats) +
                     " of retries and " + duration_text(std::max(c.replay, c.expires)) + " of " +
                     (c.replay > c.expires ? "replay" : "redelivery (expires)"),
                 "make it at least \"" + duration_text(least) + "\"");
  }
}

void check_pending(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    if (c.max_ack_pending >= c.in_flight) continue;
    report_error(in, out, field_of(c, "max_ack_pending"),
                 std::to_string(c.max_ack_pending) + " is less than in_flight = " +
                     std::to_string(c.in_flight) + ", which could never be reached",
                 "make it at least in_flight, better ten times as much");
  }
}

void check_retry(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    if (c.retry.first > c.retry.cap)
      report_error(in, out, field_of(c, "retry.first"),
                   duration_text(c.retry.first) +
                       " is longer than retry.cap = " + duration_text(c.retry.cap),
                   "shorten it or make the cap longer");
    const std::string horizon = field_of(c, "retry.horizon");
    if (longest_waits(c.retry) > c.retry.horizon)
      report_error(in, out, horizon,
                   duration_text(c.retry.horizon) + " is too short for " +
                       std::to_string(c.retry.attempts) + " attempts with their waits",
                   "make it longer, or choose fewer attempts or shorter waits");
    // The default is meant to be cut short by the deadline.
    if (in.positions.given(horizon) && c.retry.horizon > c.expires)
      report_warning(
          in, out, horizon,
          duration_text(c.retry.horizon) + " is cut short by expires = " + duration_text(c.expires),
          "make it at most as long");
  }
}

void check_keys(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    judge_recipe_of(in, out, field_of(c, "key"), c.key);
    if (c.key_previous.empty()) continue;
    const std::string previous = field_of(c, "key_previous");
    if (c.key_previous == c.key)
      report_error(in, out, previous, "is the same recipe as key",
                   "name the old recipe, or leave it out");
    else
      judge_recipe_of(in, out, previous, c.key_previous);
  }
}

void check_collapse(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    if (c.collapse.empty()) continue;
    const std::string field = field_of(c, "collapse");
    const auto parts = parse_collapse(c.collapse);
    if (!parts) {
      report_error(in, out, field, parts.error().text, parts.error().remedy);
    } else if (shortest_expansion(*parts) > kCollapseBytesMax) {
      report_error(in, out, field,
                   "always longer than the " + std::to_string(kCollapseBytesMax) +
                       " bytes that providers take",
                   "shorten its fixed text");
    }
  }
}

void check_subjects(const CheckInput& in, Findings& out) {
  const std::vector<ClassConfig>& classes = in.config.classes;
  for (auto c = classes.begin(); c != classes.end(); ++c) {
    const std::string field = field_of(*c, "subject");
    if (!valid_subject_filter(c->subject) || c->subject.starts_with('$')) {
      report_error(in, out, field, "not a subject that can be consumed",
                   "write words joined by dots, * for any one word, > for the rest, for example "
                   "notify.otp.>");
      continue;
    }
    if (subjects_overlap(c->subject, kOutgoing))
      report_error(in, out, field, "takes in the events that this process publishes itself",
                   "keep clear of sendonce.>");
    for (auto other = classes.begin(); other != c; ++other) {
      if (!valid_subject_filter(other->subject) || !subjects_overlap(c->subject, other->subject))
        continue;
      report_error(in, out, field,
                   "some subjects belong to class " + other->name + " too (" +
                       to_text(in.positions.find(field_of(*other, "subject"))) + ")",
                   "make the two filters disjoint: a message must have one class");
    }
  }
}

void check_scopes(const CheckInput& in, Findings& out) {
  const std::vector<ClassConfig>& classes = in.config.classes;
  for (auto c = classes.begin(); c != classes.end(); ++c) {
    const auto other = std::find_if(classes.begin(), c, [&](const ClassConfig& earlier) {
      return earlier.key_scope == c->key_scope;
    });
    if (other == c) continue;
    report_error(in, out, field_of(*c, "key_scope"),
                 "\"" + c->key_scope + "\" is the scope of class " + other->name + " too (" +
                     to_text(in.positions.find(field_of(*other, "key_scope"))) + ")",
                 "give each class its own: it names one table and one consumer");
  }
}

}  // namespace sendonce
