// top: the status of the daemon again and again, as what happened in between.
#include "plugin/cli/top.hpp"

#include <cstdio>
#include <cstdlib>

#include <poll.h>
#include <sys/ioctl.h>
#include <sysexits.h>
#include <unistd.h>

#include "config/quantity.hpp"
#include "plugin/cli/commands.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/admin/admin_client.hpp"

namespace sendonce::cli {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(5);
constexpr std::size_t kColumns = 80;  // of a terminal that does not say

std::size_t columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kColumns;
  return size.ws_col;
}

Result<std::string> status_of(const Config& config) {
  SO_TRY(AdminClient client, AdminClient::connect(config.instance.socket, kTimeout));
  return client.call({.verb = "status"});
}

void show(const TopView& view, bool json) {
  if (json) {
    std::printf("%s\n", top_json(view).c_str());
  } else {
    // Home, the page, and what is left of the one before.
    const bool terminal = ::isatty(STDOUT_FILENO) != 0;
    if (terminal) std::printf("\x1b[H\x1b[2J");
    std::printf("%s%s", top_text(view, columns()).c_str(), terminal ? "" : "\n");
  }
  std::fflush(stdout);
}

}  // namespace

int top(const Common& common, const TopOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  const auto every = parse_duration(options.interval);
  if (!every || *every < std::chrono::milliseconds(100))
    return usage_failed("top", "--interval: a duration of at least 100ms is wanted");
  const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(*every).count();
  auto before = status_of(*config);
  if (!before) return failed(before.error());
  do {
    ::poll(nullptr, 0, static_cast<int>(pause));
    auto after = status_of(*config);
    if (!after) return failed(after.error());
    const auto view = top_view(*before, *after);
    if (!view) return failed(view.error());
    show(*view, common.json || options.output == "json");
    before = std::move(after);
  } while (!options.once && std::ferror(stdout) == 0);
  return EX_OK;
}

}  // namespace sendonce::cli
