// What may be said when in a dialogue of SMTP (RFC 5321 4.1.4, 3207 4, 4954 4 and 6). Pure.
#pragma once

#include <string_view>

namespace sendonce::test {

class SmtpOrder {
 public:
  struct Needs {
    bool starttls = false;  // before anything of a mail or of a login
    bool login = false;
  };
  explicit SmtpOrder(Needs needs) : needs_(needs) {}

  // The reply to what comes too early or twice. Empty: it may be said now.
  [[nodiscard]] std::string_view refuses(std::string_view verb) const;
  // It has been said, and was answered with a 2xx or not.
  void answered(std::string_view verb, bool positive);

 private:
  Needs needs_;
  bool secure_ = false;  // by STARTTLS
  bool greeted_ = false;
  bool logged_in_ = false;
  bool sender_ = false;  // of the mail that has been begun; and one recipient of it
  bool recipient_ = false;
};

}  // namespace sendonce::test
