// A TLS connection that libcurl makes (name, proxy, TLS and its verification, client certificate)
// and hands over to be spoken on: CURLOPT_CONNECT_ONLY. No thread, no blocking call; libcurl's own
// resolver thread may outlive a link that is given up while its name is being looked up.
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
#include "plugin/transport/tls.hpp"

namespace sendonce {

// TLS sessions of one provider, kept for resumption. Not shared between providers: a session was
// verified against its own provider's CAs.
class TlsSessions {
 public:
  TlsSessions();
  ~TlsSessions();  // every link must be gone
  TlsSessions(const TlsSessions&) = delete;
  TlsSessions& operator=(const TlsSessions&) = delete;
  [[nodiscard]] CURLSH* get() const noexcept { return share_; }

 private:
  CURLSH* share_;
};

// Borrowed for open() only, apart from trust and sessions, which must outlive the link.
struct LinkOptions {
  const Endpoint& endpoint;
  const TrustStore& trust;
  const TlsSessions& sessions;
  const std::string& client_certificate;  // PEM files; empty: none
  const std::string& client_key;
  const std::string& proxy;             // http://host:port; empty: none, whatever $https_proxy says
  const Credential& proxy_credentials;  // user:password
  Duration connect_timeout;
};

class Link final : private CurlMulti::Transfer {
 public:
  class Owner {
   public:
    // Speak at once, in this call: libcurl 8.14 drops a connection that was never used when it
    // opens another.
    virtual void on_link_up() = 0;
    virtual void on_link_failed(const ConnectFailure& failure) = 0;

   protected:
    ~Owner() = default;
  };
  enum class Io : std::uint8_t { done, again, closed, broken };
  struct Outcome {
    Io io = Io::broken;
    std::size_t bytes = 0;
  };

  [[nodiscard]] static std::unique_ptr<Link> open(CurlMulti& multi, const LinkOptions& options,
                                                  Owner& owner);
  ~Link();  // closes
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] bool up() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool resumed() const noexcept { return handshake_.resumed; }
  [[nodiscard]] ConnectFailure timed_out() const;
  // Whether the last read failed because the peer does not take our certificate.
  [[nodiscard]] bool certificate_refused() const { return refuses_certificate(detail_); }

  // `again`: nothing was taken, yet bytes may be on the wire; repeat with the same bytes.
  [[nodiscard]] Outcome write(std::span<const std::uint8_t> bytes);
  // Read until `again`: what is left in the TLS layer never shows up in epoll.
  [[nodiscard]] Outcome read(std::span<std::uint8_t> bytes);

 private:
  Link(CurlMulti& multi, const LinkOptions& options, Owner& owner);
  void configure(const LinkOptions& options);
  void configure_tls(const LinkOptions& options);
  void on_done(CURLcode code) override;
  [[nodiscard]] ConnectPhase phase() const;
  [[nodiscard]] ConnectTarget target() const;
  static CURLcode on_ssl_ctx(CURL* easy, void* ssl_ctx, void* self);
  static int on_before_request(void* self, char*, char*, int, int);

  CurlMulti& multi_;
  Owner& owner_;
  CURL* easy_;
  TrustStore trust_;
  Handshake handshake_{};
  ConnectSockets sockets_{};
  std::string peer_{};
  std::string proxy_{};
  bool client_certificate_ = false;
  bool proxy_credentials_ = false;
  int fd_ = -1;
  char detail_[CURL_ERROR_SIZE] = {};
};

}  // namespace sendonce
