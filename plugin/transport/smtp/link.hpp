// A connection to a mail server that libcurl makes (name, proxy, TLS or STARTTLS and their
// verification, EHLO, AUTH) and hands over before the first MAIL: CURLOPT_CONNECT_ONLY. No thread,
// no blocking call.
//
// libcurl's own transfer of a message waits for the reply to its end in a call that blocks the
// whole multi handle (lib/smtp.c, smtp_done; measured with 7.88.1), and cannot say what the server
// has had. So it connects, and the transaction is ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plugin/core/secret.hpp"
#include "plugin/transport/curl/connect_failure.hpp"
#include "plugin/transport/curl/connect_sockets.hpp"
#include "plugin/transport/curl/curl_multi.hpp"
#include "plugin/transport/endpoint.hpp"
#include "plugin/transport/smtp/options.hpp"
#include "plugin/transport/smtp/reply.hpp"
#include "plugin/transport/tls.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

class SmtpLink final : private CurlMulti::Transfer {
 public:
  class Owner {
   public:
    // Speak at once, in this call: libcurl 8.14 drops a connection that was never used when it
    // opens another.
    virtual void on_link_up() = 0;
    // The server's refusal, or why there was none. Always not_sent.
    virtual void on_link_failed(CallResult&& why) = 0;

   protected:
    ~Owner() = default;
  };
  enum class Io : std::uint8_t { done, again, closed, broken };
  struct Outcome {
    Io io = Io::broken;
    std::size_t bytes = 0;
  };

  [[nodiscard]] static std::unique_ptr<SmtpLink> open(CurlMulti& multi, const SmtpOptions& options,
                                                      const TrustStore& trust, Owner& owner);
  ~SmtpLink();  // closes, without QUIT
  SmtpLink(const SmtpLink&) = delete;
  SmtpLink& operator=(const SmtpLink&) = delete;

  [[nodiscard]] bool up() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }
  [[nodiscard]] CallFailure timed_out() const;

  // `again`: nothing was taken, yet bytes may be on the wire; repeat with the same bytes.
  [[nodiscard]] Outcome write(std::string_view bytes);
  // Read until `again`: what is left in the TLS layer never shows up in epoll.
  [[nodiscard]] Outcome read(std::span<char> bytes);

 private:
  SmtpLink(CurlMulti& multi, const SmtpOptions& options, const TrustStore& trust, Owner& owner);
  void configure(const SmtpOptions& options);
  void configure_tls();
  void configure_login(const SmtpLogin& login);
  void on_done(CURLcode code) override;
  [[nodiscard]] CallResult refusal(CURLcode code);
  [[nodiscard]] CallFailure explained(CURLcode code) const;
  [[nodiscard]] ConnectTarget target() const { return {peer_, proxy_, false, proxy_credentials_}; }
  static CURLcode on_ssl_ctx(CURL* easy, void* ssl_ctx, void* self);
  static std::size_t on_line(char* data, std::size_t size, std::size_t n, void* self);

  CurlMulti& multi_;
  Owner& owner_;
  CURL* easy_;
  TrustStore trust_;
  ConnectSockets sockets_{};
  MailSecurity security_;
  std::string peer_{};
  std::string proxy_{};
  bool proxy_credentials_ = false;
  SmtpReplyReader reader_{};
  SmtpReply latest_{};  // whole reply
  int fd_ = -1;
  char detail_[CURL_ERROR_SIZE] = {};
};

}  // namespace sendonce
