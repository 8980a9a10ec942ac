// Providers: reachable as the daemon would reach them, up to the handshake. No request is made.
#include <algorithm>
#include <vector>

#include <sysexits.h>

#include "config/credentials.hpp"
#include "config/key_spec.hpp"
#include "plugin/cli/doctor/checks.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/transport/curl/reach.hpp"

namespace sendonce::cli {
namespace {

struct Place {
  std::string url{};
  bool h2 = false;
};

// scheme://host[:port] of a URL whose host is fixed; empty: a template stands there.
std::string origin_of(const std::string& url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return {};
  const std::size_t end = url.find_first_of("/?#", scheme + 3);
  std::string out = url.substr(0, end);
  return out.find('{') == std::string::npos ? out : std::string();
}

void add(std::vector<Place>& out, std::string url, bool h2) {
  if (url.empty()) return;
  if (std::ranges::find(out, url, &Place::url) == out.end()) out.push_back({std::move(url), h2});
}

std::vector<Place> places_of(const ProviderConfig& p) {
  std::vector<Place> out;
  if (p.kind == ProviderKind::webpush) {
    for (const std::string& origin : p.origins)
      if (!origin.starts_with("*.")) add(out, "https://" + origin, true);
    return out;
  }
  const bool h2 = !p.smtp && p.http.version == HttpVersion::two;
  add(out, p.smtp ? p.endpoint : origin_of(p.endpoint), h2);
  add(out, origin_of(p.token_endpoint), false);
  return out;
}

std::string host_of(const std::string& url) {
  return url.substr(url.find("://") + 3);
}

Repair repair_reach(const Patient& patient, const ProviderConfig& p, const Place& place,
                    const Error& error) {
  if (error.code == Errc::unavailable && p.proxy.empty()) {
    const std::string host = host_of(place.url);
    return {
        "getent hosts " + host.substr(0, host.find(':')) + "   # DNS, then the route and firewalls",
        patient.ours("doctor")};
  }
  const bool versions = applies_to(p) == AppliesTo::http || applies_to(p) == AppliesTo::module;
  return {patient.edit_provider(
              p.name, versions ? "endpoint, version, proxy, tls.ca" : "endpoint, proxy, tls.ca"),
          patient.restart()};
}

void examine_provider(const Patient& patient, const ProviderConfig& p, Report& report) {
  Credential proxy_credentials;
  if (p.proxy_credentials)
    if (auto read = read_credential(*p.proxy_credentials, patient.credentials_dir))
      proxy_credentials = *std::move(read);
  const std::vector<Place> places = places_of(p);
  if (places.empty())
    report.green("provider", p.name, "goes wherever its targets say: nothing to try");
  for (const Place& place : places) {
    const auto reached = reach({.url = place.url,
                                .h2 = place.h2,
                                .starttls = place.url.starts_with("smtp://") && !p.insecure,
                                .ca_file = p.ca,
                                .proxy = p.proxy,
                                .proxy_credentials = proxy_credentials,
                                .timeout = p.connect});
    const std::string object = places.size() == 1 ? p.name : p.name + " " + host_of(place.url);
    if (reached)
      report.green("provider", object,
                   place.url + " answers" + (place.h2 ? ", speaks HTTP/2" : ""));
    else
      report.red("provider", object, reached.error().text,
                 repair_reach(patient, p, place, reached.error()),
                 reached.error().code == Errc::unavailable ? EX_UNAVAILABLE : EX_CONFIG);
  }
}

}  // namespace

void examine_providers(const Patient& patient, Report& report) {
  for (const ProviderConfig& p : patient.config.providers) examine_provider(patient, p, report);
}

}  // namespace sendonce::cli
