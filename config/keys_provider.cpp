// The keys of [provider.NAME].
#include <algorithm>
#include <array>
#include <bit>

#include "config/key_spec.hpp"
#include "config/keys_http.hpp"
#include "config/keys_lookup.hpp"
#include "config/keys_module.hpp"

namespace sendonce {
namespace {

using namespace std::chrono_literals;
using C = ProviderConfig;

// Only the kinds that this version can send through, in the order of AppliesTo's bits.
constexpr std::array<std::string_view, 6> kAvailable{"apns", "fcm",    "webpush",
                                                     "http", "module", "smtp"};

Refused read_kind(C& out, const TomlNode& node, const Bounds&) {
  std::size_t position = 0;
  Refused refused = read_choice(position, node, kAvailable);
  if (!refused) {
    out.by_module = kAvailable[position] == "module";
    out.smtp = kAvailable[position] == "smtp";
    out.kind = out.by_module ? ProviderKind::http
               : out.smtp    ? ProviderKind::email
                             : *provider_kind_from(kAvailable[position]);
  } else if (node.type == TomlType::text && !node.text.empty()) {
    refused->text = "not available in this version: apns, fcm, webpush, http, module, smtp";
  }
  return refused;
}

constexpr KeySpec<C> kind_key() {
  return {{.path = "kind",
           .doc = "What stands behind it: Apple's push service, Firebase Cloud Messaging, the push "
                  "services of browsers, any HTTP endpoint as the keys marked *http* describe it, "
                  "one that a module of your own knows, or a mail server.",
           .choose = "choose apns, fcm, webpush, http, module or smtp"},
          KeyType::choice,
          {},
          kAvailable,
          read_kind,
          [](const C& from) { return toml_text(kind_text(applies_to(from))); }};
}

constexpr std::array kCommonKeys{
    kind_key(),
    keys::text<keys::Path<&C::endpoint>>(
        {.path = "endpoint",
         .doc = "`https://host[:port]` to call in place of the vendor's own address. Not for "
                "webpush: there the subscription names it, see `origins`. For smtp mandatory: "
                "`smtps://host[:465]`, TLS from the first byte, or `smtp://host[:587]`, which must "
                "offer STARTTLS.",
         .default_words = "the vendor's"}),
    keys::text<keys::Path<&C::topic>>(
        {.path = "topic",
         .doc = "The app's bundle id. Part of every delivery key.",
         .choose = "name the app's bundle id, for example com.example.shop",
         .applies = AppliesTo::apns}),
    keys::choice<keys::Path<&C::environment>>(
        {.path = "environment",
         .doc = "Which of Apple's two worlds the device tokens are from. Part of every delivery "
                "key.",
         .applies = AppliesTo::apns}),
    keys::text<keys::Path<&C::team>>({.path = "auth.team",
                                      .doc = "Apple's team id, 10 characters.",
                                      .reload = OnReload::now,
                                      .choose = "name the team id of the Apple developer account",
                                      .applies = AppliesTo::apns}),
    keys::text<keys::Path<&C::key_id>>({.path = "auth.key_id",
                                        .doc = "The id of the signing key, 10 characters.",
                                        .reload = OnReload::now,
                                        .choose = "name the id of the APNs signing key",
                                        .applies = AppliesTo::apns}),
    keys::secret<keys::Path<&C::key>>({.path = "auth.key",
                                       .doc = "The signing key, a `.p8` file.",
                                       .reload = OnReload::now,
                                       .choose = "name the .p8 file: cred:NAME or file:/path",
                                       .applies = AppliesTo::apns}),
    keys::duration<keys::Path<&C::refresh>>(
        {.path = "auth.refresh",
         .doc = "Age at which a new provider token is signed. Apple refuses tokens older than 1 h "
                "and more than one in 20 minutes.",
         .reload = OnReload::now,
         .applies = AppliesTo::apns},
        between(40min, 50min)),
    keys::text<keys::Path<&C::project>>({.path = "project",
                                         .doc = "The Firebase project. Part of every delivery "
                                                "key.",
                                         .default_words = "the service account's",
                                         .applies = AppliesTo::fcm}),
    keys::secret<keys::Path<&C::service_account>>(
        {.path = "auth.service_account",
         .doc = "The service account's JSON key file.",
         .reload = OnReload::now,
         .choose = "name the JSON key file: cred:NAME or file:/path",
         .applies = AppliesTo::fcm}),
    keys::text<keys::Path<&C::token_endpoint>>(
        {.path = "auth.token_endpoint",
         .doc = "Where access tokens come from. With `auth.type = \"oauth2\"` mandatory, "
                "and for a module that exchanges credentials.",
         .default_words = "the service account's `token_uri`",
         .applies = AppliesTo::fcm_http_module}),
    keys::secret<keys::Path<&C::vapid_key>>(
        {.path = "auth.vapid_key",
         .doc = "The private key of which subscriptions name the public one: PEM, or the 32 octets "
                "in base64url that Web Push tools print. Its public key is part of every delivery "
                "key.",
         .reload = OnReload::now,
         .choose = "name the file of the VAPID private key: cred:NAME or file:/path",
         .applies = AppliesTo::webpush}),
    keys::text<keys::Path<&C::subject>>(
        {.path = "auth.subject",
         .doc = "`mailto:` or `https:` address that a push service may write to.",
         .reload = OnReload::now,
         .choose = "name whom a push service may write to: mailto:name@host or https://host",
         .applies = AppliesTo::webpush}),
    keys::texts<keys::Path<&C::origins>>(
        {.path = "origins",
         .doc = "The push services that a subscription's endpoint may name, since it comes from a "
                "browser: `host` or `*.domain`, with `:port` unless it is 443. Always https.",
         .reload = OnReload::now,
         .applies = AppliesTo::webpush}),
    keys::choice<keys::Path<&C::urgency>>(
        {.path = "urgency",
         .doc = "How much a push is worth to a device that saves power.",
         .reload = OnReload::now,
         .applies = AppliesTo::webpush}),
    keys::text<keys::Path<&C::from>>({.path = "from",
                                      .doc = "The address that mails are from. Its domain is what "
                                             "EHLO says and ends each Message-ID.",
                                      .reload = OnReload::now,
                                      .choose = "name the sender's address",
                                      .applies = AppliesTo::smtp}),
    keys::text<keys::Path<&C::from_name>>({.path = "from_name",
                                           .doc = "The name before it.",
                                           .reload = OnReload::now,
                                           .default_words = "none",
                                           .applies = AppliesTo::smtp}),
    keys::text<keys::Path<&C::reply_to>>({.path = "reply_to",
                                          .doc = "Where answers go.",
                                          .reload = OnReload::now,
                                          .default_words = "to `from`",
                                          .applies = AppliesTo::smtp}),
    keys::text<keys::Path<&C::sender>>({.path = "sender",
                                        .doc = "The envelope's sender: where bounces go.",
                                        .reload = OnReload::now,
                                        .default_words = "`from`",
                                        .applies = AppliesTo::smtp}),
    keys::duration<keys::Path<&C::connect>>(
        {.path = "call.connect",
         .doc = "Longest wait for a connection, TLS included. Less than `call.total`.",
         .reload = OnReload::now},
        between(100ms, 1min)),
    keys::duration<keys::Path<&C::total>>(
        {.path = "call.total",
         .doc = "Longest wait for an answer. After it nobody knows whether the request was "
                "carried out. A mail server may look at a message for minutes.",
         .reload = OnReload::now},
        between(200ms, 5min)),
    keys::integer<keys::Path<&C::connections>>(
        {.path = "concurrency.connections",
         .doc = "Connections held open; for webpush, to each push service. With smtp each takes "
                "one mail at a time.",
         .reload = OnReload::now},
        {1, 64}),
    keys::integer<keys::Path<&C::streams>>(
        {.path = "concurrency.streams",
         .doc = "Requests at a time on one connection. The provider's own limit counts too. No "
                "meaning for smtp.",
         .reload = OnReload::now},
        {1, 10'000}),
    keys::rate<keys::Path<&C::rate_per_second>>(
        {.path = "rate",
         .doc = "The most that is sent through this provider.",
         .reload = OnReload::now,
         .default_words = "no limit"}),
    keys::rate<keys::Path<&C::device_rate_per_second>>(
        {.path = "device_rate",
         .doc = "The most that is sent to one token, number or address; what is more waits. A "
                "provider that throttles one device is obeyed without it.",
         .reload = OnReload::now,
         .default_words = "no limit"}),
    keys::integer<keys::Path<&C::breaker_open_after>>(
        {.path = "breaker.open_after",
         .doc =
             "Failures of the provider in a row that pause it; those of one moment count as one.",
         .reload = OnReload::now},
        {1, 1'000'000}),
    keys::duration<keys::Path<&C::breaker_probe>>(
        {.path = "breaker.probe",
         .doc = "First wait before a paused provider is tried again; it doubles up to 1 minute.",
         .reload = OnReload::now},
        between(100ms, 1min)),
    keys::choice<keys::Path<&C::reuse>>(
        {.path = "reuse",
         .doc =
             "What is done about a device, address or number that a send was accepted for and "
             "that comes again with another `recipient` and no newer `registered_at`. `report`: "
             "the event `sendonce.device.<kind>.reused`, and it is sent. `refuse`: the event, and "
             "the delivery fails as `token_reused`. `allow`: nothing is kept or looked up.",
         .reload = OnReload::now}),
    keys::text<keys::Path<&C::proxy>>(
        {.path = "proxy.url", .doc = "`http://host:port` of a proxy.", .default_words = "none"}),
    keys::secret<keys::Path<&C::proxy_credentials>>(
        {.path = "proxy.credentials",
         .doc = "A file that holds `user:password` for the proxy.",
         .default_words = "none"}),
    keys::text<keys::Path<&C::ca>>({.path = "tls.ca",
                                    .doc = "PEM file of the only certificate authorities to trust.",
                                    .default_words = "the system's"}),
    keys::boolean<keys::Path<&C::insecure>>(
        {.path = "insecure",
         .doc = "Allows plain `http` for `auth.token_endpoint`, and `smtp` without TLS, on a "
                "loopback address, for tests."}),
};

template <std::size_t A, std::size_t B>
constexpr std::array<KeySpec<C>, A + B> joined(const std::array<KeySpec<C>, A>& first,
                                               const std::array<KeySpec<C>, B>& second) {
  std::array<KeySpec<C>, A + B> out{};
  std::ranges::copy(first, out.begin());
  std::ranges::copy(second, out.begin() + A);
  return out;
}

constexpr std::array kKeys =
    joined(joined(joined(kCommonKeys, kHttpKeys), kLookupKeys), kModuleKeys);

}  // namespace

AppliesTo applies_to(const ProviderConfig& provider) {
  switch (provider.kind) {
    case ProviderKind::apns:
      return AppliesTo::apns;
    case ProviderKind::fcm:
      return AppliesTo::fcm;
    case ProviderKind::webpush:
      return AppliesTo::webpush;
    case ProviderKind::sms:
    case ProviderKind::email:
    case ProviderKind::http:
    case ProviderKind::push:
      if (provider.smtp) return AppliesTo::smtp;
      return provider.by_module ? AppliesTo::module : AppliesTo::http;
  }
  return AppliesTo::all;
}

std::string_view kind_text(AppliesTo kind) {
  if (kind == AppliesTo::all) return {};
  return kAvailable.at(static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(kind))));
}

std::string kinds_text(AppliesTo kind) {
  std::string out;
  if (kind == AppliesTo::all) return out;
  for (std::size_t i = 0; i < kAvailable.size(); ++i)
    if ((static_cast<unsigned>(kind) >> i & 1U) != 0)
      out.append(out.empty() ? "" : ", ").append(kAvailable[i]);
  return out;
}

std::span<const KeySpec<ProviderConfig>> provider_keys() {
  return kKeys;
}

}  // namespace sendonce
