#include "plugin/cli/page/gate.hpp"

#include <algorithm>
#include <utility>

#include "plugin/crypto/digest.hpp"

namespace sendonce::cli {
namespace {

// Cookies do not know ports: two pages at a time must not overwrite each other's.
constexpr std::string_view kCookie = "sendonce-";

const std::string* token_in(const HttpQuestion& question) {
  const bool opens =
      question.path == "/" && (question.method == "GET" || question.method == "HEAD");
  if (!opens || question.query.size() != 1 || question.query.front().first != "token")
    return nullptr;
  return &question.query.front().second;
}

}  // namespace

Gate::Gate(std::uint16_t port, GateSecrets secrets, MonoTime now)
    : port_(std::to_string(port)), secrets_(std::move(secrets)), ends_(now + kTokenLife) {}

std::string Gate::address() const {
  std::string out = "http://127.0.0.1:";
  return out.append(port_).append("/?token=").append(secrets_.token);
}

std::string Gate::entrance() const {
  return "/#proof=" + secrets_.proof;
}

std::string Gate::cookie() const {
  std::string out(kCookie);
  out.append(port_).append("=").append(secrets_.session);
  return out.append("; Path=/; HttpOnly; SameSite=Strict");
}

bool Gate::is_ours(std::string_view host) const {
  return std::ranges::any_of(std::initializer_list<std::string_view>{"127.0.0.1:", "localhost:"},
                             [&](std::string_view name) {
                               return host.starts_with(name) && host.substr(name.size()) == port_;
                             });
}

// RFC 6265 4.2.1: pairs between "; ".
bool Gate::has_session(const HttpQuestion& question) const {
  const auto cookies = question.field("cookie");
  if (!cookies) return false;
  std::string name(kCookie);
  name.append(port_).push_back('=');
  for (std::size_t at = 0; at < cookies->size();) {
    const std::size_t end = std::min(cookies->find(';', at), cookies->size());
    std::string_view pair = cookies->substr(at, end - at);
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (pair.starts_with(name) && same_secret(secrets_.session, pair.substr(name.size())))
      return true;
    at = end + 1;
  }
  return false;
}

Admission Gate::admit(const HttpQuestion& question, MonoTime now) {
  const auto host = question.field("host");
  if (!host || !is_ours(*host)) return Admission::wrong_host;
  const bool known = has_session(question);
  if (const std::string* token = token_in(question)) {
    if (known) return Admission::enter;
    if (!same_secret(secrets_.token, *token) || used_ || now >= ends_)
      return Admission::wrong_token;
    // A browser that only looks ahead must not use it up.
    if (question.method == "HEAD") return Admission::enter;
    used_ = true;
    return Admission::exchange;
  }
  if (!known) return Admission::no_session;
  const bool proven = same_secret(secrets_.proof, question.field(kRequestField).value_or(""));
  if (question.method != "POST") return proven ? Admission::welcome : Admission::assets_only;
  std::string origin = "http://";
  origin.append(*host);
  return proven && question.field("origin") == origin ? Admission::welcome : Admission::foreign;
}

}  // namespace sendonce::cli
