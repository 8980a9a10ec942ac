// Checks of providers of kind = "smtp".
#include "config/checks.hpp"
#include "config/url.hpp"
#include "config/value.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/normal_form.hpp"

namespace sendonce {
namespace {

// RFC 5321 4.5.3.2.6 gives a server ten minutes to answer the end of a message.
constexpr Duration kShortCall = std::chrono::seconds(30);

void check_server(const Checked& c) {
  constexpr const char* kForm = "write smtps://host[:port] or smtp://host[:port], and no more";
  const ProviderConfig& p = c.provider;
  if (p.endpoint.empty()) return c.report("endpoint", "missing, and has no default", kForm);
  const std::optional<UrlParts> url = split_url(p.endpoint);
  if (!url || (url->scheme != "smtps" && url->scheme != "smtp"))
    return c.report("endpoint", "not the URL of a mail server", kForm);
  if (url->has_user)
    return c.report("endpoint", "holds a user or password", "use auth.user and auth.secret");
  if (!url->path.empty() && url->path != "/") c.report("endpoint", "has a path", kForm);
  if (!p.insecure) return;
  if (url->scheme == "smtp" && !is_loopback(url->host))
    c.report("insecure", "without TLS whole mails would be shown to the network",
             "remove it: mails without TLS go to loopback addresses alone");
  if (url->scheme == "smtps")
    report_warning(c.in, c.out, c.field("insecure"), "has no effect with smtps", "remove it");
}

void check_address(const Checked& c, std::string_view key, const std::string& address) {
  if (address.empty()) return;
  if (const auto normal = normal_email(Destination(address)); !normal)
    c.report(key, normal.error().text, "write name@example.com; a name belongs into from_name");
}

void check_addresses(const Checked& c) {
  check_address(c, "from", c.provider.from);
  check_address(c, "reply_to", c.provider.reply_to);
  check_address(c, "sender", c.provider.sender);
}

void check_login(const Checked& c) {
  const bool user = !c.provider.http.auth.user.empty();
  if (user && !c.provider.secret)
    c.report("auth.secret", "missing, and auth.user needs it",
             "name the file of the password: cred:NAME or file:/path");
  if (!user && c.provider.secret)
    c.report("auth.user", "missing, and auth.secret needs it", "name the user to log in as");
}

}  // namespace

void check_smtp(const CheckInput& in, Findings& out) {
  for (const ProviderConfig& provider : in.config.providers) {
    if (!provider.smtp) continue;
    const Checked c{in, out, provider};
    check_server(c);
    check_addresses(c);
    check_login(c);
    if (provider.total < kShortCall)
      report_warning(in, out, c.field("call.total"),
                     duration_text(provider.total) +
                         " is short for a mail server, which may look at a message for minutes: "
                         "an answer that is not awaited leaves the mail in doubt",
                     "allow a minute or more, and make claim longer with it");
  }
}

}  // namespace sendonce
