#include "plugin/message/json.hpp"

#include <algorithm>
#include <cstring>

#include <simdjson.h>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

// Parsers start small and grow with what they meet, up to the limit.
constexpr std::size_t kFirstCapacity = 8 * 1024;

// Four hex digits that simdjson has accepted.
std::uint32_t code_unit(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char c : digits.substr(0, 4)) {
    const auto digit = static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    value = value << 4U | digit;
  }
  return value;
}

bool is_high_surrogate(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low_surrogate(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

// simdjson 3.0 lets a lone low surrogate pass, later releases do not.
bool surrogates_are_paired(std::string_view text, std::size_t first_backslash) {
  for (std::size_t at = first_backslash; at != std::string_view::npos; at = text.find('\\', at)) {
    if (text[at + 1] != 'u') {
      at += 2;
      continue;
    }
    const std::uint32_t unit = code_unit(text.substr(at + 2));
    at += 6;
    if (is_low_surrogate(unit)) return false;
    if (!is_high_surrogate(unit)) continue;
    if (text.substr(at, 2) != "\\u" || !is_low_surrogate(code_unit(text.substr(at + 2))))
      return false;
    at += 6;
  }
  return true;
}

// Whether the character after `before` stands behind a backslash that is not one itself.
bool is_escaped(std::string_view before) {
  const std::size_t last_other = before.find_last_not_of('\\');
  const std::size_t backslashes =
      last_other == std::string_view::npos ? before.size() : before.size() - last_other - 1;
  return backslashes % 2 == 1;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0U | point >> 6U);
    put(0x80U | (point & 0x3FU));
  } else if (point < 0x10000) {
    put(0xE0U | point >> 12U);
    put(0x80U | (point >> 6U & 0x3FU));
    put(0x80U | (point & 0x3FU));
  } else {
    put(0xF0U | point >> 18U);
    put(0x80U | (point >> 12U & 0x3FU));
    put(0x80U | (point >> 6U & 0x3FU));
    put(0x80U | (point & 0x3FU));
  }
}

char unescaped(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // a quote, a slash or a backslash
  }
}

void unescape(std::string_view written, std::string& out) {
  out.clear();
  std::size_t at = 0;
  while (at < written.size()) {
    const std::size_t backslash = std::min(written.find('\\', at), written.size());
    out.append(written.substr(at, backslash - at));
    at = backslash;
    if (at == written.size()) break;
    const char kind = written[at + 1];
    if (kind != 'u') {
      out.push_back(unescaped(kind));
      at += 2;
      continue;
    }
    std::uint32_t point = code_unit(written.substr(at + 2));
    at += 6;
    if (is_high_surrogate(point)) {
      const std::uint32_t low = code_unit(written.substr(at + 2));
      point = 0x10000U + ((point - 0xD800U) << 10U) + (low - 0xDC00U);
      at += 6;
    }
    append_utf8(out, point);
  }
}

}  // namespace

JsonReader::JsonReader(std::string_view text, bool escapes) : text_(text), escapes_(escapes) {
  skip_space();
}

std::string_view JsonReader::unescaped(std::string_view written, std::string& scratch) {
  unescape(written, scratch);
  return scratch;
}

std::string_view JsonReader::quoted() {
  SO_ASSERT(peek() == '"');
  const char* const first = text_.data() + at_ + 1;
  const char* const last = text_.data() + text_.size();
  const auto next_quote = [last](const char* from) {
    const void* quote = std::memchr(from, '"', static_cast<std::size_t>(last - from));
    SO_ASSERT(quote != nullptr);
    return static_cast<const char*>(quote);
  };
  const char* end = next_quote(first);
  while (escapes_ && is_escaped({first, end})) end = next_quote(end + 1);
  at_ = static_cast<std::size_t>(end + 1 - text_.data());
  return {first, end};
}

void JsonReader::append_string(std::string& out, std::string& scratch) {
  const std::size_t first = at_;
  const std::string_view written = quoted();
  if (!has_escape(written)) {
    out.append(text_.substr(first, at_ - first));  // nothing that needs an escape can stand bare
    return;
  }
  unescape(written, scratch);
  append_json_string(out, scratch);
}

std::string_view JsonReader::raw() {
  const std::size_t first = at_;
  std::size_t depth = 0;
  do {
    switch (peek()) {
      case '"':
        static_cast<void>(quoted());
        break;
      case '{':
      case '[':
        ++depth;
        ++at_;
        break;
      case '}':
      case ']':
        --depth;
        ++at_;
        break;
      case ' ':
      case '\n':
      case '\r':
      case '\t':
      case ',':
      case ':':
        ++at_;
        break;
      default:  // a number or a word
        at_ = std::min(text_.find_first_of(",]} \n\r\t", at_), text_.size());
        break;
    }
  } while (depth > 0);
  return text_.substr(first, at_ - first);
}

struct JsonParser::State {
  JsonLimits limits{};
  simdjson::dom::parser parser{};
};

JsonParser::JsonParser(JsonLimits limits) : state_(std::make_unique<State>()) {
  state_->limits = limits;
  // simdjson refuses what is *at* its limit.
  SO_ASSERT(state_->parser.allocate(std::min(limits.max_bytes, kFirstCapacity),
                                    limits.max_depth + 1) == simdjson::SUCCESS);
}

JsonParser::~JsonParser() = default;

Result<JsonReader> JsonParser::parse(std::string_view text) {
  if (text.size() > state_->limits.max_bytes)
    return fail(Errc::invalid, "is larger than the limit of " +
                                   std::to_string(state_->limits.max_bytes) + " bytes");
  if (text.empty()) return fail(Errc::invalid, "is empty");
  const simdjson::error_code error = state_->parser.parse(text.data(), text.size(), true).error();
  if (error == simdjson::MEMALLOC) return fail(Errc::exhausted, "no memory to parse it");
  if (error == simdjson::DEPTH_ERROR)
    return fail(Errc::invalid,
                "is nested deeper than the limit of " + std::to_string(state_->limits.max_depth));
  if (error == simdjson::UTF8_ERROR) return fail(Errc::invalid, "is not UTF-8");
  if (error != simdjson::SUCCESS)
    return fail(Errc::invalid, std::string("is not JSON, or has a number beyond 64 bits: ") +
                                   simdjson::error_message(error));
  const std::size_t backslash = text.find('\\');
  if (backslash != std::string_view::npos && !surrogates_are_paired(text, backslash))
    return fail(Errc::invalid, "has half of a surrogate pair in a string");
  return JsonReader(text, backslash != std::string_view::npos);
}

}  // namespace sendonce
