// The commands of `sendonce`: what main.cpp binds to the command line. Each returns an exit code of
// sysexits.h; errors go to stderr and name the remedy.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"

namespace sendonce::cli {

struct Common {
  std::string config = "/etc/sendonce/sendonce.toml";
  bool json = false;
};

struct CheckConfigOptions {
  bool strict = false;  // warnings count
  bool print_effective = false;
  bool reference = false;       // the reference of all keys, as Markdown
  double rate_per_second = 10;  // for the estimates of classes without a rate of their own
};
int check_config(const Common& common, const CheckConfigOptions& options);

struct DoctorOptions {
  bool strict = false;        // yellow lines count
  bool no_providers = false;  // the network behind NATS is left alone
};
int doctor(const Common& common, const DoctorOptions& options);

struct SetupOptions {
  bool dry_run = false;
  std::vector<std::string> adopt{};  // classes
  std::vector<std::string> recreate{};
  std::string from{};          // new, all or a time
  bool restored = false;       // the ledger is a copy that was put back
  bool accept_keys = false;    // a changed key recipe or app
  std::FILE* report = stdout;  // what is changed
};
int setup(const Common& common, const SetupOptions& options);

struct PublishOptions {
  std::string message_class{};
  std::string file{};  // an envelope, "-" for stdin; else it is made from the rest
  std::string event{};
  std::string recipient{};
  std::string template_id{};
  std::string campaign{};
  std::string provider{};
  // Destinations of one channel: the others are empty.
  std::vector<std::string> tokens{};
  std::vector<std::string> phones{};
  std::vector<std::string> emails{};
  std::vector<std::string> urls{};
  std::string title{};
  std::string body{};
  std::vector<std::string> data{};  // name=value
  std::string expires_at{};
  std::string message_id{};  // Nats-Msg-Id; empty: none
  bool unchecked = false;    // whatever it is, to see what becomes of it
};
int publish(const Common& common, const PublishOptions& options);

struct RowsOptions {
  std::string what{};  // inspect: a key or an event id
  std::string recipient{};
  std::string state{};
  std::string scope{};
  std::int64_t limit = 100;
  bool offline = false;
};
int inspect(const Common& common, const RowsOptions& options);
int list(const Common& common, const RowsOptions& options);

struct LedgerCliOptions {
  enum class Verb : std::uint8_t { stat, verify, backup, restore, compact, export_rows };
  Verb verb = Verb::stat;
  bool audit = false;       // export: what people did, instead of the rows
  std::string directory{};  // to write a copy to, to restore from, or to verify instead
};
int ledger(const Common& common, const LedgerCliOptions& options);

struct KeyOptions {
  std::string message_class{};
  std::string file = "-";
};
int key(const Common& common, const KeyOptions& options);

// `profiles`: files that describe more providers (classifiers/profiles).
int classify_jsonl(const std::vector<std::string>& profiles);
int status(const Common& common);
struct ReloadOptions {
  std::string wait{};    // for the daemon's answer; empty: as long as it takes at most
  std::string reason{};  // for the audit
};
int reload(const Common& common, const ReloadOptions& options);

struct AuditOptions {
  std::string since{};  // a time, or how long ago
  std::string output = "table";
  std::int64_t limit = 100;
  bool offline = false;
};
int audit(const Common& common, const AuditOptions& options);

struct DlqOptions {
  std::vector<std::uint64_t> sequences{};  // of letters on the dead-letter stream
  std::string message_class{};
  bool all = false;
  bool force = false;
  bool payload = false;
  std::string reason{};
  std::int64_t limit = 100;
};
int dlq_list(const Common& common, const DlqOptions& options);
int dlq_show(const Common& common, const DlqOptions& options);
int dlq_replay(const Common& common, const DlqOptions& options);
int dlq_drop(const Common& common, const DlqOptions& options);

struct ResolveOptions {
  std::string key{};
  std::string as{};
  std::string reason{};
  std::string message_class{};
};
int resolve(const Common& common, const ResolveOptions& options);

struct DeviceOptions {
  std::string hash{};  // empty: the token is on standard input
  std::string provider{};
  std::string state{};
  std::string reason{};
  std::int64_t limit = 100;
};
int device_show(const Common& common, const DeviceOptions& options);
int device_list(const Common& common, const DeviceOptions& options);
int device_set(const Common& common, const DeviceOptions& options);

struct PauseOptions {
  std::string name{};
  std::string kind{};  // class or provider; empty: whichever has the name
  std::string reason{};
};
int pause(const Common& common, const PauseOptions& options, bool rest);

struct TopOptions {
  std::string interval = "2s";
  std::string output = "text";
  bool once = false;
};
int top(const Common& common, const TopOptions& options);

struct PageOptions {
  std::uint16_t port = 0;  // 0: one that is free
};
int page(const Common& common, const PageOptions& options);

struct TailOptions {
  std::string what = "outcomes";
  std::string subject{};    // empty: outcomes and device events
  std::uint64_t count = 0;  // 0: until interrupted
  bool payloads = false;    // of what else the subject brings, dead letters above all
};
int tail(const Common& common, const TailOptions& options);
int follow(const Common& common, const TailOptions& options);  // attempts, log: from the daemon

struct DemoOptions {
  std::uint32_t messages = 3000;
  std::uint32_t kills = 2;
  std::uint64_t seed = 1;
  bool keep = false;        // the directory with logs, records and ledger
  std::string sendonced{};  // default: beside this program
  std::string fakeprov{};
};
int demo(const Common& common, const DemoOptions& options);

struct BenchOptions {
  std::uint64_t requests = 500'000;
  std::uint32_t rounds = 3;
  std::uint32_t connections = 1;
  std::uint32_t streams = 100;
  std::uint32_t latency_ms = 0;
  std::uint32_t rate = 0;   // bench pipeline: also so many a second to a daemon that waits; 0: not
  std::string directory{};  // on the file system to measure; default: the current one
  std::string fakeprov{};
};
struct BenchLedgerOptions {
  std::vector<std::uint64_t> rows{0, 10'000'000};  // in the store before it is measured
  std::uint64_t batch = 100;                       // claims a transaction
  double seconds = 3;                              // of one measurement
  std::uint32_t repeat = 3;
  std::string directory{};  // on the file system to measure; default: the current one
  bool keep = false;        // the filled ledgers, for the next run
};
int bench_ledger(const Common& common, const BenchLedgerOptions& options);
int bench_transport(const Common& common, const BenchOptions& options);
int bench_pipeline(const Common& common, const BenchOptions& options);

}  // namespace sendonce::cli
