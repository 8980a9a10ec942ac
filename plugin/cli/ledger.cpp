// sendonce ledger: how large it is, whether it is sound, copies of it.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "config/quantity.hpp"
#include "ledger/lmdb/data_file.hpp"
#include "ledger/lmdb/open.hpp"
#include "ledger/lmdb/upkeep.hpp"
#include "ledger/ownership.hpp"
#include "plugin/cli/as_owner.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/admin_verbs.hpp"
#include "plugin/module/audit_verbs.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::ordered_json;

unsigned long long wide(std::uint64_t n) {
  return n;
}

// Bytes as far as the unit says something: "12.0 MiB".
std::string about(std::uint64_t bytes) {
  char text[32];
  const auto mib = static_cast<double>(bytes) / (1U << 20U);
  std::snprintf(text, sizeof text, "%.1f MiB", mib);
  return text;
}

void show_progress(std::uint64_t done, std::uint64_t all) {
  if (::isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r%llu of %llu records read", wide(done), wide(all));
  if (done == all) std::fprintf(stderr, "\n");
}

Json json_of(const LedgerSizes& s, const std::string& directory) {
  Json scopes = Json::object();
  for (const LedgerSizes::Scope& scope : s.scopes) scopes[scope.name] = scope.rows;
  return {{"directory", directory},
          {"id", s.id},
          {"incarnation", s.incarnation},
          {"running", s.running},
          {"rows", s.rows},
          {"rows_by_scope", std::move(scopes)},
          {"devices", s.devices},
          {"bindings", s.bindings},
          {"outbox", s.outbox},
          {"audit", s.audit},
          {"file_bytes", s.file_bytes},
          {"used_bytes", s.used_bytes},
          {"map_bytes", s.map_bytes}};
}

void print_sizes(const LedgerSizes& s, const std::string& directory) {
  std::printf("ledger    %s\nid        %s, opened %llu times%s\n", directory.c_str(), s.id.c_str(),
              wide(s.incarnation), s.running ? ", a daemon runs on it" : "");
  std::printf("file      %s, %s of it in use, of a map of %s\n", about(s.file_bytes).c_str(),
              about(s.used_bytes).c_str(), about(s.map_bytes).c_str());
  std::printf(
      "records   %llu rows, %llu devices, %llu bindings, %llu batches of events to publish, %llu "
      "deeds\n",
      wide(s.rows), wide(s.devices), wide(s.bindings), wide(s.outbox), wide(s.audit));
  Table table{{"scope", "rows"}};
  for (const LedgerSizes::Scope& scope : s.scopes)
    table.add({scope.name, std::to_string(scope.rows)});
  if (!s.scopes.empty()) std::printf("\n%s", table.text().c_str());
}

Json json_of(const LedgerCheck& c, const std::string& directory) {
  Json states = Json::object();
  for (std::size_t i = static_cast<std::size_t>(State::claimed); i < c.by_state.size(); ++i)
    states[std::string(name(static_cast<State>(i)))] = c.by_state.at(i);
  return {{"directory", directory},
          {"id", c.id},
          {"sound", c.sound()},
          {"rows", c.rows},
          {"rows_by_state", std::move(states)},
          {"devices", c.devices},
          {"bindings", c.bindings},
          {"outbox", c.outbox},
          {"audit", c.audit},
          {"damaged", c.damaged},
          {"damages", c.damages}};
}

int tell_check(const LedgerCheck& c, const std::string& directory, bool json) {
  if (json) {
    std::printf("%s\n", json_of(c, directory).dump().c_str());
  } else {
    std::printf(
        "%llu rows, %llu devices, %llu bindings, %llu batches of events, %llu deeds read, each "
        "with its checksum\n",
        wide(c.rows), wide(c.devices), wide(c.bindings), wide(c.outbox), wide(c.audit));
    for (const std::string& damage : c.damages) std::printf("damaged: %s\n", damage.c_str());
    if (c.sound()) std::printf("%s is sound\n", directory.c_str());
  }
  if (c.sound()) return EX_OK;
  return failed({Errc::corrupt, directory + ": " + std::to_string(c.damaged) +
                                    " records are damaged. Stop the daemon, `sendonce ledger "
                                    "restore` a backup that verifies, or make a new ledger and "
                                    "adopt the classes (docs/operations.md, \"Adopting\")"});
}

// In a process of its own: a page that is damaged in the wrong place takes LMDB down with it.
int verify(const std::string& directory, bool json) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) return failed({Errc::unavailable, "cannot fork"});
  if (child == 0) {
    const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
    static_cast<void>(::setrlimit(RLIMIT_CORE, &no_core));
    const auto checked = check_ledger(directory, show_progress);
    const int code = checked ? tell_check(*checked, directory, json) : failed(checked.error());
    std::fflush(stdout);
    ::_exit(code);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return failed({Errc::unavailable, "lost a child"});
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return failed({Errc::corrupt, directory + ": is damaged so that it cannot be read (signal " +
                                    std::to_string(WTERMSIG(status)) + ")"});
}

int backup(const std::string& directory, const std::string& to, bool json) {
  const auto bytes = copy_ledger(directory, to);
  if (!bytes) return failed(bytes.error());
  if (json) {
    std::printf("%s\n", Json{{"backup", to}, {"bytes", *bytes}}.dump().c_str());
  } else {
    std::printf("%s: %s. It holds the ledger's secret: keep it as you keep keys\n", to.c_str(),
                about(*bytes).c_str());
  }
  return EX_OK;
}

// What root has made, the daemon must be able to open.
Result<void> give_to_owner(const std::string& state_dir, const std::string& directory) {
  struct stat status{};
  if (::geteuid() != 0 || ::stat(state_dir.c_str(), &status) != 0 || status.st_uid == 0) return {};
  for (const std::string& path :
       {directory, directory + "/" + kDataFile, directory + "/" + kOwnerLockFile})
    if (::chown(path.c_str(), status.st_uid, status.st_gid) != 0)
      return fail(Errc::denied, path + ": cannot be given to the owner of " + state_dir);
  return {};
}

int restore(const Config& config, const std::string& from, bool json) {
  if (const int code = verify(from, false); code != EX_OK) return code;
  const LedgerOptions options = ledger_options(config);
  const std::string id = new_ledger_id();
  auto done = restore_ledger(options, from, id, make_system_clock()->wall());
  if (done) done = give_to_owner(config.instance.state_dir, options.directory);
  if (!done) return failed(done.error());
  std::string adopt = "sendonce setup";
  for (const ClassConfig& c : config.classes) adopt += " --adopt " + c.name;
  if (!config.devices.reports.empty()) adopt.append(" --adopt ").append(kReportsLane);
  if (json) {
    std::printf("%s\n",
                Json{{"directory", options.directory}, {"id", id}, {"next", adopt}}.dump().c_str());
  } else {
    std::printf(
        "%s: restored, with the new id %s.\nWhat was sent after the backup is forgotten: "
        "what it may concern counts as maybe sent. Before the daemon starts:\n  %s\n",
        options.directory.c_str(), id.c_str(), adopt.c_str());
  }
  return EX_OK;
}

int compact(const Config& config, const std::string& directory, bool json) {
  const AsOwner owner(config.instance.state_dir);
  const auto before = ledger_sizes(directory);
  if (!before) return failed(before.error());
  const auto bytes = compact_ledger(directory);
  if (!bytes) return failed(bytes.error());
  if (json) {
    std::printf(
        "%s\n",
        Json{{"directory", directory}, {"bytes_before", before->file_bytes}, {"bytes", *bytes}}
            .dump()
            .c_str());
  } else {
    std::printf("%s: %s, was %s\n", directory.c_str(), about(*bytes).c_str(),
                about(before->file_bytes).c_str());
  }
  return EX_OK;
}

int export_rows(const std::string& directory, bool audit) {
  const auto print = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    return std::ferror(stdout) == 0;
  };
  const auto done =
      audit ? scan_audit(directory, [&](const AuditEntry& e) { return print(audit_json(e)); })
            : scan_ledger(directory, [&](std::string_view scope, const Row& row) {
                return print(row_json(scope, row));
              });
  if (!done) return failed(done.error());
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    return failed({Errc::unavailable, "cannot write the rows"});
  return EX_OK;
}

}  // namespace

int ledger(const Common& common, const LedgerCliOptions& options) {
  using Verb = LedgerCliOptions::Verb;
  if (options.verb == Verb::verify && !options.directory.empty())
    return verify(options.directory, common.json);
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const std::string directory = ledger_directory(config->instance);
  switch (options.verb) {
    case Verb::stat: {
      const auto sizes = ledger_sizes(directory);
      if (!sizes) return failed(sizes.error());
      if (common.json) {
        std::printf("%s\n", json_of(*sizes, directory).dump().c_str());
      } else {
        print_sizes(*sizes, directory);
      }
      return EX_OK;
    }
    case Verb::verify:
      return verify(directory, common.json);
    case Verb::backup:
      return backup(directory, options.directory, common.json);
    case Verb::restore:
      return restore(*config, options.directory, common.json);
    case Verb::compact:
      return compact(*config, directory, common.json);
    case Verb::export_rows:
      return export_rows(directory, options.audit);
  }
  SO_ASSERT(false);
}

}  // namespace sendonce::cli
