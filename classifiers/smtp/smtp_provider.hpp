// E-mail by SMTP submission (RFC 6409), to one server. Whom it is and how it is logged in to
// belongs to the transport.
#pragma once

#include <memory>
#include <string>

#include "classifiers/provider.hpp"

namespace sendonce {

// Addresses in normal form.
struct SmtpSender {
  std::string from{};
  std::string from_name{};  // empty: none
  std::string reply_to{};   // empty: none
  std::string sender{};     // of the envelope: whom a bounce goes to; empty: `from`

  friend bool operator==(const SmtpSender&, const SmtpSender&) = default;
};

// invalid: an address is none.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_smtp_provider(const SmtpSender& sender);

}  // namespace sendonce
