// One description of every key: its name, type, bounds, meaning, default and whether a reload
// applies it. The loader, the unknown-key errors, the effective configuration, the comparison for a
// reload and docs/configuration.md are all driven by it, so none of them can differ from another.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/quantity.hpp"
#include "config/schema.hpp"
#include "config/value.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {

enum class OnReload : std::uint8_t { now, restart };
// Which kinds of provider have the key.
enum class AppliesTo : std::uint8_t {
  apns = 1,
  fcm = 2,
  webpush = 4,
  http = 8,
  module = 16,
  smtp = 32,
  http_module = http | module,
  http_smtp = http | smtp,
  fcm_http_module = fcm | http | module,
  answers = apns | fcm | webpush | http,
  all = 63
};
enum class KeyType : std::uint8_t {
  text,
  texts,
  boolean,
  integer,
  number,
  duration,
  size,
  rate,
  secret,
  choice,
  table  // of free names
};

struct KeyText {
  std::string_view path{};  // within its table: "call.connect"
  std::string_view doc{};
  OnReload reload = OnReload::restart;
  std::string_view choose{};         // not empty: there is no default; what to choose
  std::string_view default_words{};  // where the default is not a value of its own
  AppliesTo applies = AppliesTo::all;
};

template <class Section>
struct KeySpec {
  KeyText about{};
  KeyType type = KeyType::text;
  Bounds bounds{};
  std::span<const std::string_view> choices{};
  Refused (*read)(Section& out, const TomlNode& node, const Bounds& bounds) = nullptr;
  std::string (*print)(const Section& from) = nullptr;  // TOML; empty: not set
};

[[nodiscard]] std::span<const KeySpec<InstanceConfig>> instance_keys();
[[nodiscard]] std::span<const KeySpec<NatsConfig>> nats_keys();
[[nodiscard]] std::span<const KeySpec<LedgerConfig>> ledger_keys();
[[nodiscard]] std::span<const KeySpec<MetricsConfig>> metrics_keys();
[[nodiscard]] std::span<const KeySpec<DevicesConfig>> devices_keys();
[[nodiscard]] std::span<const KeySpec<ProviderConfig>> provider_keys();
[[nodiscard]] std::span<const KeySpec<ClassConfig>> class_keys();

[[nodiscard]] constexpr bool applies(const KeyText& key, AppliesTo kind) {
  return (static_cast<unsigned>(key.applies) & static_cast<unsigned>(kind)) != 0;
}
[[nodiscard]] AppliesTo applies_to(const ProviderConfig& provider);
[[nodiscard]] std::string_view kind_text(AppliesTo kind);  // the first: "apns"; empty for all
[[nodiscard]] std::string kinds_text(AppliesTo kind);      // all of them: "fcm, http, module"

// Bounds of durations.
[[nodiscard]] constexpr Bounds between(Duration min, Duration max) {
  return {min.count(), max.count()};
}

// ---- how the tables in keys_*.cpp are written --------------------------------------------------
namespace keys {

template <class T>
struct MemberOf;
template <class S, class T>
struct MemberOf<T S::*> {
  using Owner = S;
};

// A member, or a member of a member: Path<&ClassConfig::retry, &RetryConfig::first>.
template <auto First, auto... Rest>
struct Path {
  using Owner = typename MemberOf<decltype(First)>::Owner;
  template <class S>
  static auto& in(S& section) {
    return ((section.*First).*....*Rest);
  }
};

template <class P>
constexpr KeySpec<typename P::Owner> text(const KeyText& about) {
  using S = typename P::Owner;
  return {
      about,
      KeyType::text,
      {},
      {},
      [](S& out, const TomlNode& node, const Bounds&) { return read_text(P::in(out), node); },
      [](const S& from) { return P::in(from).empty() ? std::string{} : toml_text(P::in(from)); }};
}

template <class P>
constexpr KeySpec<typename P::Owner> texts(const KeyText& about) {
  using S = typename P::Owner;
  return {
      about,
      KeyType::texts,
      {},
      {},
      [](S& out, const TomlNode& node, const Bounds&) { return read_texts(P::in(out), node); },
      [](const S& from) { return P::in(from).empty() ? std::string{} : toml_texts(P::in(from)); }};
}

template <class P>
constexpr KeySpec<typename P::Owner> boolean(const KeyText& about) {
  using S = typename P::Owner;
  return {
      about,
      KeyType::boolean,
      {},
      {},
      [](S& out, const TomlNode& node, const Bounds&) { return read_boolean(P::in(out), node); },
      [](const S& from) { return std::string(P::in(from) ? "true" : "false"); }};
}

template <class P>
constexpr KeySpec<typename P::Owner> integer(const KeyText& about, const Bounds& bounds) {
  using S = typename P::Owner;
  return {about,
          KeyType::integer,
          bounds,
          {},
          [](S& out, const TomlNode& node, const Bounds& b) {
            return read_integer(P::in(out), node, b);
          },
          [](const S& from) { return std::to_string(P::in(from)); }};
}

template <class P>
constexpr KeySpec<typename P::Owner> number(const KeyText& about, const Bounds& thousandths) {
  using S = typename P::Owner;
  return {about,
          KeyType::number,
          thousandths,
          {},
          [](S& out, const TomlNode& node, const Bounds& b) {
            return read_number(P::in(out), node, b);
          },
          [](const S& from) { return number_text(P::in(from)); }};
}

template <class P>
constexpr KeySpec<typename P::Owner> duration(const KeyText& about, const Bounds& bounds) {
  using S = typename P::Owner;
  return {about,
          KeyType::duration,
          bounds,
          {},
          [](S& out, const TomlNode& node, const Bounds& b) {
            return read_duration(P::in(out), node, b);
          },
          [](const S& from) { return '"' + duration_text(P::in(from)) + '"'; }};
}

template <class P>
constexpr KeySpec<typename P::Owner> size(const KeyText& about, const Bounds& bounds) {
  using S = typename P::Owner;
  return {
      about,
      KeyType::size,
      bounds,
      {},
      [](S& out, const TomlNode& node, const Bounds& b) { return read_size(P::in(out), node, b); },
      [](const S& from) { return '"' + size_text(P::in(from)) + '"'; }};
}

template <class P>
constexpr KeySpec<typename P::Owner> rate(const KeyText& about) {
  using S = typename P::Owner;
  return {about,
          KeyType::rate,
          {},
          {},
          [](S& out, const TomlNode& node, const Bounds&) { return read_rate(P::in(out), node); },
          [](const S& from) {
            return P::in(from) > 0 ? '"' + rate_text(P::in(from)) + '"' : std::string{};
          }};
}

template <class P>
constexpr KeySpec<typename P::Owner> secret(const KeyText& about) {
  using S = typename P::Owner;
  return {about,
          KeyType::secret,
          {},
          {},
          [](S& out, const TomlNode& node, const Bounds&) { return read_secret(P::in(out), node); },
          [](const S& from) { return P::in(from) ? toml_text(P::in(from)->text) : std::string{}; }};
}

template <class Enum>
Refused read_enum(Enum& out, const TomlNode& node) {
  std::size_t position = 0;
  Refused refused = read_choice(position, node, names_of(Enum{}));
  if (!refused) out = static_cast<Enum>(position);
  return refused;
}

template <class P>
constexpr KeySpec<typename P::Owner> choice(const KeyText& about) {
  using S = typename P::Owner;
  return {about,
          KeyType::choice,
          {},
          names_of(std::remove_cvref_t<decltype(P::in(std::declval<S&>()))>{}),
          [](S& out, const TomlNode& node, const Bounds&) { return read_enum(P::in(out), node); },
          [](const S& from) { return toml_text(choice_text(P::in(from))); }};
}

}  // namespace keys
}  // namespace sendonce
