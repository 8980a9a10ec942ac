#include "plugin/broker/nats/pull_status.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "plugin/core/ascii.hpp"

namespace sendonce {
namespace {

struct Text {
  std::string_view part;  // in lower case
  PullEvent event;
};

constexpr std::array<Text, 10> kConflicts{{{"consumer deleted", PullEvent::consumer_deleted},
                                           {"consumer is push based", PullEvent::wrong_consumer},
                                           {"exceeded maxwaiting", PullEvent::too_many_pulls},
                                           {"exceeded maxrequestbatch", PullEvent::batch_limit},
                                           {"exceeded maxrequestexpires", PullEvent::expires_limit},
                                           {"exceeded maxrequestmaxbytes", PullEvent::bytes_limit},
                                           {"message size exceeds maxbytes", PullEvent::too_big},
                                           {"batch completed", PullEvent::over_bytes},
                                           {"leadership change", PullEvent::moving},
                                           {"server shutdown", PullEvent::moving}}};

// What stands behind the last " of ".
std::string_view value_in(std::string_view description) {
  const std::size_t of = description.rfind(" of ");
  return of == std::string_view::npos ? std::string_view() : description.substr(of + 4);
}

PullStatus conflict(std::string_view description) {
  const std::string text = lower_ascii(description);
  PullStatus status;
  for (const Text& known : kConflicts) {
    if (text.find(known.part) == std::string::npos) continue;
    status.event = known.event;
    break;
  }
  const std::string_view value = value_in(description);
  std::from_chars(value.data(), value.data() + value.size(), status.limit);
  if (status.event == PullEvent::expires_limit)
    status.duration = parse_go_duration(value).value_or(Duration{});
  return status;
}

constexpr std::array<std::pair<std::string_view, double>, 7> kUnits{
    {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};

}  // namespace

PullStatus pull_status(int code, std::string_view description) {
  switch (code) {
    case 100:
      return {.event = PullEvent::heartbeat};
    case 404:
      return {.event = PullEvent::no_messages};
    case 408:
      return {.event = PullEvent::expired};
    case 409:
      return conflict(description);
    case 400:
    case 412:
    case 423:
      return {.event = PullEvent::wrong_consumer};
    case 503:
      return {.event = PullEvent::no_responders};
    default:
      return {};
  }
}

std::optional<Duration> parse_go_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    std::size_t letters = 0;
    while (letters < text.size() && text[letters] != '.' &&
           (text[letters] < '0' || text[letters] > '9'))
      ++letters;
    const std::string_view unit = text.substr(0, letters);
    const auto known = std::find_if(kUnits.begin(), kUnits.end(),
                                    [unit](const auto& u) { return u.first == unit; });
    if (known == kUnits.end()) return std::nullopt;
    total += value * known->second;
    text.remove_prefix(letters);
  }
  if (total > 9e18) return std::nullopt;
  return Duration(static_cast<Duration::rep>(std::llround(total)));
}

}  // namespace sendonce
