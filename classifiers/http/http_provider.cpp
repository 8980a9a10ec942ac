#include "classifiers/http/http_provider.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "classifiers/http/http_answers.hpp"
#include "classifiers/http/http_auth.hpp"
#include "classifiers/http/http_lookup.hpp"
#include "classifiers/http/http_render.hpp"
#include "classifiers/overrides.hpp"
#include "plugin/core/ascii.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/normal_form.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kHttps = "https://";  // of a target, in any case
constexpr std::size_t kHeaderMax = 8 * 1024;

ProviderKind kind_of(Channel channel) {
  if (channel == Channel::sms) return ProviderKind::sms;
  if (channel == Channel::push) return ProviderKind::push;
  return channel == Channel::email ? ProviderKind::email : ProviderKind::http;
}

std::string_view method_name(HttpMethod method) {
  constexpr std::array<std::string_view, 4> kNames{"POST", "PUT", "PATCH", "GET"};
  return kNames.at(static_cast<std::size_t>(method));
}

// Of an https URL in normal form: in lower case, without the port when it is 443.
std::string authority_of(std::string_view url) {
  url.remove_prefix(kHttps.size());
  std::string_view authority = url.substr(0, url.find_first_of("/?"));
  if (authority.ends_with(":443")) authority.remove_suffix(std::string_view(":443").size());
  return lower_ascii(authority);
}

// As it stands in a request that goes there: without the scheme's own port.
std::string_view host_of(std::string_view origin) {
  const bool tls = origin.starts_with(kHttps);
  if (const std::size_t scheme = origin.find("://"); scheme != std::string_view::npos)
    origin.remove_prefix(scheme + 3);
  const std::string_view usual = tls ? ":443" : ":80";
  if (origin.ends_with(usual)) origin.remove_suffix(usual.size());
  return origin;
}

// What is left of the delivery's time, in whole seconds: at least one, or a vendor would take it
// for his default.
std::chrono::seconds ttl_of(const Attempt& attempt, Duration most, WallTime now) {
  const auto left = std::chrono::floor<std::chrono::seconds>(attempt.deadline - now);
  const auto bound = std::chrono::floor<std::chrono::seconds>(most);
  return std::max(bound.count() > 0 ? std::min(left, bound) : left, std::chrono::seconds(1));
}

// The entry, "host" or "*.domain" with ":port" unless that is 443, that the URL is allowed by.
const std::string* allowed(const std::vector<std::string>& hosts, std::string_view url) {
  const std::string host = authority_of(url);
  const auto found = std::ranges::find_if(hosts, [&](std::string_view entry) {
    if (!entry.starts_with("*.")) return host == entry;
    entry.remove_prefix(1);
    return host.size() > entry.size() && host.ends_with(entry);
  });
  return found == hosts.end() ? nullptr : &*found;
}

class HttpProvider final : public Provider {
 public:
  HttpProvider(HttpOptions options, HttpCredential credential)
      : options_(std::move(options)), credential_(std::move(credential)) {
    const HttpSpec& spec = options_.spec;
    capabilities_.kind = kind_of(spec.channel);
    capabilities_.channel = spec.channel;
    capabilities_.idempotency_key = !spec.idempotency.header.empty();
    capabilities_.idempotency_header = spec.idempotency.header;
    capabilities_.idempotency_window = spec.idempotency.window;
    capabilities_.lookup = !spec.lookup.path.empty();
    capabilities_.lookup_lag = spec.lookup.lag;
    capabilities_.lookup_window = spec.lookup.window;
    capabilities_.acts_on_whole = false;  // nobody knows what stands behind the endpoint
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  // Keys of phone numbers, addresses and URLs hold no app: renaming a provider keeps them. A token
  // is one of an app.
  [[nodiscard]] std::string app_scope() const override {
    std::string scope(name(capabilities_.kind));
    if (capabilities_.kind == ProviderKind::push) scope.append(":").append(options_.spec.app);
    return scope;
  }
  [[nodiscard]] Result<Destination> normal_form(const Target& target) const override;
  [[nodiscard]] Result<HttpRequest> prepare(const Attempt& attempt, WallTime now) override;
  // Of URLs that come with their targets, one receiver must not hold the others.
  [[nodiscard]] Origin origin_of(const Target& target) const override {
    return {.authority = {}, .part = receiver_of(target)};
  }
  [[nodiscard]] Verdict classify(const Target& target, const CallResult& result,
                                 WallTime now) const override;
  [[nodiscard]] Result<HttpRequest> prepare_lookup(const Attempt& attempt, WallTime now) override;
  [[nodiscard]] LookAnswer classify_lookup(const CallResult& result, WallTime now) const override {
    return judge_lookup(options_.spec, result, now);
  }
  [[nodiscard]] bool ready(WallTime now) const override { return credential_.ready(now); }
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime now) override {
    return credential_.needs_auth(now);
  }
  [[nodiscard]] Verdict accept_auth(const CallResult& result, WallTime now) override {
    return credential_.accept(result, now);
  }
  bool credential_refused(WallTime now) override {
    credential_.refused(now);
    return false;
  }
  [[nodiscard]] std::uint64_t credential() const override { return credential_.fetched(); }
  [[nodiscard]] std::optional<WallTime> credential_ends() const override {
    return credential_.ends();
  }

 private:
  [[nodiscard]] std::string_view receiver_of(const Target& target) const;
  [[nodiscard]] Result<std::string> path(const Renderer& render, std::string_view url) const;
  [[nodiscard]] std::string base_of(const std::string& destination) const;
  [[nodiscard]] HttpRequest addressed(HttpRequest request, std::string where,
                                      const std::string& origin) const;
  [[nodiscard]] Result<void> add_body(HttpRequest& request, const Renderer& render) const;
  [[nodiscard]] Result<void> add_headers(HttpRequest& request, const Renderer& render,
                                         const Attempt& attempt) const;

  HttpOptions options_;
  HttpCredential credential_;
  Capabilities capabilities_{};
};

// The entry of `hosts` that allows it; empty where the configuration names the endpoint.
std::string_view HttpProvider::receiver_of(const Target& target) const {
  if (!options_.spec.path.empty()) return {};
  const std::string* entry = allowed(options_.spec.hosts, target.destination.expose());
  return entry == nullptr ? std::string_view() : std::string_view(*entry);
}

Verdict HttpProvider::classify(const Target& target, const CallResult& result, WallTime now) const {
  Verdict v = judge_http(options_.spec, result, now);
  const std::string_view receiver = receiver_of(target);
  if (receiver.empty()) return v;
  if (v.scope == FaultScope::provider) v.scope = FaultScope::part;
  if (v.scope == FaultScope::part || v.fault == Fault::provider) v.part = receiver;
  return v;
}

Result<Destination> HttpProvider::normal_form(const Target& target) const {
  if (options_.spec.channel == Channel::push && !target.p256dh.empty())
    return fail(Errc::invalid, "a subscription of a browser is no token of an app");
  SO_TRY(Destination normal, normal_destination(options_.spec.channel, target.destination));
  const bool own_url = options_.spec.channel == Channel::webhook && options_.spec.path.empty();
  if (own_url && allowed(options_.spec.hosts, normal.expose()) == nullptr)
    return fail(Errc::invalid, "the URL's host and port are not among the provider's hosts");
  return normal;
}

Result<void> append_query(std::string& out, const NamedTemplates& query, const Renderer& render,
                          const std::string& key) {
  char before = out.find('?') == std::string::npos ? '?' : '&';
  for (const NamedTemplate& entry : query) {
    SO_TRY(const auto value, render.text(entry.value, Place::plain, key + entry.name));
    if (!value) continue;
    out.push_back(std::exchange(before, '&'));
    append_escaped(out, entry.name, Place::query);
    out.push_back('=');
    append_escaped(out, *value, Place::query);
  }
  return {};
}

// Path and query, of the endpoint or of the target's own URL.
Result<std::string> HttpProvider::path(const Renderer& render, std::string_view url) const {
  std::string out;
  if (options_.spec.path.empty()) {
    const std::size_t rest = url.find_first_of("/?", std::string_view("https://").size());
    out = rest == std::string_view::npos ? "/" : std::string(url.substr(rest));
    if (out.front() == '?') out.insert(0, "/");
  } else {
    SO_TRY(const auto rendered, render.text(options_.spec.path, Place::path, "path"));
    out = rendered.value_or("/");
  }
  SO_CHECK(append_query(out, options_.spec.query, render, "query."));
  return out;
}

Result<void> HttpProvider::add_body(HttpRequest& request, const Renderer& render) const {
  const HttpSpec& spec = options_.spec;
  if (spec.json) {
    SO_TRY(request.body, render.json(*spec.json));
    request.headers.add("content-type", "application/json");
    return {};
  }
  for (const NamedTemplate& entry : spec.form) {
    SO_TRY(const auto value, render.text(entry.value, Place::plain, "form." + entry.name));
    if (!value) continue;
    if (!request.body.empty()) request.body.push_back('&');
    append_escaped(request.body, entry.name, Place::form);
    request.body.push_back('=');
    append_escaped(request.body, *value, Place::form);
  }
  if (!spec.form.empty() || spec.auth.type == HttpAuth::form)
    request.headers.add("content-type", "application/x-www-form-urlencoded");
  return {};
}

Result<void> HttpProvider::add_headers(HttpRequest& request, const Renderer& render,
                                       const Attempt& attempt) const {
  for (const NamedTemplate& entry : options_.spec.headers) {
    SO_TRY(const auto value, render.text(entry.value, Place::header, "headers." + entry.name));
    if (!value) continue;
    if (value->size() > kHeaderMax)
      return fail(Errc::invalid, "headers." + entry.name + " is longer than 8 KiB");
    request.headers.add(entry.name, *value);
  }
  const IdempotencySpec& idempotency = options_.spec.idempotency;
  if (idempotency.header.empty()) return {};
  std::string key = hex(attempt.key.view());
  if (idempotency.style == KeyStyle::sf_string) key = '"' + key + '"';
  request.headers.add(idempotency.header, key, true);
  return {};
}

Result<HttpRequest> HttpProvider::prepare(const Attempt& attempt, WallTime now) {
  if (!overrides_of(attempt.notification, capabilities_.kind).empty())
    return fail(Errc::invalid, "overrides." + std::string(name(capabilities_.kind)) +
                                   " is not taken by a provider of kind http");
  const Renderer render(attempt, ttl_of(attempt, options_.spec.ttl_max, now));
  const std::string& destination = attempt.target.destination.expose();
  HttpRequest request;
  request.method = method_name(options_.spec.method);
  SO_TRY(std::string where, path(render, destination));
  SO_CHECK(add_body(request, render));
  SO_CHECK(add_headers(request, render, attempt));
  const std::string origin = base_of(destination);
  SO_CHECK(credential_.apply(request, host_of(origin), where, attempt, now));
  return addressed(std::move(request), std::move(where), origin);
}

// Of the endpoint, or of a destination that is an address itself; without a slash at its end.
std::string HttpProvider::base_of(const std::string& destination) const {
  if (options_.spec.path.empty()) return std::string(kHttps) + authority_of(destination);
  std::string_view origin = options_.endpoint;
  while (origin.ends_with('/')) origin.remove_suffix(1);
  return std::string(origin);
}

HttpRequest HttpProvider::addressed(HttpRequest request, std::string where,
                                    const std::string& origin) const {
  if (options_.spec.version == HttpVersion::two) {
    request.path = std::move(where);
    return request;
  }
  request.url = origin + where;
  request.by_url = true;
  return request;
}

Result<HttpRequest> HttpProvider::prepare_lookup(const Attempt& attempt, WallTime now) {
  const LookupSpec& lookup = options_.spec.lookup;
  const Renderer render(attempt, {});
  HttpRequest request;
  request.method = method_name(HttpMethod::get);
  SO_TRY(const auto rendered, render.text(lookup.path, Place::path, "lookup.path"));
  std::string where = rendered.value_or("/");
  SO_CHECK(append_query(where, lookup.query, render, "lookup.query."));
  request.headers.add("accept", "application/json");
  const std::string origin = base_of({});
  SO_CHECK(credential_.apply(request, host_of(origin), where, attempt, now));
  return addressed(std::move(request), std::move(where), origin);
}

}  // namespace

Result<std::unique_ptr<Provider>> make_http_provider(const HttpOptions& options) {
  SO_TRY(HttpCredential credential,
         HttpCredential::make(options.spec.auth, options.secret, options.token_endpoint));
  return std::make_unique<HttpProvider>(options, std::move(credential));
}

}  // namespace sendonce
