#include "tests/support/fake_mail.hpp"

#include <algorithm>
#include <utility>

#include "plugin/core/ascii.hpp"
#include "plugin/crypto/digest.hpp"
#include "tests/support/witness.hpp"

namespace sendonce::test {
namespace {

using Then = SmtpFault::Then;

// Behind its last line: those that begin with a space belong to it.
std::size_t end_of_field(std::string_view left) {
  std::size_t end = 0;
  do {
    end = left.find("\r\n", end);
    end = end == std::string_view::npos ? left.size() : end + 2;
  } while (end < left.size() && (left[end] == ' ' || left[end] == '\t'));
  return end;
}

// The header of RFC 5322: fields may be folded, and their names are the same in either case.
std::string id_of(std::string_view message) {
  std::string_view left = message;
  while (!left.empty() && !left.starts_with("\r\n")) {
    const std::string_view field = left.substr(0, end_of_field(left));
    left.remove_prefix(field.size());
    if (!begins_with_letters(field, "message-id:")) continue;
    const std::string_view id = field.substr(std::min(field.find('<'), field.size() - 1) + 1);
    if (const auto end = id.find_first_of("@>"); end != 0 && end != std::string_view::npos)
      return std::string(id.substr(0, end));
  }
  Sha256 sha;
  return id_of_content(sha, message);
}

Then then_of(Ending ending) {
  switch (ending) {
    case Ending::answer:
      return Then::go_on;
    case Ending::stall:
    case Ending::deaf:
      return Then::stall;
    case Ending::abort:
    case Ending::reset:
      return Then::reset;
    case Ending::close:
    case Ending::cut_headers:
    case Ending::cut_body:
      return Then::close;
  }
  return Then::go_on;
}

SmtpFault fault_of(const Action& action) {
  SmtpFault out{.then = then_of(action.play.ending), .delay = action.play.delay};
  if (out.then != Then::go_on || action.status == 0) return out;
  out.reply = std::to_string(action.status) + ' ';
  out.reply += action.reason.empty() ? "as the script says" : action.reason;
  return out;
}

}  // namespace

Result<std::unique_ptr<FakeSmtp>> start_fake_mail(const MailConfig& config, Identity identity,
                                                  MailHooks hooks) {
  SmtpServerOptions options{.identity = std::move(identity),
                            .user = config.user,
                            .password = config.password,
                            .address = config.address,
                            .port = config.port};
  if (config.starttls) options.tls = SmtpServerOptions::Tls::starttls;
  options.decide = [hooks = std::move(hooks), latency = config.latency](
                       std::string_view at, const SeenMail& mail) -> std::optional<SmtpFault> {
    if (at != "RCPT" && at != "END") return std::nullopt;
    const bool whole = at == "END";
    const auto action = hooks.scripted(mail.recipient, whole ? Stage::request : Stage::headers);
    if (whole) hooks.seen(mail, id_of(mail.message), action ? &*action : nullptr);
    SmtpFault fault = action ? fault_of(*action) : SmtpFault{};
    if (whole) fault.delay += latency;
    return fault;
  };
  SO_TRY(auto server, FakeSmtp::start(std::move(options)));
  server->keep_messages(false);
  return server;
}

}  // namespace sendonce::test
