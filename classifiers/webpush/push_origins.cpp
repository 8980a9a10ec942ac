#include "classifiers/webpush/push_origins.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace sendonce {
namespace {

constexpr std::string_view kScheme = "https://";
constexpr std::size_t kEndpointMax = 4096;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::ranges::all_of(
             text, [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-'; });
}

// A name in lower case. One whose last label is a number is an IPv4 address to some resolver.
bool is_name(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  std::string_view label;
  for (std::string_view rest = host; !rest.empty();) {
    const std::size_t dot = rest.find('.');
    label = rest.substr(0, dot);
    if (!is_label(label)) return false;
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
    if (rest.empty()) return false;
  }
  return !is_digit(label.front());
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && !text.starts_with('0') &&
         port <= 65535;
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 0x7f &&
           std::string_view("\"<>\\^`{|}#").find(c) == std::string_view::npos;
  });
}

std::unexpected<Error> refuse(std::string_view why) {
  return fail(Errc::invalid, "subscription.endpoint " + std::string(why));
}

}  // namespace

Result<PushOrigins::Entry> PushOrigins::parse(const std::string& text) {
  Entry entry;
  entry.text = text;
  std::string_view rest = text;
  entry.below = rest.starts_with("*.");
  if (entry.below) rest.remove_prefix(2);
  const std::size_t colon = rest.find(':');
  entry.host = rest.substr(0, colon);
  const bool has_port = colon != std::string_view::npos;
  if (has_port) entry.port = rest.substr(colon + 1);
  if (has_port && (!is_port(entry.port) || entry.port == "443"))
    return fail(Errc::invalid, "\"" + text + "\": the port must be a number other than 443");
  if (!is_name(entry.host))
    return fail(Errc::invalid, "\"" + text +
                                   "\": not a host name in lower case, without scheme and path; "
                                   "an IP address is none");
  if (entry.below && entry.host.find('.') == std::string::npos)
    return fail(Errc::invalid, "\"" + text + "\": that is a whole top-level domain");
  return entry;
}

Result<PushOrigins> PushOrigins::make(const std::vector<std::string>& entries) {
  PushOrigins out;
  for (const std::string& text : entries) {
    SO_TRY(Entry entry, parse(text));
    out.entries_.push_back(std::move(entry));
  }
  if (out.entries_.empty()) return fail(Errc::invalid, "no push service is allowed");
  return out;
}

bool PushOrigins::allows(const Entry& entry, std::string_view host, std::string_view port) {
  if (entry.port != port) return false;
  if (!entry.below) return host == entry.host;
  return host.size() > entry.host.size() + 1 && host.ends_with(entry.host) &&
         host[host.size() - entry.host.size() - 1] == '.';
}

Result<PushEndpoint> PushOrigins::find(std::string_view endpoint) const {
  if (endpoint.size() > kEndpointMax || !is_visible(endpoint))
    return refuse("is longer than 4096 characters, or has some that no URL has");
  if (!endpoint.starts_with(kScheme)) return refuse("does not begin with https://");
  const std::string_view rest = endpoint.substr(kScheme.size());
  PushEndpoint out;
  std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  out.path = rest.substr(authority.size());
  if (!out.path.starts_with('/')) return refuse("has no path");
  if (authority.find('@') != std::string_view::npos) return refuse("has a user or password");
  if (authority.ends_with(":443")) authority.remove_suffix(4);
  const std::size_t colon = authority.find(':');
  out.authority = authority;
  out.host = authority.substr(0, colon);
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : authority.substr(colon + 1);
  if (!is_name(out.host)) return refuse("has no host name in lower case; an IP address is none");
  const auto entry =
      std::ranges::find_if(entries_, [&](const Entry& e) { return allows(e, out.host, port); });
  if (entry == entries_.end())
    return refuse("is of no push service that the provider's `origins` allow");
  out.service = entry->text;
  return out;
}

}  // namespace sendonce
