// Checks of providers and of the routes that lead to them.
#include <algorithm>

#include "config/checks.hpp"
#include "config/key_spec.hpp"
#include "config/quantity.hpp"
#include "config/url.hpp"
#include "config/value.hpp"
#include "plugin/core/nearest.hpp"
#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

std::string field_of(const ProviderConfig& of, std::string_view key) {
  return "provider." + of.name + "." + std::string(key);
}

bool serves(ProviderKind kind, Channel channel) {
  switch (kind) {
    case ProviderKind::apns:
    case ProviderKind::fcm:
    case ProviderKind::webpush:
    case ProviderKind::push:
      return channel == Channel::push;
    case ProviderKind::sms:
      return channel == Channel::sms;
    case ProviderKind::email:
      return channel == Channel::email;
    case ProviderKind::http:
      return channel == Channel::webhook || channel == Channel::in_app;
  }
  return false;
}

// `resend-with-key` needs a key that suppresses a repeat, `lookup` somebody who can be asked.
bool supports(const ProviderConfig& provider, AmbiguityPolicy policy) {
  if (policy == AmbiguityPolicy::resend_with_key) return !provider.http.idempotency.header.empty();
  return policy != AmbiguityPolicy::lookup || !provider.http.lookup.path.empty();
}

AmbiguityPolicy policy_for(const ClassConfig& of, Channel channel) {
  const auto own = of.ambiguous.find(channel);
  return own == of.ambiguous.end() ? of.ambiguous_default : own->second;
}

std::string unknown_provider_remedy(const Config& config, std::string_view wanted) {
  std::vector<std::string_view> known;
  for (const ProviderConfig& provider : config.providers) known.push_back(provider.name);
  if (const std::string_view close = nearest(wanted, known); !close.empty())
    return "did you mean \"" + std::string(close) + "\"?";
  if (known.empty()) return "add a [provider." + std::string(wanted) + "]";
  return "name one of " + list_of(known);
}

void check_route(const CheckInput& in, Findings& out, const ClassConfig& c, Channel channel,
                 const std::vector<std::string>& route) {
  const std::string field = "class." + c.name + ".route." + std::string(name(channel));
  for (auto entry = route.begin(); entry != route.end(); ++entry) {
    const ProviderConfig* provider = find_provider(in.config, *entry);
    if (provider == nullptr)
      report_error(in, out, field, "there is no provider \"" + *entry + "\"",
                   unknown_provider_remedy(in.config, *entry));
    else if (!serves(provider->kind, channel))
      report_error(in, out, field,
                   "provider " + *entry + " cannot serve the channel " + std::string(name(channel)),
                   "take it out of this route");
    if (std::find(route.begin(), entry, *entry) != entry)
      report_error(in, out, field, "names " + *entry + " twice", "keep one of the two");
  }
}

bool is_routed_to(const Config& config, const std::string& provider) {
  return std::ranges::any_of(config.classes, [&](const ClassConfig& c) {
    return std::ranges::any_of(c.route, [&](const auto& route) {
      return std::ranges::find(route.second, provider) != route.second.end();
    });
  });
}

// An address without user, path and the like. What is wrong with it, or empty.
std::string_view address_fault(const std::optional<UrlParts>& url, std::string_view scheme) {
  if (!url) return "not a URL";
  if (url->has_user) return "holds a user or password";
  if (url->scheme != scheme) return "has the wrong scheme";
  if (!url->path.empty() && url->path != "/") return "has a path";
  return {};
}

void check_endpoint(const CheckInput& in, Findings& out, const ProviderConfig& provider) {
  const std::string field = field_of(provider, "endpoint");
  const bool module = applies_to(provider) == AppliesTo::module;
  const bool http = module || applies_to(provider) == AppliesTo::http;
  if (provider.kind == ProviderKind::webpush) {
    if (!provider.endpoint.empty())
      report_error(in, out, field, "a subscription names its own endpoint",
                   "remove it; `origins` says which push services may be called");
    return;
  }
  if (provider.endpoint.empty()) {
    if (module || !provider.http.path.empty())
      report_error(in, out, field, "missing, and has no default", "write https://host[:port]");
    return;
  }
  const std::optional<UrlParts> url = split_url(provider.endpoint);
  const bool plain = http && provider.http.version == HttpVersion::one_one && provider.insecure &&
                     url && url->scheme == "http" && is_loopback(url->host);
  if (plain && address_fault(url, "http").empty()) return;
  if (url && url->scheme == "http" && !url->has_user)
    return report_error(in, out, field, "plain http cannot carry this provider's HTTP/2 over TLS",
                        "write https://host[:port], with tls.ca for a test server");
  if (const std::string_view fault = address_fault(url, "https"); !fault.empty())
    report_error(in, out, field, std::string(fault), "write https://host[:port] and no more");
}

void check_token_endpoint(const CheckInput& in, Findings& out, const ProviderConfig& provider) {
  if (provider.token_endpoint.empty()) return;
  const std::string field = field_of(provider, "auth.token_endpoint");
  const std::optional<UrlParts> url = split_url(provider.token_endpoint);
  if (!url || url->has_user || (url->scheme != "https" && url->scheme != "http"))
    return report_error(in, out, field, "not a URL that tokens can come from",
                        "write https://host/path, without user and password");
  if (url->scheme == "http" && !(provider.insecure && is_loopback(url->host)))
    report_error(in, out, field, "plain http would show the credential to the network",
                 "write https; http is for loopback addresses and needs insecure = true");
}

void check_webpush(const CheckInput& in, Findings& out, const ProviderConfig& provider) {
  if (provider.kind != ProviderKind::webpush) return;
  const std::string field = field_of(provider, "origins");
  for (const std::string& origin : provider.origins)
    if (!is_origin(origin))
      report_error(in, out, field, "\"" + origin + "\" is no host name",
                   "write \"host\" or \"*.domain\" in lower case, without scheme and path; an IP "
                   "address cannot be allowed");
  if (!provider.subject.starts_with("mailto:") && !provider.subject.starts_with("https://"))
    report_error(in, out, field_of(provider, "auth.subject"),
                 "no address that a push service could write to",
                 "write mailto:name@host or https://host");
}

}  // namespace

// A name and no address: who may be called is what keeps a browser from naming what we can reach.
bool is_origin(std::string_view text) {
  if (text.starts_with("*.")) {
    text.remove_prefix(2);
    if (text.find('.') == std::string_view::npos) return false;
  }
  const std::string whole = "https://" + std::string(text);
  const std::optional<UrlParts> url = split_url(whole);
  if (!url || url->has_user || !url->path.empty() || text.starts_with('[')) return false;
  const std::string_view last = url->host.substr(url->host.rfind('.') + 1);
  return !last.empty() && (last.front() < '0' || last.front() > '9') &&
         std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

void check_providers(const CheckInput& in, Findings& out) {
  check_calls(in, out);
  check_endpoints(in, out);
  check_http(in, out);
  check_modules(in, out);
  check_smtp(in, out);
  check_proxies(in, out);
}

void check_calls(const CheckInput& in, Findings& out) {
  for (const ProviderConfig& provider : in.config.providers) {
    if (provider.connect < provider.total) continue;
    report_error(in, out, field_of(provider, "call.connect"),
                 duration_text(provider.connect) + " leaves nothing of call.total = " +
                     duration_text(provider.total) + " for the answer",
                 "make it shorter than call.total");
  }
}

void check_drain(const CheckInput& in, Findings& out) {
  Duration longest{};
  for (const ProviderConfig& provider : in.config.providers)
    longest = std::max(longest, provider.total);
  if (in.config.instance.drain >= longest) return;
  report_error(in, out, "instance.drain",
               duration_text(in.config.instance.drain) +
                   " cuts off calls on a stop: the longest call.total is " + duration_text(longest),
               "make it at least \"" + duration_text(longest) + "\"");
}

void check_endpoints(const CheckInput& in, Findings& out) {
  for (const ProviderConfig& provider : in.config.providers) {
    if (provider.smtp) continue;
    check_endpoint(in, out, provider);
    check_webpush(in, out, provider);
    check_token_endpoint(in, out, provider);
    const std::optional<UrlParts> token = split_url(provider.token_endpoint);
    if (provider.insecure && !(token && token->scheme == "http") &&
        !provider.endpoint.starts_with("http:"))
      report_warning(in, out, field_of(provider, "insecure"),
                     "has no effect without a plain http token endpoint", "remove it");
  }
}

void check_apple_ids(const CheckInput& in, Findings& out) {
  const auto judge = [&](const ProviderConfig& p, std::string_view key, std::string_view id,
                         std::string_view remedy) {
    const bool good =
        id.size() == 10 && std::ranges::all_of(id, [](char c) {
          return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        });
    if (!good)
      report_error(in, out, field_of(p, key), "not the 10 letters and digits of an id of Apple's",
                   std::string(remedy));
  };
  for (const ProviderConfig& p : in.config.providers) {
    if (p.kind != ProviderKind::apns) continue;
    judge(p, "auth.team", p.team, "name the team id of the Apple developer account");
    judge(p, "auth.key_id", p.key_id, "name the id that Apple gave the .p8 key");
  }
}

void check_proxies(const CheckInput& in, Findings& out) {
  for (const ProviderConfig& provider : in.config.providers) {
    if (provider.proxy.empty()) {
      if (provider.proxy_credentials)
        report_error(in, out, field_of(provider, "proxy.credentials"), "there is no proxy.url",
                     "add the proxy's URL, or remove the credentials");
      continue;
    }
    const std::optional<UrlParts> url = split_url(provider.proxy);
    std::string_view fault = address_fault(url, "http");
    if (fault.empty() && url->port == 0) fault = "has no port";
    if (!fault.empty())
      report_error(in, out, field_of(provider, "proxy.url"), std::string(fault),
                   "write http://host:port; user and password belong into proxy.credentials");
  }
}

namespace {

// A repeat that comes after the endpoint has forgotten its key is a second message (law 6).
void check_window(const CheckInput& in, Findings& out, const ClassConfig& c,
                  const std::string& field, const ProviderConfig& provider) {
  const IdempotencySpec& key = provider.http.idempotency;
  if (key.replays_errors)
    return report_error(in, out, field,
                        "provider " + provider.name +
                            " answers a repeat with the failure that it has stored "
                            "(idempotency.replays_errors)",
                        "choose give-up or resend");
  if (shrinks(provider.http))
    return report_error(in, out, field,
                        "the request of provider " + provider.name +
                            " holds {ttl}, which shrinks: a repeat would be another request under "
                            "the same key",
                        "write a fixed lifetime in place of {ttl}, or choose give-up or resend");
  const Duration last = c.expires + provider.total;
  if (last <= key.window) return;
  report_error(in, out, field,
               "the last repeat may come " + duration_text(last) +
                   " after the first call (expires and call.total), and provider " + provider.name +
                   " remembers keys for " + duration_text(key.window) + " (idempotency.window)",
               "shorten expires, or choose give-up or resend");
}

// What the endpoint can no longer find is not absent, and would be sent a second time (law 6).
void check_lookup_window(const CheckInput& in, Findings& out, const ClassConfig& c,
                         const std::string& field, const ProviderConfig& provider) {
  const LookupSpec& lookup = provider.http.lookup;
  const Duration last = c.expires + look_for(lookup.lag) + provider.total;
  if (last <= lookup.window) return;
  report_error(in, out, field,
               "the last look may come " + duration_text(last) +
                   " after the first call (expires, lookup.lag and call.total), and provider " +
                   provider.name + " finds messages for " + duration_text(lookup.window) +
                   " (lookup.window)",
               "shorten expires, or choose give-up or resend");
}

}  // namespace

void check_routes(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes)
    for (const auto& [channel, route] : c.route) check_route(in, out, c, channel, route);
  for (const ProviderConfig& provider : in.config.providers)
    if (!is_routed_to(in.config, provider.name))
      report_warning(in, out, "provider." + provider.name, "no class has it in its route",
                     "add it to a route, or remove it");
}

void check_policies(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    for (const auto& [channel, route] : c.route) {
      const AmbiguityPolicy policy = policy_for(c, channel);
      const bool own = c.ambiguous.contains(channel);
      for (const std::string& entry : route) {
        const ProviderConfig* provider = find_provider(in.config, entry);
        if (provider == nullptr) continue;
        const std::string field = "class." + c.name + ".ambiguous." +
                                  std::string(own ? name(channel) : std::string_view("default"));
        if (supports(*provider, policy)) {
          if (policy == AmbiguityPolicy::resend_with_key)
            check_window(in, out, c, field, *provider);
          if (policy == AmbiguityPolicy::lookup) check_lookup_window(in, out, c, field, *provider);
          continue;
        }
        report_error(in, out, field,
                     "provider " + entry + " (" + std::string(name(provider->kind)) +
                         ") has nothing to do \"" + std::string(choice_text(policy)) + "\" with",
                     "choose resend (a person may get it twice) or give-up (a person may not get "
                     "it)");
      }
    }
  }
}

void check_rates(const CheckInput& in, Findings& out) {
  for (const ClassConfig& c : in.config.classes) {
    if (c.rate_per_second <= 0) continue;
    double providers = 0;
    bool limited = true;
    for (const auto& [channel, route] : c.route) {
      for (const std::string& entry : route) {
        const ProviderConfig* provider = find_provider(in.config, entry);
        if (provider == nullptr || provider->rate_per_second <= 0)
          limited = false;
        else
          providers += provider->rate_per_second;
      }
    }
    if (!limited || providers <= 0 || c.rate_per_second <= providers) continue;
    report_warning(in, out, "class." + c.name + ".rate",
                   rate_text(c.rate_per_second) + " is more than its providers may send, " +
                       rate_text(providers),
                   "lower it, or raise the providers' rates");
  }
}

}  // namespace sendonce
