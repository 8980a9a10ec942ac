// Structured log events. `event` is a stable dotted name ("claim.busy"), listed in
// docs/operations.md. Values are safe to print: keys by their first 8 hex digits, never a
// destination, credential or payload.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sendonce {

enum class Level : std::uint8_t { debug, info, warn, error };

struct Field {
  std::string_view name;
  std::string value;

  Field(std::string_view n, std::string v) : name(n), value(std::move(v)) {}
  Field(std::string_view n, std::string_view v) : name(n), value(v) {}
  Field(std::string_view n, const char* v) : name(n), value(v) {}
  template <std::integral T>
  Field(std::string_view n, T v) : name(n), value(std::to_string(v)) {}
};

class Log {
 public:
  virtual ~Log() = default;
  // Any thread; never blocks on more than the sink's own write.
  virtual void write(Level level, std::string_view event, std::span<const Field> fields) = 0;
  [[nodiscard]] virtual bool enabled(Level level) const = 0;

  void debug(std::string_view event, std::initializer_list<Field> fields = {}) {
    say(Level::debug, event, fields);
  }
  void info(std::string_view event, std::initializer_list<Field> fields = {}) {
    say(Level::info, event, fields);
  }
  void warn(std::string_view event, std::initializer_list<Field> fields = {}) {
    say(Level::warn, event, fields);
  }
  void error(std::string_view event, std::initializer_list<Field> fields = {}) {
    say(Level::error, event, fields);
  }

 private:
  void say(Level level, std::string_view event, std::initializer_list<Field> fields) {
    if (enabled(level)) write(level, event, {fields.begin(), fields.size()});
  }
};

enum class LogFormat : std::uint8_t { logfmt, json };

// To stderr, one line an event. With `journald_priority` each line starts with <N> as sd-daemon(3)
// has it.
[[nodiscard]] std::unique_ptr<Log> make_stderr_log(Level least, LogFormat format,
                                                   bool journald_priority);
[[nodiscard]] std::unique_ptr<Log> make_null_log();

[[nodiscard]] std::string_view name(Level level);

}  // namespace sendonce
