#include "tests/support/smtp_order.hpp"

namespace sendonce::test {

std::string_view SmtpOrder::refuses(std::string_view verb) const {
  if (verb == "STARTTLS" && (secure_ || !needs_.starttls)) return "503 5.5.1 no STARTTLS here";
  const bool of_a_mail = verb == "MAIL" || verb == "RCPT" || verb == "DATA";
  if (!of_a_mail && verb != "AUTH") return {};
  if (needs_.starttls && !secure_) return "530 5.7.0 STARTTLS first";
  if (!greeted_) return "503 5.5.1 EHLO first";
  if (verb == "AUTH") return logged_in_ || sender_ ? "503 5.5.1 too late" : "";
  if (needs_.login && !logged_in_) return "530 5.7.0 log in first";
  if (verb == "MAIL" && sender_) return "503 5.5.1 one mail at a time";
  if (verb == "RCPT" && !sender_) return "503 5.5.1 MAIL first";
  if (verb == "DATA" && !recipient_) return "503 5.5.1 RCPT first";
  return {};
}

void SmtpOrder::answered(std::string_view verb, bool positive) {
  if (verb == "RCPT") {
    recipient_ = recipient_ || positive;
  } else if (verb == "AUTH") {
    logged_in_ = positive;
  } else if (verb == "STARTTLS" && positive) {
    secure_ = true;
    greeted_ = logged_in_ = false;  // what was said in clear does not count
  } else if (verb == "MAIL") {
    sender_ = positive;
  } else if (verb == "EHLO" || verb == "HELO") {
    greeted_ = greeted_ || positive;
    sender_ = recipient_ = false;
  } else if (verb == "DATA" || verb == "RSET") {
    sender_ = recipient_ = false;
  }
}

}  // namespace sendonce::test
