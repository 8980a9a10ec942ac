#include "classifiers/smtp/smtp_provider.hpp"

#include <utility>

#include "classifiers/overrides.hpp"
#include "classifiers/smtp/smtp_answers.hpp"
#include "classifiers/smtp/smtp_message.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/key.hpp"
#include "plugin/message/normal_form.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kBoundaryBytes = 12;  // of the nid

class SmtpProvider final : public Provider {
 public:
  explicit SmtpProvider(SmtpSender sender)
      : sender_(std::move(sender)), domain_(sender_.from.substr(sender_.from.rfind('@') + 1)) {
    capabilities_.kind = ProviderKind::email;
    capabilities_.channel = Channel::email;
  }

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  // As of every provider of e-mail: failover keeps the key.
  [[nodiscard]] std::string app_scope() const override {
    return std::string(name(capabilities_.kind));
  }
  [[nodiscard]] Result<Destination> normal_form(const Target& target) const override {
    return normal_email(target.destination);
  }
  [[nodiscard]] Result<HttpRequest> prepare(const Attempt& attempt, WallTime now) override;
  [[nodiscard]] Verdict classify(const Target& /*target*/, const CallResult& result,
                                 WallTime /*now*/) const override {
    return judge_smtp(result);
  }

  // The login belongs to the connection.
  [[nodiscard]] bool ready(WallTime /*now*/) const override { return true; }
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime /*now*/) override { return {}; }
  [[nodiscard]] Verdict accept_auth(const CallResult& result, WallTime /*now*/) override {
    return judge_smtp(result);
  }
  bool credential_refused(WallTime /*now*/) override { return false; }

 private:
  SmtpSender sender_;
  std::string domain_;
  Capabilities capabilities_{};
};

Result<HttpRequest> SmtpProvider::prepare(const Attempt& attempt, WallTime /*now*/) {
  const Content& content = attempt.notification.content;
  if (!overrides_of(attempt.notification, capabilities_.kind).empty())
    return fail(Errc::invalid, "overrides.email is not taken by a provider of kind smtp");
  if (content.title.empty()) return fail(Errc::invalid, "an e-mail needs a title: its subject");
  if (content.body.empty() && content.html.empty())
    return fail(Errc::invalid, "an e-mail needs a body or html");
  const std::string id = uuid_text(nid_from(attempt.nid).bytes) + "@" + domain_;
  const std::string boundary = hex(attempt.nid.view().substr(0, kBoundaryBytes));
  HttpRequest request;
  SO_TRY(request.body, write_mail({.from = sender_.from,
                                   .from_name = sender_.from_name,
                                   .reply_to = sender_.reply_to,
                                   .to = attempt.target.destination.expose(),
                                   .subject = content.title,
                                   .text = content.body,
                                   .html = content.html,
                                   .message_id = id,
                                   .boundary = boundary,
                                   .date = attempt.stored}));
  request.mail =
      MailEnvelope{.sender = sender_.sender, .recipient = attempt.target.destination.expose()};
  return request;
}

Result<void> normalize(std::string& address, std::string_view what) {
  auto normal = normal_email(Destination(address));
  if (!normal) return fail(Errc::invalid, std::string(what) + ": " + normal.error().text);
  address = normal->expose();
  return {};
}

}  // namespace

Result<std::unique_ptr<Provider>> make_smtp_provider(const SmtpSender& sender) {
  SmtpSender checked = sender;
  SO_CHECK(normalize(checked.from, "from"));
  if (checked.sender.empty()) checked.sender = checked.from;
  SO_CHECK(normalize(checked.sender, "sender"));
  if (!checked.reply_to.empty()) SO_CHECK(normalize(checked.reply_to, "reply_to"));
  return std::make_unique<SmtpProvider>(std::move(checked));
}

}  // namespace sendonce
