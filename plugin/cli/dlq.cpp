// dlq: dead letters, looked at, sent once more through the ledger, or thrown away.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include <sysexits.h>

#include "config/credentials.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/letter_desk.hpp"
#include "plugin/cli/letters.hpp"
#include "plugin/cli/operator.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/core/subject.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/replay.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

// A connection and the stream, for one command.
struct Desk {
  Config config{};
  std::unique_ptr<Publisher> client{};
  std::unique_ptr<LetterBox> box{};
};

Result<Desk> desk_of(Config config, ConnectionOptions connection) {
  SO_TRY(auto client, Publisher::connect(std::move(connection)));
  Desk desk{.config = std::move(config), .client = std::move(client)};
  desk.box = std::make_unique<LetterBox>(
      *desk.client, js_api_prefix(desk.config.nats.domain, desk.config.nats.api_prefix),
      desk.config.nats.dead_letter_stream);
  return desk;
}

// Empty: standard error says why, and `code` is what to end with.
std::optional<Desk> open_desk(const Common& common, int& code) {
  auto config = load(common.config, Surroundings::ignore);
  if (!config) {
    code = EX_CONFIG;
    return std::nullopt;
  }
  auto connection = connection_of(*config, credentials_directory());
  if (!connection) {
    code = failed_config(connection.error());
    return std::nullopt;
  }
  auto desk = desk_of(std::move(*config), std::move(*connection));
  if (!desk) {
    code = failed(desk.error());
    return std::nullopt;
  }
  return std::move(*desk);
}

// The letters that the options name, oldest first. False of the visitor ends it.
Result<void> each(const Desk& desk, const DlqOptions& options,
                  const std::function<bool(const Letter&)>& visit) {
  if (!options.sequences.empty()) {
    for (const std::uint64_t sequence : options.sequences) {
      SO_TRY(const auto letter, desk.box->at(sequence));
      if (!letter)
        return fail(Errc::invalid, "there is no letter " + std::to_string(sequence) +
                                       " on stream " + desk.config.nats.dead_letter_stream);
      if (!visit(*letter)) return {};
    }
    return {};
  }
  for (std::uint64_t from = 1;;) {
    SO_TRY(const auto letter, desk.box->next(from, options.message_class));
    if (!letter || !visit(*letter)) return {};
    from = letter->sequence + 1;
  }
}

// The row of a letter as the daemon has it; null: it has none, or nobody knows.
Json row_of(const Config& config, const Letter& letter) {
  if (letter.key().empty()) return nullptr;
  const auto answer =
      ask_daemon(config, {.verb = "row",
                          .arguments = {{"key", std::string(letter.key())},
                                        {"class", std::string(letter.message_class())}}});
  return answer && answer->contains("row") ? (*answer)["row"] : Json(nullptr);
}

std::string state_in(const Json& row) {
  return row.is_object() ? row.value("state", "-") : "-";
}

Json letter_json(const Letter& l, const Json& row) {
  return {{"sequence", l.sequence},
          {"stored_at", l.stored_at},
          {"class", l.message_class()},
          {"reason", l.reason()},
          {"key", l.key()},
          {"conflict", l.is_conflict()},
          {"subject", l.header("Sendonce-Original-Subject")},
          {"bytes", l.body.size()},
          {"row_state", state_in(row)}};
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// ---- replay -------------------------------------------------------------------------------------

// Headers that are the letter's own stay behind; those that would act on a stream, too. The message
// is for the letter's target alone: others may be forgotten by now. One that could not be decoded
// is for all of them, unless it was a replay itself.
MessageHeaders replayed_headers(const Letter& letter) {
  MessageHeaders out;
  for (const auto& [name, value] : letter.headers)
    if (is_replay_header(name) || (!name.starts_with("Sendonce-") && !name.starts_with("Nats-")))
      out.emplace_back(name, value);
  if (!letter.key().empty()) out.emplace_back(kReplayHeader, letter.key());
  return out;
}

bool is_report(const Config& config, const Letter& letter) {
  return letter.message_class() == kReportsLane &&
         subject_covers(config.devices.reports, letter.header("Sendonce-Original-Subject"));
}

// Why it can never be published again; empty: it can.
std::string unfit(const Config& config, const Letter& letter) {
  if (letter.is_conflict())
    return "its key belongs to another content, which stays: publish it with an event_id of its "
           "own";
  if (!letter.has_body())
    return "its body was too large for the dead-letter stream and is not here";
  const std::string subject(letter.header("Sendonce-Original-Subject"));
  const bool taken = std::ranges::any_of(config.classes, [&](const ClassConfig& c) {
    return c.name == letter.message_class() && subject_covers(c.subject, subject);
  });
  if (!taken && !is_report(config, letter))
    return "no class takes its subject " + subject + " any more";
  if (is_report(config, letter) && !first_stored(letter))
    return "nobody knows any more when it was said: let the application publish the report anew";
  return {};
}

enum class Done : std::uint8_t { yes, refused, failed };

struct Outcome {
  Done done = Done::refused;
  std::string text{};
  std::string state{};  // of the row
  int code = EX_DATAERR;
};

Outcome failed_with(const Error& error) {
  return {.done = Done::failed, .text = error.text, .code = exit_code(error.code)};
}

// A connection that has lost an answer may have been lost with it.
Result<PubAck> publish_anew(const Desk& desk, const Publication& message) {
  SO_TRY(ConnectionOptions connection, connection_of(desk.config, credentials_directory()));
  SO_TRY(const auto client, Publisher::connect(std::move(connection)));
  return client->publish(message);
}

Outcome publish_again(const Desk& desk, const Letter& letter, std::string body, std::string id) {
  const Publication message{.subject = std::string(letter.header("Sendonce-Original-Subject")),
                            .message_id = std::move(id),
                            .headers = replayed_headers(letter),
                            .body = std::move(body)};
  bool first = true;
  const auto stored = publish_surely([&] {
    if (std::exchange(first, false)) return desk.client->publish(message);
    note("letter " + std::to_string(letter.sequence) + ": not confirmed, published once more");
    return publish_anew(desk, message);
  });
  if (!stored) {
    Outcome out = failed_with(stored.error());
    out.text +=
        "; run the same command again, without --force: what has been sent meanwhile is refused";
    return out;
  }
  return {.done = Done::yes,
          .text = stored->duplicate ? "was published already"
                                    : "published as message " + std::to_string(stored->seq) +
                                          " of stream " + stored->stream,
          .code = EX_OK};
}

// A report says the same as on the day when it was published first.
std::string replayed_body(const Desk& desk, const Letter& letter) {
  const auto stored = first_stored(letter);
  return is_report(desk.config, letter) && stored ? with_report_time(letter.body, *stored)
                                                  : letter.body;
}

// A message that never had a row: the ledger sees it for the first time.
Outcome replay_undecodable(const Desk& desk, const Letter& letter, const DlqOptions& options) {
  // What an earlier replay of it has sent would be forgotten by now.
  const auto c = std::ranges::find(desk.config.classes, letter.message_class(), &ClassConfig::name);
  const auto stored = parse_rfc3339(letter.stored_at);
  const bool forgotten = c != desk.config.classes.end() && stored &&
                         *stored + c->retention < make_system_clock()->wall();
  if (!options.force && forgotten)
    return {.text =
                "it is older than the ledger remembers a replay of it; --force --reason TEXT "
                "sends it all the same"};
  std::string body = replayed_body(desk, letter);
  if (is_report(desk.config, letter) && body.empty()) return {.text = "its body is no report"};
  const std::string sequence = std::to_string(letter.sequence);
  const auto noted =
      ask_daemon(desk.config, {.verb = "note",
                               .arguments = {{"what", "letter " + sequence + " replayed"},
                                             {"class", std::string(letter.message_class())},
                                             {"by", operator_name()},
                                             {"reason", options.reason}}});
  if (!noted) return failed_with(noted.error());
  std::string id(letter.header("Nats-Msg-Id"));
  id += ".replay." + sequence;
  return publish_again(desk, letter, std::move(body), std::move(id));
}

// First the row is opened again, then the message published: the other way round it would be taken
// for a duplicate. Its id holds the row's revision, so that a repeat of this is stored once.
Outcome replay_one(const Desk& desk, const Letter& letter, const DlqOptions& options) {
  if (std::string why = unfit(desk.config, letter); !why.empty()) return {.text = std::move(why)};
  if (letter.key().empty()) return replay_undecodable(desk, letter, options);
  // Looked at before the row is opened: a row without a message would wait for nothing.
  if (with_expiry(letter.body, WallTime{}).empty()) return {.text = "its body is no envelope"};
  AdminRequest request{.verb = "replay",
                       .arguments = {{"key", std::string(letter.key())},
                                     {"class", std::string(letter.message_class())},
                                     {"force", options.force},
                                     {"by", operator_name()},
                                     {"reason", options.reason}}};
  if (const auto expiry = expiry_of(letter.body))
    request.arguments.emplace_back("not_after", rfc3339(*expiry));
  const auto answer = ask_daemon(desk.config, request);
  if (!answer) return failed_with(answer.error());
  if (!answer->value("done", false))
    return {.text = answer->value("refused", "") +
                    (options.force ? "" : "; --force --reason TEXT sends it all the same")};
  const auto deadline = parse_rfc3339(answer->value("deadline", ""));
  if (!deadline) return failed_with({Errc::corrupt, "the daemon's answer names no deadline"});
  std::string body = with_expiry(letter.body, *deadline);
  std::string id(letter.key());
  id += ".replay." + std::to_string(answer->value("revision", std::uint32_t{0}));
  return publish_again(desk, letter, std::move(body), std::move(id));
}

// ---- drop ---------------------------------------------------------------------------------------

// First the ledger has it, then the letter goes.
Outcome drop_one(const Desk& desk, const Letter& letter, const DlqOptions& options) {
  const bool of_row = !letter.key().empty() && !letter.is_conflict();
  AdminRequest request{.verb = of_row ? "resolve" : "note",
                       .arguments = {{"class", std::string(letter.message_class())},
                                     {"by", operator_name()},
                                     {"reason", options.reason}}};
  if (of_row) {
    request.arguments.emplace_back("key", std::string(letter.key()));
    request.arguments.emplace_back("as", "dropped");
  } else {
    request.arguments.emplace_back("what",
                                   "letter " + std::to_string(letter.sequence) + " dropped");
  }
  const auto answer = ask_daemon(desk.config, request);
  if (!answer) return failed_with(answer.error());
  const bool open = of_row && !answer->value("done", false) && answer->value("revision", 0) > 0;
  if (open)
    return {.text = answer->value("refused", "") + ": it would be needed if it fails again"};
  if (const auto removed = desk.box->remove(letter.sequence); !removed)
    return failed_with(removed.error());
  return {.done = Done::yes, .text = "dropped", .code = EX_OK};
}

// One line a letter; the exit code is that of the first one that was not done.
int work_through(const Common& common, const DlqOptions& options,
                 const std::function<Outcome(const Desk&, const Letter&)>& work) {
  int code = EX_OK;
  const auto desk = open_desk(common, code);
  if (!desk) return code;
  std::vector<Letter> letters;  // first all, then the work: a replay may make new ones
  const auto read = each(*desk, options, [&](const Letter& letter) {
    letters.push_back(letter);
    return true;
  });
  if (!read) return failed(read.error());
  for (const Letter& letter : letters) {
    const Outcome outcome = work(*desk, letter);
    if (code == EX_OK && outcome.done != Done::yes) code = outcome.code;
    if (common.json) {
      std::printf("%s\n", dump({{"sequence", letter.sequence},
                                {"key", letter.key()},
                                {"done", outcome.done == Done::yes},
                                {"text", outcome.text}})
                              .c_str());
    } else if (outcome.done == Done::yes) {
      std::printf("letter %llu: %s\n", static_cast<unsigned long long>(letter.sequence),
                  outcome.text.c_str());
    } else {
      note("letter " + std::to_string(letter.sequence) + ": " + outcome.text);
    }
  }
  if (letters.empty()) note("there are no dead letters");
  return code;
}

// Which letters, said in one way; not empty: what is wrong with it.
std::string which_of(const DlqOptions& options) {
  if (options.sequences.empty() && !options.all) return "name letters by their numbers, or --all";
  if (!options.sequences.empty() && options.all) return "--all, or numbers: not both";
  return {};
}

}  // namespace

int dlq_list(const Common& common, const DlqOptions& options) {
  int code = EX_OK;
  const auto desk = open_desk(common, code);
  if (!desk) return code;
  Table table({"letter", "stored", "class", "reason", "key", "row"});
  std::int64_t shown = 0;
  const auto read = each(*desk, options, [&](const Letter& l) {
    if (shown++ == options.limit) return false;
    const Json row = row_of(desk->config, l);
    if (common.json)
      std::printf("%s\n", dump(letter_json(l, row)).c_str());
    else
      table.add({std::to_string(l.sequence), l.stored_at.substr(0, 19),
                 std::string(l.message_class()), std::string(l.reason()).substr(0, 40),
                 std::string(l.key()).substr(0, 16), state_in(row)});
    return true;
  });
  if (!read) return failed(read.error());
  if (!common.json) std::printf("%s", table.text().c_str());
  if (shown > options.limit)
    note("the first " + std::to_string(options.limit) + ", there are more: raise --limit");
  return EX_OK;
}

int dlq_show(const Common& common, const DlqOptions& options) {
  int code = EX_OK;
  const auto desk = open_desk(common, code);
  if (!desk) return code;
  const auto read = each(*desk, options, [&](const Letter& l) {
    const Json row = row_of(desk->config, l);
    Json json = letter_json(l, row);
    json["row"] = row;
    if (options.payload) json["payload"] = l.body;
    std::printf("%s\n", common.json
                            ? dump(json).c_str()
                            : json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return true;
  });
  return read ? EX_OK : failed(read.error());
}

int dlq_replay(const Common& common, const DlqOptions& options) {
  if (const std::string wrong = which_of(options); !wrong.empty())
    return usage_failed("dlq replay", wrong);
  if (options.force && options.reason.empty())
    return usage_failed("dlq replay", "--force needs --reason TEXT");
  return work_through(common, options, [&](const Desk& desk, const Letter& letter) {
    return replay_one(desk, letter, options);
  });
}

int dlq_drop(const Common& common, const DlqOptions& options) {
  if (const std::string wrong = which_of(options); !wrong.empty())
    return usage_failed("dlq drop", wrong);
  return work_through(common, options, [&](const Desk& desk, const Letter& letter) {
    return drop_one(desk, letter, options);
  });
}

// ---- for the page -------------------------------------------------------------------------------

namespace {

Result<Desk> open_desk(const Config& config) {
  SO_TRY(ConnectionOptions connection, connection_of(config, credentials_directory()));
  return desk_of(config, std::move(connection));
}

}  // namespace

Result<std::string> letters_json(const Config& config, std::uint64_t from, std::int64_t limit) {
  SO_TRY(const Desk desk, open_desk(config));
  SO_TRY(const std::uint64_t depth, desk.box->depth());
  Json items = Json::array();
  bool more = false;
  while (limit > 0) {
    SO_TRY(const auto letter, desk.box->next(from, ""));
    if (!letter) break;
    more = items.size() == static_cast<std::size_t>(limit);
    if (more) break;
    items.push_back(letter_json(*letter, row_of(desk.config, *letter)));
    from = letter->sequence + 1;
  }
  return dump({{"items", std::move(items)}, {"depth", depth}, {"more", more}});
}

Result<std::string> replay_json(const Config& config, std::uint64_t sequence, bool force,
                                const std::string& reason) {
  SO_TRY(const Desk desk, open_desk(config));
  SO_TRY(const auto letter, desk.box->at(sequence));
  if (!letter) return fail(Errc::invalid, "there is no letter " + std::to_string(sequence));
  const Outcome outcome = replay_one(desk, *letter, {.force = force, .reason = reason});
  return dump(
      {{"sequence", sequence}, {"done", outcome.done == Done::yes}, {"text", outcome.text}});
}

}  // namespace sendonce::cli
