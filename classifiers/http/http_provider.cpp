#include "classifiers/http/http_provider.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "classifiers/http/http_answers.hpp"
#include "classifiers/http/http_auth.hpp"
#include "classifiers/http/http_render.hpp"
#include "classifiers/overrides.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/normal_form.hpp"

namespace sendonce {
namespace {

ProviderKind kind_of(Channel channel) {
  if (channel == Channel::sms) return ProviderKind::sms;
  return channel == Channel::email ? ProviderKind::email : ProviderKind::http;
}

std::string_view method_name(HttpMethod method) {
  constexpr std::array<std::string_view, 4> kNames{"POST", "PUT", "PATCH", "GET"};
  return kNames.at(static_cast<std::size_t>(method));
}

// The host of an https URL in normal form, in lower case.
std::string host_of(std::string_view url) {
  url.remove_prefix(std::string_view("https://").size());
  const std::string_view authority = url.substr(0, url.find_first_of("/?"));
  const std::size_t bracket = authority.rfind(']');
  std::string host(
      authority.substr(0, authority.find(':', bracket == std::string_view::npos ? 0 : bracket)));
  for (char& c : host)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return host;
}

bool allows(const std::vector<std::string>& hosts, std::string_view host) {
  return std::ranges::any_of(hosts, [host](std::string_view allowed) {
    if (!allowed.starts_with("*.")) return host == allowed;
    allowed.remove_prefix(1);
    return host.size() > allowed.size() && host.ends_with(allowed);
  });
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
    capabilities_.acts_on_whole = false;  // nobody knows what stands behind the endpoint
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  // Keys of phone numbers, addresses and URLs hold no app: renaming a provider keeps them.
  [[nodiscard]] std::string app_scope() const override {
    return std::string(name(capabilities_.kind));
  }
  [[nodiscard]] Result<Destination> normal_form(const Target& target) const override;
  [[nodiscard]] Result<HttpRequest> prepare(const Attempt& attempt, WallTime now) override;
  [[nodiscard]] Verdict classify(const Target& /*target*/, const CallResult& result,
                                 WallTime now) const override {
    return judge_http(options_.spec, result, now);
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

 private:
  [[nodiscard]] Result<std::string> path(const Renderer& render, std::string_view url) const;
  [[nodiscard]] Result<void> add_body(HttpRequest& request, const Renderer& render) const;
  [[nodiscard]] Result<void> add_headers(HttpRequest& request, const Renderer& render,
                                         const Attempt& attempt) const;

  HttpOptions options_;
  HttpCredential credential_;
  Capabilities capabilities_{};
};

Result<Destination> HttpProvider::normal_form(const Target& target) const {
  switch (capabilities_.kind) {
    case ProviderKind::sms:
      return normal_phone(target.destination);
    case ProviderKind::email:
      return normal_email(target.destination);
    case ProviderKind::apns:
    case ProviderKind::fcm:
    case ProviderKind::webpush:
    case ProviderKind::http:
      break;
  }
  SO_TRY(Destination url, normal_url(target.destination));
  if (options_.spec.path.empty() && !allows(options_.spec.hosts, host_of(url.expose())))
    return fail(Errc::invalid, "the URL's host is not one of the provider's hosts");
  return url;
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
  char before = out.find('?') == std::string::npos ? '?' : '&';
  for (const NamedTemplate& entry : options_.spec.query) {
    SO_TRY(const auto value, render.text(entry.value, Place::plain, "query." + entry.name));
    if (!value) continue;
    out.push_back(std::exchange(before, '&'));
    append_escaped(out, entry.name, Place::query);
    out.push_back('=');
    append_escaped(out, *value, Place::query);
  }
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
    if (value) request.headers.add(entry.name, *value);
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
  const Renderer render(attempt);
  const std::string& destination = attempt.target.destination.expose();
  HttpRequest request;
  request.method = method_name(options_.spec.method);
  SO_TRY(std::string where, path(render, destination));
  SO_CHECK(add_body(request, render));
  SO_CHECK(add_headers(request, render, attempt));
  SO_CHECK(credential_.apply(request, where, attempt, now));
  if (options_.spec.version == HttpVersion::two) {
    request.path = std::move(where);
    return request;
  }
  std::string_view origin = options_.endpoint;
  if (options_.spec.path.empty()) {
    origin = destination;
    origin = origin.substr(0, origin.find_first_of("/?", std::string_view("https://").size()));
  }
  while (origin.ends_with('/')) origin.remove_suffix(1);
  request.url = std::string(origin) + where;
  request.by_url = true;
  return request;
}

}  // namespace

Result<std::unique_ptr<Provider>> make_http_provider(const HttpOptions& options) {
  SO_TRY(HttpCredential credential,
         HttpCredential::make(options.spec.auth, options.secret, options.token_endpoint));
  return std::make_unique<HttpProvider>(options, std::move(credential));
}

}  // namespace sendonce
