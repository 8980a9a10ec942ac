#include "plugin/transport/endpoint.hpp"

#include <algorithm>
#include <charconv>

namespace sendonce {
namespace {

constexpr std::uint16_t kHttpsPort = 443;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kSubmissionsPort = 465;
constexpr std::uint16_t kSubmissionPort = 587;

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "[::1]" || host == "127.0.0.1";
}

bool host_is_clean(std::string_view host) {
  if (host.empty()) return false;
  if (host.front() == '[') {
    return host.size() > 3 && host.back() == ']' &&
           host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdefABCDEF:.") ==
               std::string_view::npos;
  }
  return std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

// The colon before a port, outside the brackets of an IPv6 address.
std::size_t port_colon(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  return authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
}

Result<Endpoint> parse_authority(std::string_view authority, bool tls, std::uint16_t port) {
  Endpoint endpoint;
  endpoint.tls = tls;
  endpoint.port = port;
  const std::uint16_t usual = endpoint.port;
  const std::size_t colon = port_colon(authority);
  endpoint.host = authority.substr(0, colon);
  if (!host_is_clean(endpoint.host)) {
    return fail(Errc::invalid, "the host must be a name or an address, without user or password");
  }
  if (colon != std::string_view::npos) {
    const std::string_view digits = authority.substr(colon + 1);
    const char* const end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, endpoint.port);
    if (parsed.ec != std::errc{} || parsed.ptr != end || endpoint.port == 0) {
      return fail(Errc::invalid, "the port must be a number from 1 to 65535");
    }
  }
  endpoint.authority = endpoint.host;
  if (endpoint.port != usual) endpoint.authority += ':' + std::to_string(endpoint.port);
  return endpoint;
}

}  // namespace

Result<Endpoint> parse_url(std::string_view url, bool insecure) {
  constexpr std::string_view kHttps = "https://";
  constexpr std::string_view kHttp = "http://";
  const bool tls = url.starts_with(kHttps);
  if (!tls && !url.starts_with(kHttp)) {
    return fail(Errc::invalid, "the URL must begin with https://");
  }
  url.remove_prefix(tls ? kHttps.size() : kHttp.size());
  SO_TRY(Endpoint endpoint, parse_authority(url.substr(0, url.find_first_of("/?#")), tls,
                                            tls ? kHttpsPort : kHttpPort));
  if (!tls && !(insecure && is_loopback(endpoint.host))) {
    return fail(Errc::invalid,
                "plain http is allowed only to loopback and only with insecure = true: use https");
  }
  return endpoint;
}

Result<Endpoint> parse_endpoint(std::string_view url, bool insecure) {
  const std::size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) {
    const std::size_t rest = url.find_first_of("/?#", scheme + 3);
    if (rest != std::string_view::npos && url.substr(rest) != "/") {
      return fail(Errc::invalid, "the endpoint must be https://host[:port] without a path");
    }
  }
  return parse_url(url, insecure);
}

Result<MailEndpoint> parse_mail_endpoint(std::string_view url, bool insecure) {
  constexpr std::string_view kSmtps = "smtps://";
  constexpr std::string_view kSmtp = "smtp://";
  const bool tls = url.starts_with(kSmtps);
  if (!tls && !url.starts_with(kSmtp))
    return fail(Errc::invalid, "the endpoint must be smtps://host[:port] or smtp://host[:port]");
  url.remove_prefix(tls ? kSmtps.size() : kSmtp.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  if (url.find_first_of("/?#") != std::string_view::npos)
    return fail(Errc::invalid, "the endpoint must be smtps://host[:port] without a path");
  MailEndpoint out;
  SO_TRY(out.at, parse_authority(url, tls, tls ? kSubmissionsPort : kSubmissionPort));
  if (!tls)
    out.security =
        insecure && is_loopback(out.at.host) ? MailSecurity::plain : MailSecurity::starttls;
  return out;
}

}  // namespace sendonce
