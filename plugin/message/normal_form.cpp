#include "plugin/message/normal_form.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "plugin/core/ascii.hpp"

namespace sendonce {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_digit);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Calls `accepts` for each part between the dots; false as soon as one is refused.
template <class Accepts>
bool every_part(std::string_view dotted, Accepts accepts) {
  for (std::size_t at = 0;;) {
    const std::size_t dot = std::min(dotted.find('.', at), dotted.size());
    if (!accepts(dotted.substr(at, dot - at))) return false;
    if (dot == dotted.size()) return true;
    at = dot + 1;
  }
}

// RFC 5321 4.1.2 Atom, characters of RFC 5322 3.2.3.
bool is_atom(std::string_view text) {
  static constexpr std::string_view kAlso = "!#$%&'*+-/=?^_`{|}~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) || kAlso.find(c) != std::string_view::npos;
  });
}

// RFC 1123 2.1: letters, digits and inner hyphens.
bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

bool is_domain(std::string_view text) {
  return text.size() <= 253 && every_part(text, is_label);
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port > 0 && port <= 65535;
}

// IPv6 in brackets is looked at no closer: the resolver refuses what is none.
bool is_bracketed_address(std::string_view text) {
  return text.size() > 4 && text.front() == '[' && text.back() == ']' &&
         text.find_first_not_of("0123456789abcdefABCDEF:.", 1) == text.size() - 1;
}

bool is_authority(std::string_view text) {
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = text.substr(0, colon);
  if (colon != std::string_view::npos && !is_port(text.substr(colon + 1))) return false;
  return host.starts_with('[') ? is_bracketed_address(host) : is_domain(host);
}

}  // namespace

Result<Destination> normal_phone(const Destination& phone) {
  const std::string& text = phone.expose();
  if (text.size() < 8 || text.size() > 16 || text[0] != '+' || text[1] == '0' ||
      !all_digits(std::string_view(text).substr(1)))
    return fail(Errc::invalid,
                "the phone number is not in E.164 form: '+', country code and number, 7 to 15 "
                "digits, no spaces");
  return phone;
}

Result<Destination> normal_email(const Destination& address) {
  const std::string& text = address.expose();
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos)
    return fail(Errc::invalid, "the e-mail address has no '@' and domain");
  const std::string_view local = std::string_view(text).substr(0, at);
  const std::string_view domain = std::string_view(text).substr(at + 1);
  if (!is_ascii(domain))
    return fail(Errc::invalid,
                "the domain of the e-mail address is not ASCII: give it in A-labels (xn--...)");
  if (!is_domain(domain))
    return fail(Errc::invalid, "the domain of the e-mail address is no host name");
  if (text.size() > 254 || local.size() > 64 || !every_part(local, is_atom))
    return fail(Errc::invalid,
                "the local part of the e-mail address is not 1 to 64 ASCII characters in dot-atom "
                "form, or the address is longer than 254");
  std::string normal = text;
  std::transform(normal.begin() + static_cast<std::ptrdiff_t>(at), normal.end(),
                 normal.begin() + static_cast<std::ptrdiff_t>(at),
                 [](char c) { return lower_ascii(c); });
  return Destination(std::move(normal));
}

Result<Destination> normal_url(const Destination& url) {
  constexpr std::string_view kScheme = "https://";
  const std::string_view text = url.expose();
  const bool visible = std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
  });
  const bool https = text.size() > kScheme.size() &&
                     std::equal(kScheme.begin(), kScheme.end(), text.begin(),
                                [](char a, char b) { return a == lower_ascii(b); });
  if (!visible || !https || text.size() > 4096)
    return fail(Errc::invalid,
                "the URL is not https:// and then at most 4096 characters of RFC 3986");
  const std::string_view rest = text.substr(kScheme.size());
  if (rest.find('#') != std::string_view::npos)
    return fail(Errc::invalid, "the URL has a fragment: remove '#' and what follows");
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos)
    return fail(Errc::invalid, "the URL has a user or password: remove it");
  if (!is_authority(authority)) return fail(Errc::invalid, "the URL has no valid host and port");
  return url;
}

Result<Destination> normal_token(const Destination& token) {
  constexpr std::size_t kTokenMax = 4096;
  const std::string& text = token.expose();
  const bool visible =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (text.empty() || text.size() > kTokenMax || !visible)
    return fail(Errc::invalid, "the token is not 1 to 4096 visible ASCII characters");
  return token;
}

Result<Destination> normal_destination(Channel channel, const Destination& destination) {
  if (channel == Channel::sms) return normal_phone(destination);
  if (channel == Channel::push) return normal_token(destination);
  return channel == Channel::email ? normal_email(destination) : normal_url(destination);
}

}  // namespace sendonce
