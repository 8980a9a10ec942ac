// The only file that sees spdlog.
#include "plugin/core/log.hpp"

#define SPDLOG_FMT_EXTERNAL
#include <array>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  SO_ASSERT(false);
}

// sd-daemon(3): 7 debug, 6 info, 4 warning, 3 error.
std::string_view journald_prefix(Level level) {
  constexpr std::array<std::string_view, 4> kPrefixes{"<7>", "<6>", "<4>", "<3>"};
  return kPrefixes[static_cast<std::size_t>(level)];
}

bool needs_quotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value)
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return true;
  return false;
}

void append_logfmt(std::string& line, std::string_view key, std::string_view value) {
  if (!line.empty()) line.push_back(' ');
  line.append(key).push_back('=');
  if (needs_quotes(value)) {
    append_json_string(line, value);
  } else {
    line.append(value);
  }
}

void append_json(std::string& line, std::string_view key, std::string_view value) {
  line.push_back(line.empty() ? '{' : ',');
  append_json_string(line, key);
  line.push_back(':');
  append_json_string(line, value);
}

class StderrLog final : public Log {
 public:
  StderrLog(Level least, LogFormat format, bool journald)
      : format_(format),
        journald_(journald),
        logger_("sendonce", std::make_shared<spdlog::sinks::stderr_sink_mt>()),
        clock_(make_system_clock()) {
    logger_.set_level(to_spdlog(least));
    logger_.set_pattern("%v");
  }

  void write(Level level, std::string_view event, std::span<const Field> fields) override {
    const auto append = format_ == LogFormat::json ? append_json : append_logfmt;
    std::string line;
    if (!journald_) append(line, "time", rfc3339(clock_->wall()));
    append(line, "level", name(level));
    append(line, "event", event);
    for (const Field& f : fields) append(line, f.name, f.value);
    if (format_ == LogFormat::json) line.push_back('}');
    if (journald_) line.insert(0, journald_prefix(level));
    logger_.log(to_spdlog(level), "{}", line);
  }

  [[nodiscard]] bool enabled(Level level) const override {
    return logger_.should_log(to_spdlog(level));
  }

 private:
  LogFormat format_;
  bool journald_;
  spdlog::logger logger_;
  std::unique_ptr<Clock> clock_;
};

class NullLog final : public Log {
 public:
  void write(Level /*level*/, std::string_view /*event*/,
             std::span<const Field> /*fields*/) override {}
  [[nodiscard]] bool enabled(Level /*level*/) const override { return false; }
};

}  // namespace

std::unique_ptr<Log> make_stderr_log(Level least, LogFormat format, bool journald_priority) {
  return std::make_unique<StderrLog>(least, format, journald_priority);
}

std::unique_ptr<Log> make_null_log() {
  return std::make_unique<NullLog>();
}

std::string_view name(Level level) {
  constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warn", "error"};
  return kNames[static_cast<std::size_t>(level)];
}

}  // namespace sendonce
