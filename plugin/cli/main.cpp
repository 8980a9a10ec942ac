// `sendonce`: the operator's command line. This file binds commands.hpp to CLI11 and holds no
// logic.
#include <cstdlib>
#include <exception>
#include <functional>

#include <CLI/CLI.hpp>
#include <sysexits.h>

#include "plugin/cli/commands.hpp"
#include "plugin/cli/completion.hpp"
#include "plugin/cli/credential_store.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/cli/usage.hpp"

namespace sendonce::cli {
namespace {

// Options live as long as the parser; the chosen command is run after parsing.
struct Commands {
  Common common{};
  CheckConfigOptions check_config{};
  DoctorOptions doctor{};
  SetupOptions setup{};
  PublishOptions publish{};
  RowsOptions rows{};
  LedgerCliOptions ledger{};
  KeyOptions key{};
  DlqOptions dlq{};
  ResolveOptions resolve{};
  PauseOptions pause{};
  DeviceOptions device{};
  TailOptions tail{};
  ReloadOptions reload{};
  TopOptions top{};
  AuditOptions audit{};
  PageOptions page{};
  DemoOptions demo{};
  BenchOptions bench{};
  BenchLedgerOptions bench_ledger{};
  bool jsonl = false;
  std::vector<std::string> profiles{};  // classify
  std::string shell{};                  // completion
  std::function<int()> chosen{};
};

CLI::App* command(CLI::App& app, const char* name, const char* text, const char* example) {
  CLI::App* sub = app.add_subcommand(name, text);
  sub->footer(std::string("example: ") + example);
  return sub;
}

// What is wrong with it; empty: nothing. CLI11's own ranges take "nan".
std::string is_rate(const std::string& text) {
  char* end = nullptr;
  const double rate = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && *end == '\0';
  return whole && rate > 0 && rate <= 1e9 ? std::string() : "must be more than 0, at most 1e9";
}

void add_config_commands(CLI::App& app, Commands& c) {
  auto* check = command(app, "check-config", "Read the configuration and say what is wrong with it",
                        "sendonce check-config --print-effective");
  check->add_flag("--strict", c.check_config.strict, "Warnings count: exit 2");
  check->add_flag("--print-effective", c.check_config.print_effective,
                  "Print every key with its value");
  check->add_flag("--reference", c.check_config.reference, "Print the reference of all keys");
  check
      ->add_option("--rate", c.check_config.rate_per_second,
                   "Deliveries a second of a class without a rate, for the estimates")
      ->check(is_rate)
      ->capture_default_str();
  check->callback([&c] { c.chosen = [&c] { return check_config(c.common, c.check_config); }; });

  auto* make =
      command(app, "setup", "Make the ledger, streams and consumers; shows what it changes",
              "sendonce setup --dry-run");
  make->add_flag("--dry-run", c.setup.dry_run, "Show, change nothing");
  make->add_option(
      "--adopt", c.setup.adopt,
      "Take over the consumer of this class, or of the reports (devices), from another ledger");
  make->add_option("--recreate", c.setup.recreate,
                   "Delete the consumer of this class and make it anew, if it has settings that "
                   "cannot be changed");
  make->add_flag("--restored", c.setup.restored,
                 "The ledger is a copy that was put back: give it a new id and adopt every class");
  make->add_flag(
      "--accept-keys", c.setup.accept_keys,
      "Accept that keys are made in another way than before: older messages with unknown "
      "keys then count as maybe sent");
  make->add_option(
      "--from", c.setup.from,
      "Where a new consumer begins on a stream that holds messages: new, all or a time");
  make->callback([&c] { c.chosen = [&c] { return setup(c.common, c.setup); }; });
}

void add_doctor(CLI::App& app, Commands& c) {
  auto* d = command(app, "doctor",
                    "Look at everything that a delivery needs and print the command that repairs "
                    "what is wrong; changes nothing, sends no request to a provider",
                    "sendonce doctor --json");
  d->add_flag("--strict", c.doctor.strict, "Yellow lines count: exit 2");
  d->add_flag("--no-providers", c.doctor.no_providers, "Make no connection to a provider");
  d->callback([&c] { c.chosen = [&c] { return doctor(c.common, c.doctor); }; });
}

void add_message_commands(CLI::App& app, Commands& c) {
  auto* p = command(app, "publish", "Publish one notification event",
                    "sendonce publish otp --event login-1 --recipient user_42 --template code "
                    "--provider apns --token 8a1f... --title Code --body 123456");
  PublishOptions& o = c.publish;
  p->add_option("class", o.message_class, "Message class")->required();
  auto* file = p->add_option("--file", o.file, "A whole envelope, - for stdin")->type_name("FILE");
  p->add_option("--event", o.event, "event_id");
  p->add_option("--recipient", o.recipient, "recipient");
  p->add_option("--template", o.template_id, "template");
  p->add_option("--campaign", o.campaign, "campaign_id");
  p->add_option("--provider", o.provider,
                "Provider of the tokens. Numbers, addresses and URLs need none: the class's route "
                "has it");
  auto* token = p->add_option("--token", o.tokens, "Device token; may be repeated");
  auto* phone = p->add_option("--phone", o.phones, "Phone number, channel sms; may be repeated");
  auto* email = p->add_option("--email", o.emails, "Address, channel email; may be repeated");
  auto* url = p->add_option("--url", o.urls, "URL, channel webhook; may be repeated");
  phone->excludes(token);
  email->excludes(token)->excludes(phone);
  url->excludes(token)->excludes(phone)->excludes(email);
  p->add_option("--title", o.title, "notification.title");
  p->add_option("--body", o.body, "notification.body");
  p->add_option("--data", o.data, "notification.data member, NAME=VALUE; may be repeated");
  p->add_option("--expires-at", o.expires_at, "RFC 3339 time");
  for (const char* part :
       {"--event", "--recipient", "--template", "--campaign", "--provider", "--token", "--phone",
        "--email", "--url", "--title", "--body", "--data", "--expires-at"})
    file->excludes(part);
  p->add_option("--message-id", o.message_id, "Nats-Msg-Id");
  p->add_flag("--unchecked", o.unchecked,
              "Publish it even if it will be dead-lettered or suppressed");
  p->callback([&c] { c.chosen = [&c] { return publish(c.common, c.publish); }; });

  auto* k = command(app, "key", "Compute the delivery keys of an envelope",
                    "sendonce key otp --file envelope.json");
  k->add_option("class", c.key.message_class, "Message class")->required();
  k->add_option("--file", c.key.file, "The envelope, - for stdin")
      ->type_name("FILE")
      ->capture_default_str();
  k->callback([&c] { c.chosen = [&c] { return key(c.common, c.key); }; });

  auto* classify = command(app, "classify", "Classify recorded provider answers, one JSON a line",
                           "sendonce classify --jsonl < answers.jsonl");
  classify->add_flag("--jsonl", c.jsonl, "Lines of JSON from stdin to stdout")->required();
  classify
      ->add_option("--profile", c.profiles,
                   "A file with providers of kind http, or with answers of others; may be "
                   "repeated. The shipped profiles are known without")
      ->type_name("FILE");
  classify->callback([&c] { c.chosen = [&c] { return classify_jsonl(c.profiles); }; });
}

void add_row_commands(CLI::App& app, Commands& c) {
  auto* i = command(app, "inspect", "Tell the story of one key or of all rows of an event",
                    "sendonce inspect login-1");
  i->add_option("what", c.rows.what, "A key (64 hex digits) or an event_id")->required();
  auto* l = command(app, "list", "List rows of the ledger", "sendonce list --state unknown");
  l->add_option("--state", c.rows.state,
                "claimed, waiting, accepted, failed, unknown or suppressed");
  l->add_option("--recipient", c.rows.recipient, "Only of this recipient");
  for (auto* sub : {i, l}) {
    sub->add_option("--scope", c.rows.scope, "Only of this key scope");
    sub->add_option("--limit", c.rows.limit, "At most so many rows")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    sub->add_flag("--offline", c.rows.offline, "Read the ledger itself; no daemon may run");
  }
  i->callback([&c] { c.chosen = [&c] { return inspect(c.common, c.rows); }; });
  l->callback([&c] { c.chosen = [&c] { return list(c.common, c.rows); }; });
}

void add_ledger(CLI::App& app, Commands& c) {
  using Verb = LedgerCliOptions::Verb;
  auto* ledger = command(app, "ledger", "Look after the ledger as a whole", "sendonce ledger stat");
  ledger->require_subcommand(1);
  const auto verb = [&](const char* name, const char* text, const char* example, Verb which) {
    auto* sub = command(*ledger, name, text, example);
    sub->callback([&c, which] {
      c.ledger.verb = which;
      c.chosen = [&c] { return cli::ledger(c.common, c.ledger); };
    });
    return sub;
  };
  verb("stat", "How large it is", "sendonce ledger stat --json", Verb::stat);
  verb("verify", "Read every record and compare its checksum; also beside the daemon",
       "sendonce ledger verify /var/backups/sendonce", Verb::verify)
      ->add_option("directory", c.ledger.directory, "A backup, instead of the daemon's ledger");
  verb("backup", "Copy it as of one moment; also while the daemon sends",
       "sendonce ledger backup /var/backups/sendonce", Verb::backup)
      ->add_option("directory", c.ledger.directory, "To be made")
      ->required();
  verb("restore",
       "Put a backup back under a new id, where there is no ledger; the daemon is stopped",
       "sendonce ledger restore /var/backups/sendonce", Verb::restore)
      ->add_option("directory", c.ledger.directory, "The backup")
      ->required();
  verb("compact", "Give free pages back to the disk; the daemon is stopped",
       "sendonce ledger compact", Verb::compact);
  verb("export", "Print every row as JSON, one a line; also beside the daemon",
       "sendonce ledger export > rows.jsonl", Verb::export_rows)
      ->add_flag("--audit", c.ledger.audit, "What people have done, instead of the rows");
}

void add_dlq(CLI::App& app, Commands& c) {
  auto* dlq =
      command(app, "dlq", "Dead letters: look, send once more, throw away", "sendonce dlq list");
  dlq->require_subcommand(1);
  DlqOptions& o = c.dlq;
  auto* list = command(*dlq, "list", "List dead letters, oldest first; no payloads",
                       "sendonce dlq list --class orders");
  list->add_option("--limit", o.limit, "At most so many")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  auto* show = command(*dlq, "show", "Show a dead letter and its row", "sendonce dlq show 17");
  show->add_option("letter", o.sequences, "Its number, as list shows it")->required();
  show->add_flag("--payload", o.payload, "Its body too: it holds destinations and texts");
  auto* replay = command(*dlq, "replay",
                         "Publish letters again; the ledger lets each be sent at most once more",
                         "sendonce dlq replay 17");
  replay->add_flag("--force", o.force,
                   "Also what was sent or may have been: a person may get it twice");
  auto* drop = command(*dlq, "drop", "Throw letters away; the ledger keeps who and why",
                       "sendonce dlq drop 17 --reason 'test data'");
  for (auto* sub : {replay, drop}) {
    sub->add_option("letter", o.sequences, "Numbers, as list shows them");
    sub->add_flag("--all", o.all, "All of them, or all of --class");
  }
  for (auto* sub : {list, replay, drop})
    sub->add_option("--class", o.message_class, "Of this class");
  replay->add_option("--reason", o.reason, "Why; needed with --force");
  drop->add_option("--reason", o.reason, "Why")->required();
  list->callback([&c] { c.chosen = [&c] { return dlq_list(c.common, c.dlq); }; });
  show->callback([&c] { c.chosen = [&c] { return dlq_show(c.common, c.dlq); }; });
  replay->callback([&c] { c.chosen = [&c] { return dlq_replay(c.common, c.dlq); }; });
  drop->callback([&c] { c.chosen = [&c] { return dlq_drop(c.common, c.dlq); }; });
}

void add_decisions(CLI::App& app, Commands& c) {
  auto* r = command(app, "resolve", "Decide what became of an unknown delivery",
                    "sendonce resolve 3f9a... --as accepted --reason 'customer has it'");
  r->add_option("key", c.resolve.key, "64 hex digits, as list --json shows them")->required();
  r->add_option("--as", c.resolve.as,
                "accepted, failed, or resend: its event may be published and sent once more")
      ->check(CLI::IsMember({"accepted", "failed", "resend"}))
      ->required();
  r->add_option("--reason", c.resolve.reason, "Why; kept in the ledger")->required();
  r->add_option("--class", c.resolve.message_class, "Its class; default: each is asked");
  r->callback([&c] { c.chosen = [&c] { return resolve(c.common, c.resolve); }; });

  for (const bool rest : {true, false}) {
    auto* p = rest ? command(app, "pause", "Let a class or a provider rest, over restarts too",
                             "sendonce pause orders --reason 'wrong template'")
                   : command(app, "resume", "Let a paused class or provider go on",
                             "sendonce resume orders");
    p->add_option("name", c.pause.name, "Of the class or provider")->required();
    p->add_option("--kind", c.pause.kind, "Which, where both have the name")
        ->check(CLI::IsMember({"class", "provider"}));
    auto* why = p->add_option("--reason", c.pause.reason, "Why");
    if (rest) why->required();
    p->callback([&c, rest] { c.chosen = [&c, rest] { return pause(c.common, c.pause, rest); }; });
  }
}

void add_audit(CLI::App& app, Commands& c) {
  auto* a =
      command(app, "audit", "Show what people have done: who, when, what, why, and the result",
              "sendonce audit --since 2d");
  AuditOptions& o = c.audit;
  a->add_option("--since", o.since, "A time (RFC 3339), or how long ago, as \"2d\"");
  a->add_option("-o,--output", o.output, "table, json (one list) or jsonl (an object a line)")
      ->check(CLI::IsMember({"table", "json", "jsonl"}))
      ->capture_default_str();
  a->add_option("--limit", o.limit, "At most so many, the newest")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  a->add_flag("--offline", o.offline, "Read the ledger itself; no daemon may run");
  a->callback([&c] { c.chosen = [&c] { return audit(c.common, c.audit); }; });
}

void add_device(CLI::App& app, Commands& c) {
  auto* device = command(app, "device", "What the ledger remembers of devices",
                         "sendonce device list --state invalid");
  device->require_subcommand(1);
  DeviceOptions& o = c.device;
  auto* list = command(*device, "list", "List devices that are not simply active",
                       "sendonce device list --state invalid --json");
  list->add_option("--state", o.state, "invalid, mismatch, suspect or revoked");
  list->add_option("--limit", o.limit, "At most so many")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  auto* show = command(*device, "show", "Show one, by its hash or by its token on standard input",
                       "sendonce device show --provider apns < token.txt");
  auto* set =
      command(*device, "set", "Say what one is, by its hash or by its token on standard input",
              "sendonce device set 9c1f... --provider apns --state revoked --reason stolen");
  for (auto* sub : {show, set}) {
    sub->add_option("hash", o.hash,
                    "32 hex digits; without it a token, or a target as JSON, is read");
    auto* provider = sub->add_option("--provider", o.provider, "Its provider");
    if (sub == set) provider->required();
  }
  set->add_option("--state", o.state, "active, invalid, mismatch, suspect or revoked")
      ->check(CLI::IsMember({"active", "invalid", "mismatch", "suspect", "revoked"}))
      ->required();
  set->add_option("--reason", o.reason, "Why; told in the event")->required();
  list->callback([&c] { c.chosen = [&c] { return device_list(c.common, c.device); }; });
  show->callback([&c] { c.chosen = [&c] { return device_show(c.common, c.device); }; });
  set->callback([&c] { c.chosen = [&c] { return device_set(c.common, c.device); }; });
}

void add_live_commands(CLI::App& app, Commands& c) {
  auto* s = command(app, "status", "What the daemon is doing", "sendonce status --json");
  s->callback([&c] { c.chosen = [&c] { return status(c.common); }; });
  auto* r =
      command(app, "reload", "Let the daemon read its configuration again; waits for what it says",
              "sendonce reload --wait");
  r->add_option("--wait", c.reload.wait,
                "How long to wait for what the daemon says, as \"30s\"; it waits in any case")
      ->expected(0, 1)
      ->type_name("DURATION");
  r->add_option("--reason", c.reload.reason, "Why; kept in the audit");
  r->callback([&c] { c.chosen = [&c] { return reload(c.common, c.reload); }; });
  auto* top =
      command(app, "top", "Show what the daemon does, again and again", "sendonce top --once");
  top->add_option("--interval", c.top.interval, "Between two looks")
      ->type_name("DURATION")
      ->capture_default_str();
  top->add_flag("--once", c.top.once, "One look, an interval long");
  top->add_option("-o,--output", c.top.output, "text, or json: a line for each look")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  top->callback([&c] { c.chosen = [&c] { return cli::top(c.common, c.top); }; });
  auto* t = command(app, "tail", "Print what happens as it happens", "sendonce tail attempts");
  t->add_option("what", c.tail.what,
                "outcomes: events from their stream; attempts, log: lines of the daemon")
      ->check(CLI::IsMember({"outcomes", "attempts", "log"}))
      ->capture_default_str();
  t->add_option("--subject", c.tail.subject, "Subject; default: outcomes and device events");
  t->add_flag("--payloads", c.tail.payloads,
              "Print the bodies of other messages too: dead letters hold tokens and texts");
  t->add_option("--count", c.tail.count, "End after so many; 0: never")->capture_default_str();
  t->callback([&c] {
    c.chosen = [&c] {
      return c.tail.what == "outcomes" ? tail(c.common, c.tail) : follow(c.common, c.tail);
    };
  });
}

void add_page(CLI::App& app, Commands& c) {
  auto* p = command(app, "page",
                    "Show the daemon in a browser on this machine, until Ctrl-C; prints an address "
                    "that works once",
                    "sendonce page --port 8228");
  p->add_option("--port", c.page.port, "Of 127.0.0.1; 0: one that is free")->capture_default_str();
  p->callback([&c] { c.chosen = [&c] { return page(c.common, c.page); }; });
}

void add_demo(CLI::App& app, Commands& c) {
  auto* d = command(app, "demo",
                    "Run everything on this machine with faults and kill -9, and count the copies",
                    "sendonce demo --messages 3000 --kills 2");
  d->add_option("--messages", c.demo.messages, "Events to publish")->capture_default_str();
  d->add_option("--kills", c.demo.kills, "How often to kill the daemon")->capture_default_str();
  d->add_option("--seed", c.demo.seed, "Of the generated events")->capture_default_str();
  d->add_flag("--keep", c.demo.keep, "Keep logs, records and ledger");
  d->add_option("--sendonced", c.demo.sendonced, "The daemon; default: beside this program")
      ->type_name("FILE");
  d->add_option("--fakeprov", c.demo.fakeprov, "The fake provider; default: beside this program")
      ->type_name("FILE");
  d->callback([&c] { c.chosen = [&c] { return demo(c.common, c.demo); }; });
}

void add_bench_ledger(CLI::App& bench, Commands& c) {
  BenchLedgerOptions& o = c.bench_ledger;
  auto* ledger = command(bench, "ledger", "Durable claims and outcomes, empty and with many rows",
                         "sendonce bench ledger --rows 0,1000000");
  ledger->add_option("--rows", o.rows, "In the ledger before it is measured; 10 million take 3 GB")
      ->delimiter(',')
      ->capture_default_str();
  ledger->add_option("--batch", o.batch, "Claims a transaction, 1000 at most")
      ->capture_default_str();
  ledger->add_option("--seconds", o.seconds, "Of one measurement")->capture_default_str();
  ledger->add_option("--repeat", o.repeat, "Measurements each, in turns")->capture_default_str();
  ledger->add_option("--directory", o.directory, "On the file system to measure; default: here")
      ->type_name("DIR");
  ledger->add_flag("--keep", o.keep, "Leave the filled ledgers there for the next run");
  ledger->callback([&c] { c.chosen = [&c] { return bench_ledger(c.common, c.bench_ledger); }; });
}

void add_bench(CLI::App& app, Commands& c) {
  auto* bench = command(app, "bench", "Measure on this machine (docs/performance.md)",
                        "sendonce bench transport --json");
  bench->require_subcommand(1);
  add_bench_ledger(*bench, c);
  BenchOptions& o = c.bench;
  auto* transport = command(*bench, "transport", "The HTTP/2 sender against h2load",
                            "sendonce bench transport --requests 500000");
  auto* pipeline = command(*bench, "pipeline", "From the stream to the ack",
                           "sendonce bench pipeline --requests 100000");
  for (auto* sub : {transport, pipeline}) {
    sub->add_option("--requests", o.requests, "Requests a round")->capture_default_str();
    sub->add_option("--rounds", o.rounds, "Rounds, in turns with the reference")
        ->capture_default_str();
    sub->add_option("--connections", o.connections, "HTTP/2 connections")->capture_default_str();
    sub->add_option("--streams", o.streams, "Streams a connection")->capture_default_str();
    sub->add_option("--latency", o.latency_ms, "Of the fake provider, in ms")
        ->capture_default_str();
    sub->add_option("--fakeprov", o.fakeprov, "The fake provider; default: beside this program")
        ->type_name("FILE");
  }
  pipeline->add_option("--rate", o.rate, "Also publish so many a second to a daemon that waits")
      ->capture_default_str();
  pipeline->add_option("--directory", o.directory, "On the file system to measure; default: here")
      ->type_name("DIR");
  transport->callback([&c] { c.chosen = [&c] { return bench_transport(c.common, c.bench); }; });
  pipeline->callback([&c] { c.chosen = [&c] { return bench_pipeline(c.common, c.bench); }; });
}

void add_about(CLI::App& app, Commands& c) {
  auto* shells = command(app, "completion", "Print the completion of a shell",
                         "sendonce completion bash > /etc/bash_completion.d/sendonce");
  shells->add_option("shell", c.shell, "The shell; json: all commands and options as data")
      ->check(CLI::IsMember({"bash", "zsh", "fish", "json"}))
      ->required();
  shells->callback([&app, &c] {
    c.chosen = [&app, &c] {
      std::printf("%s", completion(app, c.shell).c_str());
      return EX_OK;
    };
  });
  auto* version = command(app, "version", "Print the version", "sendonce version");
  version->callback([&c] {
    c.chosen = [] {
      std::puts("sendonce " SENDONCE_VERSION);
      return EX_OK;
    };
  });
}

int run(int argc, char** argv) {
  Commands c;
  CLI::App app("sendonce: notifications from NATS JetStream, at most once per delivery key",
               "sendonce");
  app.set_version_flag("--version", "sendonce " SENDONCE_VERSION);
  app.add_option("-c,--config", c.common.config, "Configuration file")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_flag("--json", c.common.json, "Machine-readable output");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer("example: sendonce demo");
  add_config_commands(app, c);
  add_doctor(app, c);
  add_message_commands(app, c);
  add_row_commands(app, c);
  add_ledger(app, c);
  add_dlq(app, c);
  add_decisions(app, c);
  add_audit(app, c);
  add_device(app, c);
  add_live_commands(app, c);
  add_page(app, c);
  add_demo(app, c);
  add_bench(app, c);
  add_about(app, c);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return usage_failed(app, e);
  }
  const std::string name = app.get_subcommands().front()->get_name();
  const bool text_only = name == "setup" || name == "demo" || name == "version" ||
                         name == "reload" || name == "completion";
  if (c.common.json && text_only)
    return usage_failed(name, "--json: " + name + " prints text for people only");
  use_credential_store();
  return c.chosen();
}

}  // namespace
}  // namespace sendonce::cli

int main(int argc, char** argv) {
  try {
    return sendonce::cli::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sendonce: %s\n", e.what());
    return EX_SOFTWARE;
  }
}
