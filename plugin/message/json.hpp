// Strict JSON: one parser that refuses, one reader that walks what was accepted.
//
// simdjson's DOM accepts or refuses the whole text (RFC 8259, UTF-8, nothing after the value). What
// it keeps of a number is a 64-bit value, and two spellings of a number must not look alike to the
// fingerprint, so values are read from the accepted text itself. The reader needs no errors: a text
// that was refused has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "plugin/core/assert.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

enum class JsonType : std::uint8_t { object, array, string, number, boolean, null };

struct JsonLimits {
  std::size_t max_bytes = 256 * 1024;
  // Of arrays and objects within each other: the outermost counts 1, an empty one nothing.
  std::size_t max_depth = 32;
};

// A position in an accepted text, which it borrows. Reading a value moves past it. Asking for what
// is not there (a member outside of an object, the text of a number) is a bug and stops the
// process.
class JsonReader {
 public:
  [[nodiscard]] JsonType type() const {  // of the value at the position
    switch (peek()) {
      case '{':
        return JsonType::object;
      case '[':
        return JsonType::array;
      case '"':
        return JsonType::string;
      case 't':
      case 'f':
        return JsonType::boolean;
      case 'n':
        return JsonType::null;
      default:
        return JsonType::number;
    }
  }

  void enter() {  // into the object or array at the position
    SO_ASSERT(peek() == '{' || peek() == '[');
    ++at_;
  }
  // False: that was the last one, and the object or array has been left. Else the position is at
  // the member's value or the element, which must be read before the next call.
  [[nodiscard]] bool next_member() {
    if (at_end('}')) return false;
    name_ = string(unescaped_name_);
    skip_space();
    SO_ASSERT(peek() == ':');
    ++at_;
    skip_space();
    return true;
  }
  [[nodiscard]] bool next_element() { return !at_end(']'); }
  // Of the member just met; valid until the next call of next_member.
  [[nodiscard]] std::string_view name() const { return name_; }

  // The string at the position without quotes and escapes: in the text itself, or in `scratch`.
  [[nodiscard]] std::string_view string(std::string& scratch) {
    const std::string_view written = quoted();
    return has_escape(written) ? unescaped(written, scratch) : written;
  }
  // The same with its quotes and the fewest escapes.
  void append_string(std::string& out, std::string& scratch);
  [[nodiscard]] std::string_view raw();  // any value, as written

 private:
  friend class JsonParser;
  JsonReader(std::string_view text, bool escapes);

  [[nodiscard]] char peek() const {
    SO_ASSERT(at_ < text_.size());
    return text_[at_];
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] <= ' ') ++at_;
  }
  [[nodiscard]] bool at_end(char closing) {
    skip_space();
    if (peek() == ',') {
      ++at_;
      skip_space();
    }
    if (peek() != closing) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] bool has_escape(std::string_view written) const {
    return escapes_ && written.find('\\') != std::string_view::npos;
  }
  [[nodiscard]] static std::string_view unescaped(std::string_view written, std::string& scratch);
  [[nodiscard]] std::string_view quoted();  // what stands between the quotes, as written

  std::string_view text_;
  std::size_t at_ = 0;
  bool escapes_;  // the text has a backslash somewhere
  std::string_view name_{};
  std::string unescaped_name_{};
};

// Keeps its buffers from text to text. One thread.
class JsonParser {
 public:
  explicit JsonParser(JsonLimits limits);
  ~JsonParser();
  JsonParser(const JsonParser&) = delete;
  JsonParser& operator=(const JsonParser&) = delete;

  // invalid: no JSON, beyond a limit, a number that does not fit into 64 bits, or half of a
  // surrogate pair; the text says which and quotes nothing. exhausted: no memory. `text` must
  // outlive the reader.
  [[nodiscard]] Result<JsonReader> parse(std::string_view text);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sendonce
