#include "plugin/core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr auto kHexPairs = [] {  // of each byte
  std::array<std::array<char, 2>, 256> pairs{};
  for (std::size_t b = 0; b < pairs.size(); ++b)
    pairs[b] = {kHexDigits[b >> 4U], kHexDigits[b & 15U]};
  return pairs;
}();
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::uint32_t byte_at(std::string_view bytes, std::size_t i) {
  return i < bytes.size() ? static_cast<std::uint8_t>(bytes[i]) : 0U;
}

char base64url_digit(std::uint32_t bits) {  // of the lowest six
  return kBase64Url[bits & 63U];
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads exactly `digits` decimal digits at `at`; negative when they are not all there.
int fixed_number(std::string_view text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size()) return -1;
  int value = 0;
  for (const char c : text.substr(at, digits)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// The offset of an RFC 3339 time at `at`, in minutes; empty when malformed or not at the end.
std::optional<std::chrono::minutes> utc_offset(std::string_view text, std::size_t at) {
  if (at >= text.size()) return std::nullopt;
  if (text[at] == 'Z' || text[at] == 'z') {
    if (at + 1 != text.size()) return std::nullopt;
    return std::chrono::minutes(0);
  }
  if ((text[at] != '+' && text[at] != '-') || at + 6 != text.size() || text[at + 3] != ':')
    return std::nullopt;
  const int hours = fixed_number(text, at + 1, 2);
  const int minutes = fixed_number(text, at + 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const int total = hours * 60 + minutes;
  return std::chrono::minutes(text[at] == '-' ? -total : total);
}

bool needs_escape(std::uint8_t c) {
  return c < 0x20 || c == '"' || c == '\\';
}

// Whether one of eight bytes needs an escape; the high bit of a byte that does gets set. A byte
// above one that does may be reported wrongly, which costs a second look and nothing else.
bool any_needs_escape(std::uint64_t eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  const auto below = [](std::uint64_t word, std::uint64_t limit) {
    return (word - kOnes * limit) & ~word;
  };
  const std::uint64_t marks =
      below(eight, 0x20) | below(eight ^ (kOnes * '"'), 1) | below(eight ^ (kOnes * '\\'), 1);
  return (marks & (kOnes * 0x80)) != 0;
}

// How many bytes from `at` on stand for themselves in a JSON string.
std::size_t clean_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  std::uint64_t eight = 0;
  for (; end + sizeof eight <= text.size(); end += sizeof eight) {
    std::memcpy(&eight, text.data() + end, sizeof eight);
    if (any_needs_escape(eight)) break;
  }
  if (text.size() - at >= sizeof eight && text.size() - end < sizeof eight) {  // the last ones
    std::memcpy(&eight, text.data() + text.size() - sizeof eight, sizeof eight);
    if (!any_needs_escape(eight)) return text.size() - at;
  }
  while (end < text.size() && !needs_escape(static_cast<std::uint8_t>(text[end]))) ++end;
  return end - at;
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out.append("\\\"");
      break;
    case '\\':
      out.append("\\\\");
      break;
    case '\n':
      out.append("\\n");
      break;
    case '\r':
      out.append("\\r");
      break;
    case '\t':
      out.append("\\t");
      break;
    default:
      out.append("\\u00");
      append_hex(out, {&c, 1});
  }
}

// `count` decimal digits of `value` over what is at `at`.
void put_digits(std::string& out, std::size_t at, std::size_t count, std::uint64_t value) {
  for (std::size_t i = count; i-- > 0; value /= 10)
    out[at + i] = static_cast<char>('0' + value % 10);
}

}  // namespace

void append_hex(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    const auto& pair = kHexPairs[static_cast<std::uint8_t>(c)];
    out.append(pair.data(), pair.size());
  }
}

std::string hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  append_hex(out, bytes);
  return out;
}

bool is_plain_ascii(std::string_view text, bool spaces) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  const std::uint64_t least = spaces ? 0x20 : 0x21;
  std::uint64_t marks = 0;
  const auto look = [&marks, least](std::uint64_t eight) {
    marks |= (eight - kOnes * least) | (eight + kOnes) | eight;  // too low, DEL, not ASCII
  };
  std::uint64_t eight = 0;
  std::size_t at = 0;
  for (; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    look(eight);
  }
  if (at > 0) {  // the last eight, some of them for the second time
    std::memcpy(&eight, text.data() + text.size() - sizeof eight, sizeof eight);
    look(eight);
  } else {
    for (const char c : text) look(kOnes * static_cast<std::uint8_t>(c));
  }
  return (marks & (kOnes * 0x80)) == 0;
}

bool is_lower_hex(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = kOnes * 0x80;
  // Eight bytes at a time: the high bit of each that is a digit stays set in `good`.
  std::uint64_t good = kHighs;
  const auto look = [&good](std::string_view eight_bytes) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, eight_bytes.data(), sizeof eight);
    const auto from = [eight](std::uint64_t least) { return eight + kOnes * (0x80 - least); };
    good &= ((from('0') & ~from('9' + 1)) | (from('a') & ~from('f' + 1))) & ~eight;
  };
  for (; text.size() >= 8; text.remove_prefix(8)) look(text);
  std::array<char, 8> last{'0', '0', '0', '0', '0', '0', '0', '0'};
  text.copy(last.data(), text.size());
  look({last.data(), last.size()});
  return (good & kHighs) == kHighs;
}

std::optional<std::string> unhex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
  }
  return out;
}

void append_base64url(std::string& out, std::string_view bytes) {
  const std::size_t before = out.size();
  const std::size_t after = before + (bytes.size() * 4 + 2) / 3;
  out.resize_and_overwrite(after, [&](char* data, std::size_t /*size*/) {
    char* to = data + before;
    std::size_t i = 0;
    const auto group_at = [&bytes](std::size_t at) {
      return byte_at(bytes, at) << 16U | byte_at(bytes, at + 1) << 8U | byte_at(bytes, at + 2);
    };
    for (; i + 3 <= bytes.size(); i += 3, to += 4) {
      const std::uint32_t group = group_at(i);
      to[0] = base64url_digit(group >> 18U);
      to[1] = base64url_digit(group >> 12U);
      to[2] = base64url_digit(group >> 6U);
      to[3] = base64url_digit(group);
    }
    for (unsigned shift = 18; to != data + after; shift -= 6)
      *to++ = base64url_digit(group_at(i) >> shift);
    return after;
  });
}

std::string base64url(std::string_view bytes) {
  std::string out;
  append_base64url(out, bytes);
  return out;
}

std::optional<std::string> unbase64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::size_t value = kBase64Url.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>(bits >> held & 255U));
  }
  if ((bits & ((1U << held) - 1U)) != 0) return std::nullopt;  // left-over bits must be zero
  return out;
}

void mark_uuid_v8(std::span<std::uint8_t, 16> bytes) {
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x80U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
}

std::string_view write_uuid(std::span<char, kUuidSize> out,
                            std::span<const std::uint8_t, 16> bytes) {
  char* to = out.data();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    std::memcpy(to, kHexPairs[bytes[i]].data(), 2);
    to += 2;
  }
  return {out.data(), out.size()};
}

std::string uuid_text(std::span<const std::uint8_t, 16> bytes) {
  std::array<char, kUuidSize> buffer{};
  return std::string(write_uuid(buffer, bytes));
}

void append_json_string(std::string& out, std::string_view text) {
  const std::size_t clean = clean_run(text, 0);
  const std::size_t before = out.size();
  const std::size_t after = before + clean + 2;
  // libstdc++ 12 hands the callback its new capacity instead of the size: not looked at.
  out.resize_and_overwrite(after, [&](char* data, std::size_t /*size*/) {
    data[before] = '"';
    text.copy(data + before + 1, clean);  // memcpy may not be given the null of an empty view
    data[after - 1] = '"';
    return after;
  });
  if (clean == text.size()) return;
  out.pop_back();
  for (std::size_t at = clean; at < text.size();) {
    append_escape(out, text[at++]);
    const std::size_t run = clean_run(text, at);
    out.append(text.substr(at, run));
    at += run;
  }
  out.push_back('"');
}

void append_number(std::string& out, std::int64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end.ptr);
}

std::string duration_text(Duration value) {
  SO_ASSERT(value >= Duration::zero());
  constexpr std::array<std::pair<std::int64_t, std::string_view>, 7> kUnits{
      {{86'400'000'000'000, "d"},
       {3'600'000'000'000, "h"},
       {60'000'000'000, "m"},
       {1'000'000'000, "s"},
       {1'000'000, "ms"},
       {1'000, "us"},
       {1, "ns"}}};
  for (const auto& [unit, name] : kUnits)
    if (value.count() != 0 && value.count() % unit == 0)
      return std::to_string(value.count() / unit) + std::string(name);
  return "0s";
}

std::string rfc3339(WallTime t) {
  using std::chrono::days, std::chrono::floor, std::chrono::milliseconds;
  const auto since = floor<milliseconds>(t.time_since_epoch());
  const auto day = floor<days>(since);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const std::chrono::hh_mm_ss time{since - day};
  std::string out = "0000-00-00T00:00:00.000Z";
  put_digits(out, 0, 4, static_cast<std::uint64_t>(static_cast<int>(date.year())));
  put_digits(out, 5, 2, static_cast<unsigned>(date.month()));
  put_digits(out, 8, 2, static_cast<unsigned>(date.day()));
  put_digits(out, 11, 2, static_cast<std::uint64_t>(time.hours().count()));
  put_digits(out, 14, 2, static_cast<std::uint64_t>(time.minutes().count()));
  put_digits(out, 17, 2, static_cast<std::uint64_t>(time.seconds().count()));
  put_digits(out, 20, 3, static_cast<std::uint64_t>(time.subseconds().count()));
  return out;
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  const int year = fixed_number(text, 0, 4);
  const int month = fixed_number(text, 5, 2);
  const int day = fixed_number(text, 8, 2);
  const int hour = fixed_number(text, 11, 2);
  const int minute = fixed_number(text, 14, 2);
  const int second = fixed_number(text, 17, 2);
  if (year < 1970 || month < 0 || day < 0 || hour < 0 || minute < 0 || second < 0)
    return std::nullopt;
  if (year > 2200 || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' ||
      text[16] != ':')
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  std::size_t at = 19;
  Duration fraction{0};
  if (at < text.size() && text[at] == '.') {
    std::int64_t scale = 100'000'000;
    const std::size_t first = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10)
      fraction += Duration((text[at] - '0') * scale);
    if (at == first || at - first > 9) return std::nullopt;
  }
  const auto offset = utc_offset(text, at);
  if (!offset) return std::nullopt;
  return WallTime(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                  std::chrono::minutes(minute) + std::chrono::seconds(second) + fraction - *offset);
}

}  // namespace sendonce
