#include "plugin/module/operator_verbs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"
#include "plugin/module/admin_verbs.hpp"
#include "plugin/module/audit_verbs.hpp"

namespace sendonce {
namespace {

using Json = nlohmann::ordered_json;

template <class Items, class Name>
std::optional<std::uint16_t> index_of(const Items& items, std::string_view wanted, Name name) {
  const auto at = std::ranges::find(items, wanted, name);
  if (at == items.end()) return std::nullopt;
  return static_cast<std::uint16_t>(at - items.begin());
}

std::optional<std::uint16_t> class_index(const OperatorView& view, std::string_view name) {
  return index_of(view.classes, name,
                  [](const OperatorView::Class& c) { return std::string_view(c.name); });
}

// ---- rows --------------------------------------------------------------------------------------

struct FoundRow {
  std::uint16_t message_class = 0;
  std::unique_ptr<Row> row{};  // null: none
};

// In the class that is named, else in each.
Result<FoundRow> find_row(const OperatorView& view, EngineThread& engine, const std::string& of,
                          const Key& key) {
  if (!of.empty() && !class_index(view, of))
    return fail(Errc::invalid, "class: there is no [class." + of + "]");
  FoundRow found;
  for (std::size_t i = 0; i < view.classes.size() && found.row == nullptr; ++i) {
    if (!of.empty() && view.classes[i].name != of) continue;
    found.message_class = static_cast<std::uint16_t>(i);
    SO_TRY(Found answer,
           ask_ledger<Found>(engine, Find{.scope = ScopeIndex(found.message_class), .key = key}));
    found.row = std::move(answer.row);
  }
  return found;
}

// A deed without a row: of a letter that never had one.
Result<void> note_deed(const OperatorView& view, EngineThread& engine, Log& log,
                       const AdminRequest& request, AdminReply& reply) {
  SO_TRY(const std::string what, request.text("what"));
  SO_TRY(const std::string of, request.text_or("class", ""));
  SO_TRY(const Signature signature, signature_of(request, false));
  AuditEntry entry = audit_of(request, view.now);
  entry.object = what;
  entry.detail = "class " + of;
  entry.result = "done";
  // What it says is done next: first the ledger has it.
  SO_CHECK(ask_ledger<AuditNoted>(engine, NoteAudit{std::move(entry)}));
  log.warn("admin.decided", {{"class", of}, {"key", ""}, {"what", signed_text(what, signature)}});
  reply.result("{}");
  return {};
}

Result<void> show_row(const OperatorView& view, EngineThread& engine, const AdminRequest& request,
                      AdminReply& reply) {
  SO_TRY(const std::string text, request.text("key"));
  SO_TRY(const std::string of, request.text_or("class", ""));
  SO_TRY(const Key key, key_from(text));
  SO_TRY(const FoundRow found, find_row(view, engine, of, key));
  reply.result(found.row == nullptr
                   ? "{\"row\":null}"
                   : "{\"row\":" + row_json(view.classes[found.message_class].name, *found.row) +
                         "}");
  return {};
}

struct Deed {
  Resolve::As as = Resolve::As::accepted;
  std::string_view done{};  // in the text that is stored
  bool needs_reason = true;
};

Result<Deed> deed_of(const AdminRequest& request, bool force) {
  if (request.verb == "replay")
    return Deed{.as = Resolve::As::replay, .done = "replayed", .needs_reason = force};
  SO_TRY(const std::string as, request.text("as"));
  if (as == "accepted") return Deed{.as = Resolve::As::accepted, .done = "called accepted"};
  if (as == "failed") return Deed{.as = Resolve::As::failed, .done = "called failed"};
  if (as == "dropped") return Deed{.as = Resolve::As::drop, .done = "letter dropped"};
  if (as == "resend") return Deed{.as = Resolve::As::resend, .done = "to be resent"};
  return fail(Errc::invalid, "as: one of accepted, failed, resend, dropped");
}

Result<WallTime> not_after_of(const AdminRequest& request) {
  SO_TRY(const std::string text, request.text_or("not_after", ""));
  if (text.empty()) return WallTime::max();
  const auto time = parse_rfc3339(text);
  if (!time) return fail(Errc::invalid, "not_after: an RFC 3339 time is wanted");
  return *time;
}

Json resolved_json(const std::string& key, const std::string& of, const Resolved& r) {
  return {{"key", key},
          {"class", of},
          {"done", r.refused.empty()},
          {"refused", r.refused},
          {"state", name(r.state)},
          {"effect", name(r.effect)},
          {"revision", r.revision},
          {"deadline", r.deadline == WallTime{} ? Json(nullptr) : Json(rfc3339(r.deadline))}};
}

Result<void> resolve(const OperatorView& view, EngineThread& engine, Log& log,
                     const AdminRequest& request, AdminReply& reply) {
  SO_TRY(const std::string text, request.text("key"));
  SO_TRY(const std::string of, request.text_or("class", ""));
  SO_TRY(const bool force, request.flag_or("force", false));
  SO_TRY(const Deed deed, deed_of(request, force));
  SO_TRY(const Signature signature, signature_of(request, deed.needs_reason));
  SO_TRY(const WallTime not_after, not_after_of(request));
  SO_TRY(const Key key, key_from(text));
  SO_TRY(const FoundRow found, find_row(view, engine, of, key));
  const OperatorView::Class& c = view.classes[found.message_class];
  const std::string note = signed_text(deed.done, signature);
  AuditEntry entry = audit_of(request, view.now);
  entry.object = text;
  entry.detail = std::string(deed.done) + (force ? " by force" : "") + ", class " + c.name;
  SO_TRY(const Resolved done,
         ask_ledger<Resolved>(engine, Resolve{.scope = ScopeIndex(found.message_class),
                                              .key = key,
                                              .as = deed.as,
                                              .force = force,
                                              .expires = c.expires,
                                              .not_after = not_after,
                                              .retention = c.retention,
                                              .text = note,
                                              .audit = std::move(entry)}));
  if (done.refused.empty())
    log.warn("admin.decided", {{"class", c.name}, {"key", short_key(key)}, {"what", note}});
  reply.result(
      resolved_json(text, c.name, done).dump(-1, ' ', false, Json::error_handler_t::replace));
  return {};
}

// ---- pauses ------------------------------------------------------------------------------------

struct Place {
  Pausable what = Pausable::message_class;
  std::uint16_t index = 0;
};

Result<Place> place_of(const OperatorView& view, const std::string& name, const std::string& kind) {
  const auto c = kind == "provider" ? std::nullopt : class_index(view, name);
  const auto p = kind == "class"
                     ? std::nullopt
                     : index_of(view.providers, name, [](const OperatorView::Provider& q) {
                         return std::string_view(q.name);
                       });
  if (c && p)
    return fail(Errc::invalid,
                "name: " + name + " is a class and a provider: say which with --kind");
  if (c) return Place{Pausable::message_class, *c};
  if (p) return Place{Pausable::provider, *p};
  return fail(Errc::invalid, "name: there is no class or provider " + name);
}

void set_pause(Engine& engine, const Place& place, const std::string& reason) {
  if (place.what == Pausable::message_class)
    engine.pause(ClassIndex(place.index), reason);
  else
    engine.pause(ProviderIndex(place.index), reason);
}

Result<void> pause(const OperatorView& view, EngineThread& engine, Pauses& pauses, Log& log,
                   const AdminRequest& request, AdminReply& reply) {
  const bool rest = request.verb == "pause";
  SO_TRY(const std::string name, request.text("name"));
  SO_TRY(const std::string kind, request.text_or("kind", ""));
  SO_TRY(const Signature signature, signature_of(request, rest));
  SO_TRY(const Place place, place_of(view, name, kind));
  // First the file, then the engine: a pause that was confirmed holds after a crash, too.
  const std::string note = rest ? signed_text("", signature).substr(1) : std::string();
  SO_CHECK(pauses.set(place.what, name, note));
  const auto done = engine.run([&](Engine& e) { set_pause(e, place, note); }, kEngineWithin);
  AuditEntry entry = audit_of(request, view.now);
  entry.object = place.what == Pausable::message_class ? "class " : "provider ";
  entry.object += name;
  entry.result = done ? "done" : "kept for the next start";
  keep_audit(engine, log, std::move(entry));
  if (!done)
    return fail(done.error().code,
                "the engine did not get to it in time; it is kept for the next start: ask again");
  log.warn(rest ? "admin.paused" : "admin.resumed",
           {{"name", name}, {"what", signed_text(request.verb, signature)}});
  reply.result(Json{
      {"name", name},
      {"kind", place.what == Pausable::message_class ? "class" : "provider"},
      {"paused",
       rest}}.dump());
  return {};
}

}  // namespace

Result<Signature> signature_of(const AdminRequest& request, bool needed) {
  Signature out;
  SO_TRY(out.by, request.text("by"));
  SO_TRY(out.reason, request.text_or("reason", ""));
  if (out.by.empty()) return fail(Errc::invalid, "by: who decides must be named");
  if (needed && out.reason.empty())
    return fail(Errc::invalid, "reason: a decision like this needs one (--reason TEXT)");
  return out;
}

std::string signed_text(std::string_view deed, const Signature& signature) {
  std::string out(deed);
  out += " by " + signature.by;
  if (!signature.reason.empty()) out += ": " + signature.reason;
  return out;
}

OperatorView operator_view(const Config& config, WallTime now) {
  OperatorView view;
  view.now = now;
  for (const ClassConfig& c : config.classes)
    view.classes.push_back({.name = c.name, .expires = c.expires, .retention = c.retention});
  for (const ProviderConfig& p : config.providers)
    view.providers.push_back({.name = p.name, .kind = std::string(name(p.kind))});
  return view;
}

bool is_operator_verb(std::string_view verb) {
  return verb == "row" || verb == "note" || verb == "resolve" || verb == "replay" ||
         verb == "pause" || verb == "resume";
}

Result<void> operate(const OperatorView& view, EngineThread& engine, Pauses& pauses, Log& log,
                     const AdminRequest& request, AdminReply& reply) {
  if (request.verb == "row") return show_row(view, engine, request, reply);
  if (request.verb == "note") return note_deed(view, engine, log, request, reply);
  if (request.verb == "resolve" || request.verb == "replay")
    return resolve(view, engine, log, request, reply);
  return pause(view, engine, pauses, log, request, reply);
}

void apply_pauses(const Config& config, const Pauses& pauses, Engine& engine) {
  const OperatorView view = operator_view(config, {});
  for (const auto& [name, reason] : pauses.classes())
    if (const auto c = class_index(view, name)) engine.pause(ClassIndex(*c), reason);
  for (const auto& [name, reason] : pauses.providers())
    if (const auto p = place_of(view, name, "provider"))
      engine.pause(ProviderIndex(p->index), reason);
}

}  // namespace sendonce
