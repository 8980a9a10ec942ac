#include "tests/support/fake_mail.hpp"

#include <utility>

namespace sendonce::test {
namespace {

using Then = SmtpFault::Then;

std::string_view id_of(std::string_view message) {
  constexpr std::string_view kField = "Message-ID: <";
  const std::size_t at = message.find(kField);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = message.substr(at + kField.size());
  return rest.substr(0, rest.find_first_of("@>\r"));
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
  options.decide = [hooks = std::move(hooks)](std::string_view at,
                                              const SeenMail& mail) -> std::optional<SmtpFault> {
    if (at != "RCPT" && at != "END") return std::nullopt;
    const bool whole = at == "END";
    const auto action = hooks.scripted(mail.recipient, whole ? Stage::request : Stage::headers);
    if (whole) hooks.seen(mail, id_of(mail.message), action ? &*action : nullptr);
    return action ? std::optional(fault_of(*action)) : std::nullopt;
  };
  SO_TRY(auto server, FakeSmtp::start(std::move(options)));
  server->keep_messages(false);
  return server;
}

}  // namespace sendonce::test
