// The keys of [provider.NAME.lookup]: how a provider of kind = "http" is asked what became of a
// delivery.
#pragma once

#include <array>
#include <chrono>

#include "config/answer_tables.hpp"
#include "config/http_tables.hpp"
#include "config/key_spec.hpp"
#include "config/keys_http.hpp"

namespace sendonce {

namespace lookup_keys {

using C = ProviderConfig;
template <auto Member>
using In = keys::Path<&ProviderConfig::http, &HttpSpec::lookup, Member>;

// Zero: not set. There is no default, check_http asks for it.
template <auto Member>
constexpr KeySpec<C> period(std::string_view path, std::string_view doc, const Bounds& bounds) {
  return {http_keys::about(path, doc, "**mandatory** with `lookup.path`"),
          KeyType::duration,
          bounds,
          {},
          [](C& out, const TomlNode& node, const Bounds& b) {
            return read_duration(In<Member>::in(out), node, b);
          },
          [](const C& from) { return http_keys::print_window(In<Member>::in(from)); }};
}

}  // namespace lookup_keys

inline constexpr std::array kLookupKeys{
    http_keys::own<lookup_keys::In<&LookupSpec::path>, http_keys::read_plain,
                   http_keys::print_template>(
        KeyType::text,
        http_keys::about("lookup.path",
                         "Path below `endpoint` of the GET that asks what became of a delivery, a "
                         "template. With it `ambiguous = \"lookup\"` is allowed.")),
    http_keys::own<lookup_keys::In<&LookupSpec::query>, read_templates, toml_templates>(
        KeyType::table, http_keys::about("lookup.query",
                                         "Its query parameters: templates by name. Path and query "
                                         "name `{key}`, or `{nid}` and the destination, which the "
                                         "request has carried.")),
    lookup_keys::period<&LookupSpec::lag>(
        "lookup.lag",
        "The longest time until what the endpoint has taken can be found. Waited before the first "
        "look, and again before the second.",
        between(std::chrono::milliseconds(100), std::chrono::hours(1))),
    lookup_keys::period<&LookupSpec::window>(
        "lookup.window",
        "How long it can be found. Classes that look have an `expires` that ends before it.",
        between(std::chrono::minutes(1), std::chrono::hours(24 * 366))),
    http_keys::own<lookup_keys::In<&LookupSpec::receipt_pointer>, read_pointer,
                   http_keys::print_text>(
        KeyType::text,
        http_keys::about("lookup.receipt",
                         "Where the receipt stands in the answer, as `/batches/0/id`. Then no "
                         "answer without it counts as found.")),
    http_keys::own<lookup_keys::In<&LookupSpec::answers>, read_lookup_answers, toml_lookup_answers>(
        KeyType::table,
        http_keys::about("lookup.answers",
                         "What its answers mean: an array of tables with the conditions of "
                         "`answers` and `is`, which is `found`, `absent` or `undecided`; the first "
                         "that matches wins (docs/providers.md).")),
};

}  // namespace sendonce
