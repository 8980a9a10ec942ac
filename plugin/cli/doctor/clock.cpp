// The machine's clock: signed tokens, deadlines and retention hang on it.
#include <sys/timex.h>
#include <sysexits.h>

#include "plugin/cli/doctor/checks.hpp"
#include "plugin/core/text.hpp"

namespace sendonce::cli {
namespace {

// Nobody's clock is right before this version was made: 2026-01-01.
constexpr WallTime kNoEarlier{std::chrono::seconds(1'767'225'600)};

}  // namespace

void examine_clock(const Patient& patient, Report& report) {
  const Repair repair{"timedatectl set-ntp true"};
  if (patient.now < kNoEarlier) {
    report.red("clock", "", "says " + rfc3339(patient.now) + ", which is long ago", repair,
               EX_CONFIG);
    return;
  }
  struct timex state{};  // modes 0: looks, sets nothing (adjtimex(2))
  const int kind = ::adjtimex(&state);
  if (kind < 0 || (state.status & STA_UNSYNC) != 0) {
    report.yellow("clock", "", "nobody keeps it synchronised, as far as the kernel knows", repair);
    return;
  }
  report.green("clock", "", rfc3339(patient.now) + ", synchronised");
}

}  // namespace sendonce::cli
