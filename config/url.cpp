#include "config/url.hpp"

#include <algorithm>
#include <charconv>

namespace sendonce {
namespace {

bool host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || c == ':';
}

bool read_port(std::string_view text, std::uint16_t& port) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  return code == std::errc{} && end == text.data() + text.size() && port != 0;
}

// "host", "host:port", "[v6]" or "[v6]:port".
bool read_authority(std::string_view text, UrlParts& out) {
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    out.host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    has_port = rest.starts_with(':');
    if (!has_port && !rest.empty()) return false;
    if (has_port) port = rest.substr(1);
  } else {
    const std::size_t colon = text.find(':');
    has_port = colon != std::string_view::npos;
    out.host = text.substr(0, colon);
    if (has_port) port = text.substr(colon + 1);
  }
  if (out.host.empty() || !std::ranges::all_of(out.host, host_character)) return false;
  return !has_port || read_port(port, out.port);
}

}  // namespace

std::optional<UrlParts> split_url(std::string_view text) {
  UrlParts out;
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos || scheme_end == 0) return std::nullopt;
  out.scheme = text.substr(0, scheme_end);
  text.remove_prefix(scheme_end + 3);
  const std::size_t authority_end = std::min(text.find_first_of("/?#"), text.size());
  std::string_view authority = text.substr(0, authority_end);
  out.path = text.substr(authority_end);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    out.has_user = true;
    authority.remove_prefix(at + 1);
  }
  if (!read_authority(authority, out)) return std::nullopt;
  return out;
}

std::optional<UrlParts> split_address(std::string_view text) {
  UrlParts out;
  if (!read_authority(text, out) || out.port == 0) return std::nullopt;
  const bool v6 = text.starts_with('[');
  const std::string_view digits = v6 ? "0123456789abcdefABCDEF:." : "0123456789.";
  if (out.host.find_first_not_of(digits) != std::string_view::npos) return std::nullopt;
  const auto is = [&](char c) { return std::ranges::count(out.host, c); };
  return (v6 ? is(':') >= 2 : is('.') == 3) ? std::optional(out) : std::nullopt;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "::1") return true;
  return host.starts_with("127.") && std::ranges::count(host, '.') == 3 &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace sendonce
