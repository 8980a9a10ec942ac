#include "plugin/cli/doctor/nats_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "plugin/core/ascii.hpp"

namespace sendonce::cli {
namespace {

// One name with its value, or the begin or end of a block.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  [[nodiscard]] bool over() {
    skip_space();
    return rest_.empty();
  }
  [[nodiscard]] bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Up to one of `ends`, or what stands in quotes.
  std::string_view word(std::string_view ends) {
    skip_space();
    if (!rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'')) return quoted();
    const std::size_t n = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }
  // Behind a name: its separator. On the same line, so that a name alone ends there.
  void skip_separator() {
    while (!rest_.empty() && std::string_view(" \t:=").find(rest_.front()) != rest_.npos)
      rest_.remove_prefix(1);
  }
  void skip_one() { rest_.remove_prefix(rest_.empty() ? 0 : 1); }
  void skip_list() {
    int depth = 1;
    while (!over() && depth > 0) {
      if (take('[')) {
        ++depth;
      } else if (take(']')) {
        --depth;
      } else if (word(" \t\r\n,;[]").empty()) {
        skip_one();
      }
    }
  }

 private:
  std::string_view quoted() {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    const std::size_t n = std::min(rest_.find(quote), rest_.size());
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(std::min(n + 1, rest_.size()));
    return out;
  }
  void skip_space() {
    for (;;) {
      const std::size_t n = std::min(rest_.find_first_not_of(" \t\r\n,;"), rest_.size());
      rest_.remove_prefix(n);
      if (!rest_.starts_with('#') && !rest_.starts_with("//")) return;
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    }
  }

  std::string_view rest_;
};

bool means_on(std::string_view lower) {
  return lower == "true" || lower == "enabled" || lower == "enable" || lower == "on" ||
         lower == "yes";
}

// "8222" or "127.0.0.1:8222".
std::optional<std::uint16_t> port_in(std::string_view text) {
  const std::string_view digits = text.substr(text.rfind(':') + 1);
  std::uint16_t port = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (end.ec != std::errc{} || port == 0) return std::nullopt;
  return port;
}

void take_value(NatsFile& out, int depth, bool in_jetstream, std::string_view name,
                std::string_view value) {
  if (depth == 0 && name == "include") out.unclear = true;
  if (depth == 0 && name == "jetstream") {
    out.jetstream = means_on(lower_ascii(value));
    out.store_dir.reset();
    out.unclear = out.unclear || value.starts_with('$');
  }
  if (depth == 0 && (name == "http" || name == "http_port" || name == "monitor_port"))
    out.http_port = port_in(value);
  const bool place = name == "store_dir" || name == "storedir" || name == "store";
  if (place && (depth == 0 || (depth == 1 && in_jetstream))) {
    out.store_dir = std::string(value);
    out.unclear = out.unclear || value.starts_with('$');
  }
  if (depth == 1 && in_jetstream && (name == "enabled" || name == "enable"))
    out.jetstream = means_on(lower_ascii(value));
}

}  // namespace

NatsFile read_nats_file(std::string_view text) {
  NatsFile out;
  Scanner scan(text);
  int depth = 0;
  bool in_jetstream = false;
  while (!scan.over()) {
    if (scan.take('}')) {
      depth = std::max(0, depth - 1);
      continue;
    }
    if (scan.take('{')) {
      ++depth;
      continue;
    }
    if (scan.take('[')) {
      scan.skip_list();
      continue;
    }
    const std::string name = lower_ascii(scan.word(" \t\r\n:={}[],;"));
    if (name.empty()) {
      scan.skip_one();
      continue;
    }
    scan.skip_separator();
    if (scan.take('{')) {
      if (depth++ == 0) in_jetstream = name == "jetstream";
      if (depth == 1 && in_jetstream) {
        out.jetstream = true;
        out.store_dir.reset();
      }
    } else if (scan.take('[')) {
      scan.skip_list();
    } else {
      take_value(out, depth, in_jetstream, name, scan.word(" \t\r\n,;}"));
    }
  }
  return out;
}

bool is_volatile(std::string_view directory) {
  constexpr std::array<std::string_view, 5> kPlaces{"/tmp", "/var/tmp", "/dev/shm", "/run",
                                                    "/var/run"};
  return std::ranges::any_of(kPlaces, [&](std::string_view place) {
    return directory.starts_with(place) &&
           (directory.size() == place.size() || directory[place.size()] == '/');
  });
}

}  // namespace sendonce::cli
