// The ledger on disk: there, ours, sound, with room.
#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "config/quantity.hpp"
#include "ledger/lmdb/data_file.hpp"
#include "ledger/lmdb/open.hpp"
#include "plugin/cli/doctor/checks.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/compose.hpp"

namespace sendonce::cli {
namespace {

constexpr std::size_t kSample = 10'000;  // rows, each with its CRC-32C
constexpr std::uint64_t kDiskScarce = std::uint64_t{1} << 30U;

std::string percent(std::uint64_t used, std::uint64_t map) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%",
                100.0 * static_cast<double>(used) / static_cast<double>(map == 0 ? 1 : map));
  return text;
}

std::string whole_size(std::uint64_t bytes) {
  return size_text(bytes >> 20U << 20U);
}

// False: the files belong to somebody else than their directory, and the daemon cannot open them.
bool owned_alike(const std::string& state_dir, const std::string& directory, Report& report) {
  struct stat home{};
  if (::stat(state_dir.c_str(), &home) != 0) return true;
  for (const char* file : {"", "/data.mdb", "/owner.lock"}) {
    struct stat status{};
    if (::stat((directory + file).c_str(), &status) != 0 || status.st_uid == home.st_uid) continue;
    report.red("ledger.owner", "",
               directory + file + " belongs to user " + std::to_string(status.st_uid) + ", " +
                   state_dir + " to " + std::to_string(home.st_uid) + ": the daemon cannot open it",
               {"chown -R --reference=" + state_dir + " " + directory}, EX_NOPERM);
    return false;
  }
  struct stat status{};
  constexpr mode_t kOthers = S_IRWXO | S_IWGRP;
  if (::stat(directory.c_str(), &status) == 0 && (status.st_mode & kOthers) != 0) {
    report.yellow("ledger.owner", "", directory + " is open to others",
                  {"chmod 0700 " + directory});
    return true;
  }
  report.green("ledger.owner", "", directory + ", as its parent");
  return true;
}

void judge_disk(const Patient& patient, const std::string& directory, Report& report) {
  const std::uint64_t low = ledger_options(patient.config).disk_low_bytes;
  const std::uint64_t free = free_disk_bytes(directory);
  const std::string text = whole_size(free) + " free on the disk of " + directory;
  const Repair repair{"du -xh --max-depth=2 $(df --output=target " + directory +
                      " | tail -1) | sort -h | tail   # and remove what is not needed"};
  if (free < low) {
    report.red("ledger.disk", "", text + ": claims stop below " + whole_size(low), repair,
               EX_IOERR);
  } else if (free < kDiskScarce) {
    report.yellow("ledger.disk", "", text, repair);
  } else {
    report.green("ledger.disk", "", text);
  }
}

Repair damaged(const Patient& patient) {
  const std::string data = ledger_directory(patient.config.instance) + "/data.mdb";
  return {"systemctl stop sendonced && mv " + data + " " + data + ".damaged",
          patient.ours("ledger restore BACKUP") + "   # then setup --adopt, as it prints"};
}

// As far as a sample shows: every row that is read has its checksum compared.
void sample_rows(const Patient& patient, const LedgerReader& reader, Report& report) {
  std::size_t rows = 0;
  const auto scanned =
      reader.scan({}, [&rows](std::string_view, const Row&) { return ++rows < kSample; });
  if (!scanned) {
    report.red("ledger.rows", "", scanned.error().text, damaged(patient), EX_IOERR);
    return;
  }
  report.green("ledger.rows", "",
               std::to_string(rows) + " of " + std::to_string(reader.stats().rows) +
                   " rows read, checksums good");
}

void refuse_ledger(const Patient& patient, const Error& error, Report& report) {
  Repair repair;
  if (error.code == Errc::denied) {
    repair = {"sudo " + patient.ours("doctor") + "   # as root or as the daemon's user"};
  } else {
    repair = damaged(patient);
  }
  report.red("ledger", "", error.text, std::move(repair), exit_code(error.code));
}

}  // namespace

Repair larger_map(const Patient& patient) {
  const std::string old = size_text(patient.config.ledger.map_size);
  const std::string larger = size_text(patient.config.ledger.map_size * 4);
  const Position at = patient.positions.find("ledger.map_size");
  const std::string file = at.file.empty() ? patient.path : at.file;
  std::string change = "printf '\\n[ledger]\\nmap_size = \"" + larger + "\"\\n' >> " + file;
  const std::string line = std::to_string(at.line);
  if (patient.positions.given("ledger.map_size")) {
    change = "sed -i '" + line + "s/\"[^\"]*\"/\"" + larger + "\"/' " + file;
  } else if (at.line > 0) {  // the line of [ledger]
    change = "sed -i '" + line + "a map_size = \"" + larger + "\"' " + file;
  }
  return {change + "   # [ledger] map_size, now " + old, patient.restart()};
}

void judge_map(const Patient& patient, std::uint64_t used, std::uint64_t map, bool claims_stopped,
               Report& report) {
  const std::string text = percent(used, map) + " of " + whole_size(map) + " used";
  if (claims_stopped || used > map / 100 * 85) {
    report.red("ledger.map", "", text + ": new claims stop at 85 %, nothing is sent",
               larger_map(patient), EX_IOERR);
  } else if (used > map / 100 * 70) {
    report.yellow("ledger.map", "", text + ": new claims stop at 85 %", larger_map(patient));
  } else {
    report.green("ledger.map", "", text);
  }
}

void examine_ledger(Patient& patient, Report& report) {
  const std::string directory = ledger_directory(patient.config.instance);
  const auto there = ledger_exists(directory);
  if (!there) return refuse_ledger(patient, there.error(), report);
  if (!*there) {
    report.red("ledger", "", directory + ": there is no ledger yet", {patient.ours("setup")},
               EX_DATAERR);
    return;
  }
  if (!owned_alike(patient.config.instance.state_dir, directory, report)) return;
  judge_disk(patient, directory, report);
  const auto reader = LedgerReader::open(directory);
  if (!reader) {
    if (reader.error().code != Errc::busy) return refuse_ledger(patient, reader.error(), report);
    patient.daemon_runs = true;
    return;  // the daemon tells of it
  }
  patient.ledger_id = (*reader)->id();
  report.green("ledger", "", "id " + patient.ledger_id);
  judge_map(patient, (*reader)->stats().used_bytes, patient.config.ledger.map_size, false, report);
  sample_rows(patient, **reader, report);
}

}  // namespace sendonce::cli
