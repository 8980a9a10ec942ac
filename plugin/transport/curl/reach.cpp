#include "plugin/transport/curl/reach.hpp"

#include <array>
#include <memory>

#include <curl/curl.h>

#include "plugin/core/assert.hpp"
#include "plugin/transport/curl/connect_sockets.hpp"
#include "plugin/transport/curl/curl_multi.hpp"
#include "plugin/transport/endpoint.hpp"
#include "plugin/transport/tls.hpp"

namespace sendonce {
namespace {

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

// One attempt. Must not move: libcurl holds pointers into it.
class Attempt {
 public:
  Attempt(const ReachOptions& options, TrustStore trust, std::string peer)
      : options_(options),
        trust_(std::move(trust)),
        peer_(std::move(peer)),
        easy_(curl_easy_init()) {
    SO_ASSERT(easy_ != nullptr);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() = default;

  Result<void> run() {
    configure();
    configure_tls();
    const CURLcode code = curl_easy_perform(easy_.get());
    if (code == CURLE_OK) return {};
    return std::unexpected(error_of(code));
  }

 private:
  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(easy_.get(), option, value);
  }

  void configure() {
    const auto limit = std::chrono::ceil<std::chrono::milliseconds>(options_.timeout);
    set(CURLOPT_ERRORBUFFER, detail_.data());
    set(CURLOPT_URL, options_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "https,http,smtp,smtps");
    set(CURLOPT_CONNECT_ONLY, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limit.count()));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(limit.count()));
    sockets_.attach(easy_.get(), false);
    set(CURLOPT_PROXY, options_.proxy.c_str());
    set(CURLOPT_HTTPPROXYTUNNEL, 1L);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (!options_.proxy_credentials.empty())
      set(CURLOPT_PROXYUSERPWD, options_.proxy_credentials.expose().c_str());
  }

  // As in h2/link.cpp: our own store in place of libcurl's.
  void configure_tls() {
    if (options_.starttls) set(CURLOPT_USE_SSL, static_cast<long>(CURLUSESSL_ALL));
    set(CURLOPT_SSL_ENABLE_ALPN, 0L);
    set(CURLOPT_CAPATH, nullptr);
    set(CURLOPT_CAINFO, nullptr);
    set(CURLOPT_CA_CACHE_TIMEOUT, 0L);
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_SSL_CTX_FUNCTION, on_ssl_ctx);
    set(CURLOPT_SSL_CTX_DATA, this);
    set(CURLOPT_PREREQFUNCTION, on_before_request);
    set(CURLOPT_PREREQDATA, this);
  }

  static CURLcode on_ssl_ctx(CURL*, void* ssl_ctx, void* self) {
    auto& me = *static_cast<Attempt*>(self);
    if (!me.options_.h2) {
      prepare_tls_stream(ssl_ctx, me.trust_);
      return CURLE_OK;
    }
    return prepare_tls_h2(ssl_ctx, me.trust_, me.handshake_) ? CURLE_OK : CURLE_OUT_OF_MEMORY;
  }

  static int on_before_request(void* self, char*, char*, int, int) {
    const auto& me = *static_cast<const Attempt*>(self);
    const bool fine = !me.options_.h2 || me.handshake_.h2;
    return fine ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
  }

  [[nodiscard]] Error error_of(CURLcode code) const {
    if (code == CURLE_USE_SSL_FAILED)
      return {Errc::invalid, peer_ + " does not offer STARTTLS: check endpoint"};
    if (code == CURLE_WEIRD_SERVER_REPLY)
      return {Errc::invalid, peer_ + " does not greet as a mail server: check endpoint"};
    const bool by_proxy = !options_.proxy.empty();
    const ConnectTarget target{.peer = peer_, .proxy = options_.proxy, .asks_h2 = options_.h2};
    ConnectFailure why;
    if (code == CURLE_OPERATION_TIMEDOUT) {
      why = explain_timeout(sockets_.phase(easy_.get(), by_proxy), target);
    } else {
      ConnectReport report = sockets_.report(easy_.get(), code, detail_.data(), by_proxy);
      report.tls_done = handshake_.done;
      report.h2 = !options_.h2 || handshake_.h2;
      why = explain(report, target);
    }
    if (why.cause == Cause::tls) return {Errc::invalid, std::move(why.text)};
    return {why.cause == Cause::client_auth ? Errc::denied : Errc::unavailable,
            std::move(why.text)};
  }

  const ReachOptions& options_;
  TrustStore trust_;
  std::string peer_;
  Handshake handshake_{};
  ConnectSockets sockets_{};
  std::array<char, CURL_ERROR_SIZE> detail_{};
  std::unique_ptr<CURL, FreeEasy> easy_;  // last: goes first
};

Result<Endpoint> endpoint_of(const std::string& url) {
  if (!url.starts_with("smtp")) return parse_url(url, true);
  SO_TRY(const MailEndpoint mail, parse_mail_endpoint(url, true));
  return mail.at;
}

}  // namespace

Result<void> reach(const ReachOptions& options) {
  init_curl_once();
  SO_TRY(const Endpoint endpoint, endpoint_of(options.url));
  SO_TRY(TrustStore trust,
         TrustStore::load(options.ca_file.empty() ? system_ca_file() : options.ca_file));
  Attempt attempt(options, std::move(trust), endpoint.host + ":" + std::to_string(endpoint.port));
  return attempt.run();
}

}  // namespace sendonce
