#include "plugin/broker/nats/setup_plan.hpp"

#include <algorithm>
#include <array>

#include "plugin/broker/nats/consumer_check.hpp"
#include "plugin/core/subject.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

using std::chrono::hours;

constexpr Duration kOutcomesKept = hours(7 * 24);
constexpr Duration kDuplicateWindow = hours(1);  // outlives every repetition by the outbox
constexpr std::uint32_t kMaxWaiting = 512;

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

std::string nanoseconds(Duration duration) {
  return std::to_string(duration.count());
}

std::string_view name(Retention retention) {
  switch (retention) {
    case Retention::limits:
      return "limits";
    case Retention::work_queue:
      return "workqueue";
    case Retention::interest:
      return "interest";
  }
  return "?";
}

bool covered(const std::vector<std::string>& subjects, const std::string& subject) {
  return std::any_of(subjects.begin(), subjects.end(),
                     [&](const std::string& s) { return subject_covers(s, subject); });
}

// Collects the differences of one object and the request that removes them.
class ObjectPlan {
 public:
  ObjectPlan(SetupPlan& plan, std::string object) : plan_(plan), object_(std::move(object)) {}

  void refuse(std::string field, std::string from, std::string to, std::string text) {
    refused_ = true;
    add(ChangeAction::refuse, std::move(field), std::move(from), std::move(to), std::move(text));
  }
  void update(std::string field, std::string from, std::string to, std::optional<std::string> json,
              std::string text = {}) {
    patches_.emplace_back(field, std::move(json));
    add(ChangeAction::update, std::move(field), std::move(from), std::move(to), std::move(text));
  }
  void create(std::string field, std::string to, std::string json) {
    patches_.emplace_back(field, std::move(json));
    add(ChangeAction::create, std::move(field), {}, std::move(to), {});
  }
  // The object as it is there: `api` deletes it before the request that makes it anew.
  void remove(std::string api, std::string text) {
    remove_ = std::move(api);
    patches_.clear();
    add(ChangeAction::remove, {}, {}, {}, std::move(text));
  }
  // Set in the request, not worth a line.
  void also(std::string field, std::string json) {
    patches_.emplace_back(std::move(field), std::move(json));
  }
  // The request: `config` with what was collected, inside `wrap` where the API wants that.
  void finish(const std::string& api, const std::string& config, const std::string& stream = {}) {
    if (!differs_) return add(ChangeAction::none, {}, {}, {}, {});
    if (refused_) return;
    std::string body = patch_object(config, patches_);
    if (!stream.empty())
      body = "{\"stream_name\":" + json_text(stream) + ",\"config\":" + body + "}";
    if (!remove_.empty()) plan_.calls.push_back({.object = object_, .api = remove_, .body = {}});
    plan_.calls.push_back({.object = object_, .api = api, .body = std::move(body)});
  }

 private:
  void add(ChangeAction action, std::string field, std::string from, std::string to,
           std::string text) {
    differs_ = differs_ || action != ChangeAction::none;
    plan_.changes.push_back({.action = action,
                             .object = object_,
                             .field = std::move(field),
                             .from = std::move(from),
                             .to = std::move(to),
                             .text = std::move(text)});
  }

  SetupPlan& plan_;
  std::string object_;
  std::vector<MemberPatch> patches_{};
  std::string remove_{};
  bool differs_ = false;
  bool refused_ = false;
};

void create_stream(const DesiredStream& wanted, ObjectPlan& plan) {
  const std::string retention(name(wanted.retention));
  plan.create("subjects", joined(wanted.subjects), json_text(wanted.subjects));
  plan.create("retention", retention, json_text(retention));
  plan.create("storage", "file", "\"file\"");
  plan.create("num_replicas", std::to_string(wanted.replicas), std::to_string(wanted.replicas));
  if (wanted.max_age > Duration{})
    plan.create("max_age", duration_text(wanted.max_age), nanoseconds(wanted.max_age));
  if (wanted.duplicate_window > Duration{})
    plan.create("duplicate_window", duration_text(wanted.duplicate_window),
                nanoseconds(wanted.duplicate_window));
  plan.also("name", json_text(wanted.name));
  plan.also("description", json_text(wanted.description));
  plan.also("discard", "\"old\"");
  plan.finish("STREAM.CREATE." + wanted.name, "{}");
}

// The subjects it has and those it lacks; narrower ones make room for a wider one.
std::vector<std::string> with_subjects(const std::vector<std::string>& present,
                                       const std::vector<std::string>& wanted) {
  std::vector<std::string> subjects;
  for (const std::string& subject : present)
    if (!covered(wanted, subject)) subjects.push_back(subject);
  for (const std::string& subject : wanted)
    if (!covered(subjects, subject)) subjects.push_back(subject);
  return subjects;
}

void update_subjects(const DesiredStream& wanted, const StreamInfo& found, ObjectPlan& plan) {
  const bool complete =
      std::all_of(wanted.subjects.begin(), wanted.subjects.end(),
                  [&](const std::string& s) { return covered(found.subjects, s); });
  if (complete) return;
  const std::vector<std::string> subjects = with_subjects(found.subjects, wanted.subjects);
  plan.update("subjects", joined(found.subjects), joined(subjects), json_text(subjects));
}

void update_stream(const DesiredStream& wanted, const StreamInfo& found, ObjectPlan& plan) {
  if (found.mirror)
    plan.refuse("mirror", "yes", "no", "a mirror takes no subjects: name another stream");
  if (found.sealed) plan.refuse("sealed", "yes", "no", "a sealed stream stays so: name another");
  if (found.no_ack) plan.update("no_ack", "true", "false", "false");
  update_subjects(wanted, found, plan);
  const Duration window = found.max_age > Duration{}
                              ? std::min(wanted.duplicate_window, found.max_age)
                              : wanted.duplicate_window;
  if (found.duplicate_window < window)
    plan.update("duplicate_window", duration_text(found.duplicate_window), duration_text(window),
                nanoseconds(window));
  plan.finish("STREAM.UPDATE." + wanted.name, found.config);
}

bool holds_some(const StreamInfo* stream, const std::string& filter) {
  return stream != nullptr && stream->messages > 0 &&
         std::ranges::find(stream->without, filter) == stream->without.end();
}

// How the deliver policy of a new consumer is written; empty where it may not begin like this.
void add_start(const DesiredConsumer& wanted, const StreamInfo* stream, ObjectPlan& plan) {
  const bool holds = holds_some(stream, wanted.filter_subject);
  const bool queue = stream != nullptr && stream->retention == "workqueue";
  if (holds && !wanted.from) {
    plan.refuse("from", "", "",
                "stream " + wanted.stream + " holds " + std::to_string(stream->messages) +
                    " messages, some of class " + wanted.class_name +
                    (queue ? ", and is a work queue: let it begin with them (--from all), or purge "
                             "the subject first"
                           : ": say with --from where it begins: new, all or a time"));
    return;
  }
  // Without any, a work queue's consumer that begins with all messages begins with new ones.
  const StartFrom from = queue && !holds ? StartFrom{} : wanted.from.value_or(StartFrom{});
  switch (from.kind) {
    case StartFrom::Kind::beginning:
      plan.create("deliver_policy", "all", "\"all\"");
      return;
    case StartFrom::Kind::now:
      if (queue) break;
      plan.create("deliver_policy", "new", "\"new\"");
      return;
    case StartFrom::Kind::time:
      if (queue) break;
      plan.create("deliver_policy", "by_start_time", "\"by_start_time\"");
      plan.create("opt_start_time", rfc3339(from.time), json_text(rfc3339(from.time)));
      return;
  }
  plan.refuse("from", "", "",
              "stream " + wanted.stream +
                  " is a work queue, its consumers begin with all messages: use --from all, or "
                  "purge the subject first");
}

void create_consumer(const SetupRequest& request, const DesiredConsumer& wanted,
                     const StreamInfo* stream, SetupPlan& whole, ObjectPlan& plan) {
  const bool known = std::ranges::find(whole.adopted, wanted.class_name) != whole.adopted.end();
  if (wanted.adopt && !known) whole.adopted.push_back(wanted.class_name);
  const std::string description = with_ledger({}, request.ledger_id);
  add_start(wanted, stream, plan);
  plan.create("filter_subject", wanted.filter_subject, json_text(wanted.filter_subject));
  plan.create("description", description, json_text(description));
  plan.create("ack_policy", "explicit", "\"explicit\"");
  plan.create("ack_wait", duration_text(wanted.ack_wait), nanoseconds(wanted.ack_wait));
  plan.create("max_deliver", "-1", "-1");
  plan.create("max_ack_pending", std::to_string(wanted.max_ack_pending),
              std::to_string(wanted.max_ack_pending));
  plan.create("max_waiting", std::to_string(kMaxWaiting), std::to_string(kMaxWaiting));
  plan.also("durable_name", json_text(wanted.durable));
  plan.also("replay_policy", "\"instant\"");
  plan.finish("CONSUMER.DURABLE.CREATE." + wanted.stream + "." + wanted.durable, "{}",
              wanted.stream);
}

// False when it stays with the ledger it has.
bool update_owner(const SetupRequest& request, const DesiredConsumer& wanted,
                  const ConsumerInfo& found, SetupPlan& whole, ObjectPlan& plan) {
  const std::string_view owner = ledger_in(found.description);
  if (owner == request.ledger_id) return true;
  const std::string whose = owner.empty() ? "no ledger" : "ledger " + std::string(owner);
  if (!wanted.adopt) {
    plan.refuse("description", found.description, with_ledger(found.description, request.ledger_id),
                "it belongs to " + whose + ", this ledger is " + request.ledger_id +
                    "; if no other sidecar works on it, add --adopt " + wanted.class_name);
    return false;
  }
  const std::string description = with_ledger(found.description, request.ledger_id);
  plan.update("description", found.description, description, json_text(description),
              "taken over from " + whose +
                  ": messages stored until now whose key is unknown count as maybe sent");
  whole.adopted.push_back(wanted.class_name);
  return true;
}

// What the server changes in no consumer. A stream of interest forgets what waits for a consumer
// that is deleted, so there a person has to.
void refuse_unchangeable(const DesiredConsumer& wanted, const ConsumerInfo& found, bool interest,
                         ObjectPlan& plan) {
  const std::string again =
      interest
          ? "it cannot be changed, and deleting it loses what waits for it: let it drain, delete "
            "it and run setup again"
          : "it cannot be changed: --recreate " + wanted.class_name + " makes it anew";
  if (!found.deliver_subject.empty())
    plan.refuse("deliver_subject", found.deliver_subject, "", again);
  if (found.ack_policy != "explicit")
    plan.refuse("ack_policy", found.ack_policy, "explicit", again);
}

bool unchangeable(const ConsumerInfo& found) {
  return !found.deliver_subject.empty() || found.ack_policy != "explicit";
}

void update_consumer(const SetupRequest& request, const DesiredConsumer& wanted,
                     const ConsumerInfo& found, const StreamInfo* stream, SetupPlan& whole,
                     ObjectPlan& plan) {
  if (!update_owner(request, wanted, found, whole, plan)) {
    plan.finish({}, found.config);
    return;
  }
  if (unchangeable(found)) {
    const bool interest = stream != nullptr && stream->retention == "interest";
    if (wanted.recreate && !interest) {
      plan.remove("CONSUMER.DELETE." + wanted.stream + "." + wanted.durable,
                  "it cannot be changed, so it is made anew");
      create_consumer(request, wanted, stream, whole, plan);
      return;
    }
    refuse_unchangeable(wanted, found, interest, plan);
  }
  if (found.max_deliver != -1)
    plan.update("max_deliver", std::to_string(found.max_deliver), "-1", "-1");
  if (found.backoff) plan.update("backoff", "a list", "none", std::nullopt);
  if (found.several_filters) plan.update("filter_subjects", "several", "none", std::nullopt);
  if (found.several_filters || found.filter_subject != wanted.filter_subject)
    plan.update("filter_subject", found.filter_subject, wanted.filter_subject,
                json_text(wanted.filter_subject));
  if (found.headers_only) plan.update("headers_only", "true", "false", "false");
  // A backoff list has overwritten ack_wait with its first step.
  if (found.ack_wait != wanted.ack_wait || found.backoff)
    plan.update("ack_wait", duration_text(found.ack_wait), duration_text(wanted.ack_wait),
                nanoseconds(wanted.ack_wait));
  if (found.max_ack_pending != static_cast<std::int64_t>(wanted.max_ack_pending))
    plan.update("max_ack_pending", std::to_string(found.max_ack_pending),
                std::to_string(wanted.max_ack_pending), std::to_string(wanted.max_ack_pending));
  if (found.inactive_threshold > Duration{})
    plan.update("inactive_threshold", duration_text(found.inactive_threshold), "none",
                std::nullopt);
  plan.finish("CONSUMER.DURABLE.CREATE." + wanted.stream + "." + wanted.durable, found.config,
              wanted.stream);
}

}  // namespace

bool SetupPlan::refused() const {
  return std::any_of(changes.begin(), changes.end(),
                     [](const SetupChange& c) { return c.action == ChangeAction::refuse; });
}

SetupPlan plan_setup(const SetupRequest& wanted, const SetupPresent& present) {
  SetupPlan plan;
  for (const DesiredStream& stream : wanted.streams) {
    ObjectPlan object(plan, "stream " + stream.name);
    const auto found = present.streams.find(stream.name);
    if (found == present.streams.end())
      create_stream(stream, object);
    else
      update_stream(stream, found->second, object);
  }
  for (const DesiredConsumer& consumer : wanted.consumers) {
    ObjectPlan object(plan, "consumer " + consumer.stream + "/" + consumer.durable);
    const auto found = present.consumers.find({consumer.stream, consumer.durable});
    const auto stream = present.streams.find(consumer.stream);
    const StreamInfo* holds = stream == present.streams.end() ? nullptr : &stream->second;
    if (found == present.consumers.end())
      create_consumer(wanted, consumer, holds, plan, object);
    else
      update_consumer(wanted, consumer, found->second, holds, plan, object);
  }
  return plan;
}

std::vector<DesiredStream> desired_streams(const std::vector<DesiredConsumer>& consumers,
                                           const std::string& outcomes_stream,
                                           const std::string& dead_letter_stream) {
  std::vector<DesiredStream> streams;
  for (const DesiredConsumer& consumer : consumers) {
    auto found = std::find_if(streams.begin(), streams.end(),
                              [&](const DesiredStream& s) { return s.name == consumer.stream; });
    if (found == streams.end())
      found = streams.insert(
          found, {.name = consumer.stream,
                  .description = consumer.holds,
                  .retention = consumer.shared ? Retention::interest : Retention::work_queue});
    found->subjects = with_subjects(found->subjects, {consumer.filter_subject});
  }
  streams.push_back({.name = outcomes_stream,
                     .subjects = {"sendonce.outcome.>", "sendonce.device.>"},
                     .description = "what became of notifications",
                     .max_age = kOutcomesKept,
                     .duplicate_window = kDuplicateWindow});
  streams.push_back({.name = dead_letter_stream,
                     .subjects = {"sendonce.dlq.>"},
                     .description = "notifications that could not be sent",
                     .duplicate_window = kDuplicateWindow});
  return streams;
}

std::string_view name(ChangeAction action) {
  switch (action) {
    case ChangeAction::none:
      return "none";
    case ChangeAction::create:
      return "create";
    case ChangeAction::update:
      return "update";
    case ChangeAction::remove:
      return "remove";
    case ChangeAction::refuse:
      return "refuse";
  }
  return "?";
}

}  // namespace sendonce
