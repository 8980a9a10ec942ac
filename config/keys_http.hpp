// The keys of [provider.NAME] that describe a provider of kind = "http".
#pragma once

#include <array>

#include "config/answer_tables.hpp"
#include "config/http_tables.hpp"
#include "config/key_spec.hpp"

namespace sendonce {

inline constexpr std::array<std::string_view, 4> kHttpChannels{"sms", "email", "webhook", "push"};

namespace http_keys {

using C = ProviderConfig;
using H = HttpSpec;
using A = HttpAuthSpec;
using I = IdempotencySpec;

constexpr KeyText about(std::string_view path, std::string_view doc,
                        std::string_view default_words = {}, AppliesTo applies = AppliesTo::http) {
  return {.path = path,
          .doc = doc,
          .reload = OnReload::now,
          .default_words = default_words,
          .applies = applies};
}

// A table or value with a reader of its own.
template <class P, auto Read, auto Print>
constexpr KeySpec<C> own(KeyType type, const KeyText& about) {
  return {about,
          type,
          {},
          {},
          [](C& out, const TomlNode& node, const Bounds&) { return Read(P::in(out), node); },
          [](const C& from) { return std::string(Print(P::in(from))); }};
}

inline Refused read_plain(TextTemplate& out, const TomlNode& node) {
  return read_template(out, node, TemplateUse::text);
}
inline Refused read_signed(TextTemplate& out, const TomlNode& node) {
  return read_template(out, node, TemplateUse::signature);
}
inline std::string print_template(const TextTemplate& from) {
  return from.empty() ? std::string() : toml_text(from.source());
}
inline std::string print_text(const std::string& from) {
  return from.empty() ? std::string() : toml_text(from);
}
inline std::string print_json(const std::optional<JsonTemplate>& from) {
  return from ? toml_json(*from) : std::string();
}
inline std::string print_window(const Duration& from) {
  return from > Duration{0} ? '"' + duration_text(from) + '"' : std::string();
}

constexpr KeySpec<C> channel_key() {
  return {{.path = "channel",
           .doc = "What it delivers; fixes the form of its destinations. A module has no push.",
           .choose = "choose sms, email, webhook or push",
           .applies = AppliesTo::http_module},
          KeyType::choice,
          {},
          kHttpChannels,
          [](C& out, const TomlNode& node, const Bounds&) {
            return read_channel(out.http.channel, node);
          },
          [](const C& from) { return toml_text(name(from.http.channel)); }};
}

constexpr KeySpec<C> ttl_max_key() {
  return {
      about("ttl_max", "The longest lifetime that the endpoint takes: the most that `{ttl}` says.",
            "none: what is left until the message's deadline"),
      KeyType::duration,
      between(std::chrono::seconds(1), std::chrono::hours(24 * 366)),
      {},
      [](C& out, const TomlNode& node, const Bounds& b) {
        return read_duration(out.http.ttl_max, node, b);
      },
      [](const C& from) { return print_window(from.http.ttl_max); }};
}

constexpr KeySpec<C> window_key() {
  return {about("idempotency.window",
                "How long the endpoint remembers a key. With it `resend-with-key` is allowed, for "
                "classes whose `expires` ends at least a call before it.",
                "**mandatory** with `idempotency.header`", AppliesTo::http_module),
          KeyType::duration,
          between(std::chrono::minutes(1), std::chrono::hours(24 * 366)),
          {},
          [](C& out, const TomlNode& node, const Bounds& b) {
            return read_duration(out.http.idempotency.window, node, b);
          },
          [](const C& from) { return print_window(from.http.idempotency.window); }};
}

}  // namespace http_keys

inline constexpr std::array kHttpKeys{
    http_keys::channel_key(),
    keys::text<keys::Path<&ProviderConfig::http, &HttpSpec::app>>(
        {.path = "app",
         .doc = "Of channel push, mandatory there: the app whose tokens these are, such as "
                "`huawei:104001234`. Part of every delivery key.",
         .default_words = "none",
         .applies = AppliesTo::http}),
    keys::choice<keys::Path<&ProviderConfig::http, &HttpSpec::method>>(
        http_keys::about("method", "The request's method.")),
    keys::choice<keys::Path<&ProviderConfig::http, &HttpSpec::version>>(
        {.path = "version",
         .doc = "The HTTP version that the endpoint speaks. `1.1` takes a connection for each "
                "request on its way, at most 64 for each provider.",
         .applies = AppliesTo::http_module}),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::path>, http_keys::read_plain,
                   http_keys::print_template>(
        KeyType::text,
        http_keys::about("path",
                         "Path below `endpoint`, a template: `{NAME}` is replaced by a value of "
                         "the notification and escaped. docs/providers.md lists the names.",
                         "for webhooks the target's own URL; else **mandatory**")),
    keys::texts<keys::Path<&ProviderConfig::http, &HttpSpec::hosts>>(
        http_keys::about("hosts",
                         "Hosts that a target's URL may name, `*.example.com` for all below one. "
                         "Mandatory where `path` is absent.")),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::query>, read_templates,
                   toml_templates>(
        KeyType::table, http_keys::about("query", "Query parameters: templates by name.")),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::headers>, read_header_templates,
                   toml_templates>(
        KeyType::table, http_keys::about("headers", "Header fields: templates by name.")),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::form>, read_templates,
                   toml_templates>(
        KeyType::table,
        http_keys::about("form", "A form as the body: templates by name. Not beside `json`.")),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::json>, read_json_template,
                   http_keys::print_json>(
        KeyType::table,
        http_keys::about("json",
                         "A JSON object as the body; its strings are templates, and a member "
                         "whose `{NAME?}` is missing is left out.")),
    http_keys::ttl_max_key(),
    keys::choice<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::type>>(
        http_keys::about("auth.type",
                         "How requests are authenticated: a bearer token, user and password, a "
                         "header or form field that holds the secret, an HMAC-SHA-256, OAuth 2 "
                         "client credentials, the signature of Amazon Web Services.")),
    keys::secret<keys::Path<&ProviderConfig::secret>>(
        {.path = "auth.secret",
         .doc = "The token, password, key or client secret. aws-sigv4: the secret access key, or "
                "without `auth.user` `ID:SECRET` or `ID:SECRET:SESSION-TOKEN`.",
         .reload = OnReload::now,
         .applies = AppliesTo::http_smtp}),
    keys::text<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::user>>(
        {.path = "auth.user",
         .doc = "basic, smtp: the user. Without it mails are submitted without AUTH. aws-sigv4: "
                "the access key's id.",
         .reload = OnReload::now,
         .default_words = "basic: the secret is `user:password`",
         .applies = AppliesTo::http_smtp}),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::header>,
                   read_header_name, http_keys::print_text>(
        KeyType::text, http_keys::about("auth.header", "header, hmac: the header's name.")),
    keys::text<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::field>>(
        http_keys::about("auth.field", "form: the field's name.")),
    keys::text<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::prefix>>(
        http_keys::about("auth.prefix", "header, hmac: stands before the value.")),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::sign>,
                   http_keys::read_signed, http_keys::print_template>(
        KeyType::text,
        http_keys::about("auth.sign",
                         "hmac: what is signed, a template that may also name `{timestamp}`, "
                         "`{request.method}`, `{request.path}` and `{request.body}`.")),
    keys::choice<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::encoding>>(
        http_keys::about("auth.encoding", "hmac: how the signature is written.")),
    http_keys::own<
        keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::timestamp_header>,
        read_header_name, http_keys::print_text>(
        KeyType::text,
        http_keys::about("auth.timestamp_header", "hmac: a header that holds `{timestamp}`.")),
    keys::text<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::client_id>>(
        http_keys::about("auth.client_id", "oauth2: the client's id.")),
    keys::text<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::scope>>(
        http_keys::about("auth.scope", "oauth2: the scope to ask for.")),
    keys::text<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::region>>(
        http_keys::about("auth.region", "aws-sigv4: the region, such as `eu-central-1`.")),
    keys::text<keys::Path<&ProviderConfig::http, &HttpSpec::auth, &HttpAuthSpec::service>>(
        http_keys::about("auth.service", "aws-sigv4: the service's signing name, such as `ses`.")),
    http_keys::own<
        keys::Path<&ProviderConfig::http, &HttpSpec::idempotency, &IdempotencySpec::header>,
        read_header_name, http_keys::print_text>(
        KeyType::text,
        http_keys::about("idempotency.header",
                         "The header by which the endpoint recognises a repeat; it carries the "
                         "delivery's key. A module must name the same.",
                         {}, AppliesTo::http_module)),
    keys::choice<
        keys::Path<&ProviderConfig::http, &HttpSpec::idempotency, &IdempotencySpec::style>>(
        http_keys::about("idempotency.style", "`sf-string` puts the key into double quotes.", {},
                         AppliesTo::http_module)),
    http_keys::window_key(),
    keys::boolean<keys::Path<&ProviderConfig::http, &HttpSpec::idempotency,
                             &IdempotencySpec::replays_errors>>(
        http_keys::about("idempotency.replays_errors",
                         "The endpoint repeats a stored failure for a key that it knows: then "
                         "`resend-with-key` is refused.",
                         {}, AppliesTo::http_module)),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::receipt_pointer>, read_pointer,
                   http_keys::print_text>(
        KeyType::text,
        http_keys::about("receipt.pointer",
                         "Where the receipt stands in the JSON answer, as `/data/id`. A 2xx "
                         "without it does not count as accepted.")),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::receipt_header>, read_header_name,
                   http_keys::print_text>(
        KeyType::text, http_keys::about("receipt.header", "The same in a header.")),
    http_keys::own<keys::Path<&ProviderConfig::http, &HttpSpec::answers>, read_answers,
                   toml_answers>(
        KeyType::table,
        http_keys::about("answers",
                         "What answers mean: an array of tables, the first that matches wins "
                         "(docs/providers.md). With apns, fcm and webpush these lines come before "
                         "the built-in table.",
                         {}, AppliesTo::answers)),
};

}  // namespace sendonce
