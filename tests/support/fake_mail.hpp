// The mail server of the fake provider, on a port of its own (SMTP with TLS, RFC 5321, 8314, 3207).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/core/error.hpp"
#include "tests/support/fake_smtp.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {

struct MailConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  bool starttls = false;  // in place of TLS from the first byte on
  std::string user{};     // empty: takes mail from everybody
  std::string password{};
  Duration latency{0};  // before the answer to a whole message
};

// Both are called on the threads of connections.
struct MailHooks {
  std::function<std::optional<Action>(std::string_view recipient, Stage stage)> scripted{};
  // A whole message. Its id is what stands before the @ of its Message-ID, else its hash.
  std::function<void(const SeenMail& mail, std::string_view id, const Action* played)> seen{};
};

[[nodiscard]] Result<std::unique_ptr<FakeSmtp>> start_fake_mail(const MailConfig& config,
                                                                Identity identity, MailHooks hooks);

}  // namespace sendonce::test
