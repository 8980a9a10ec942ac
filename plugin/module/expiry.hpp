// When the files that an instance reads come to their end: certificate authorities and the
// credentials of NATS. For who warns before they do.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"

namespace sendonce {

inline constexpr Duration kEndsSoon = std::chrono::hours(30 * 24);  // worth a warning

struct FileEnd {
  std::string field{};     // of the configuration, that names the file
  std::string provider{};  // whose it is; empty: of the connection to NATS
  WallTime end{};
};

// Of the user's JWT in a .creds file (docs.nats.io, "JWT"), if it has an end.
[[nodiscard]] std::optional<WallTime> creds_end(std::string_view text);
// Of a CA file: that of its last certificate, since of a bundle one may have ended long ago. Empty:
// it cannot be read or holds none.
[[nodiscard]] std::optional<WallTime> ca_end(const std::string& path);

// Every file that the configuration names and that has an end. Reads them.
[[nodiscard]] std::vector<FileEnd> file_ends(const Config& config,
                                             std::string_view credentials_dir);
// Those that have ended, and those that will soon.
void tell_ends(const std::vector<FileEnd>& ends, WallTime now, Log& log);

}  // namespace sendonce
