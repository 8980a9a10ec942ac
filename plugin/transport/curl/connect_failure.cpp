#include "plugin/transport/curl/connect_failure.hpp"

#include <array>
#include <cctype>
#include <system_error>

#include <curl/curl.h>

#include "plugin/transport/tls.hpp"

namespace sendonce {
namespace {

// X509_V_ERR_... of <openssl/x509_vfy.h>, fixed numbers.
constexpr long kCertNotYetValid = 9;
constexpr long kCertExpired = 10;

bool contains_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

std::string at(const ConnectTarget& target) {
  return std::string(target.peer);
}

ConnectFailure explain_certificate(const ConnectReport& report, const ConnectTarget& target) {
  const long code = report.verify_result;
  std::string text = "certificate of " + at(target) + " refused: ";
  // libcurl sets 1, or nothing, when only the name is wrong.
  if (code <= 1) {
    text += "it is not valid for this host name; check endpoint";
  } else {
    text += verify_error_text(code);
    text +=
        code == kCertExpired || code == kCertNotYetValid ? "; check both clocks" : "; check tls.ca";
  }
  return {Cause::tls, std::move(text)};
}

// The cure comes first: what the ledger keeps of it ends after 120 bytes.
std::string no_h2(const ConnectTarget& target) {
  return at(target) +
         " does not offer HTTP/2: write version = \"1.1\" (kinds http, module) "
         "or check endpoint and proxy";
}

ConnectFailure explain_handshake(const ConnectReport& report, const ConnectTarget& target) {
  const std::string_view detail = report.detail;
  if (refuses_certificate(detail)) {
    return {Cause::client_auth,
            at(target) + " refused our client certificate: " +
                (target.client_certificate ? "renew it" : "none is configured")};
  }
  if (contains_word(detail, "no application protocol")) {
    return {Cause::tls, target.asks_h2
                            ? no_h2(target)
                            : at(target) + " does not offer HTTP/1.1: check endpoint and proxy"};
  }
  if (target.client_certificate && contains_word(detail, "handshake failure")) {
    return {Cause::client_auth,
            at(target) + " ended the TLS handshake, probably over our client certificate"};
  }
  if (contains_word(detail, "wrong version number")) {
    return {Cause::tls, at(target) + " does not speak TLS: check endpoint"};
  }
  return {Cause::tls, "TLS handshake with " + at(target) + " failed: check endpoint and proxy"};
}

ConnectFailure explain_proxy(const ConnectReport& report, const ConnectTarget& target) {
  const std::string proxy = "proxy " + std::string(target.proxy);
  const std::string status = std::to_string(report.proxy_status);
  if (report.proxy_status == 407) {
    // Without credentials nothing of ours was refused: they are missing from the configuration.
    return target.proxy_credentials
               ? ConnectFailure{Cause::client_auth,
                                proxy + " answered 407: renew proxy_credentials"}
               : ConnectFailure{Cause::tls, proxy + " answered 407: set proxy_credentials"};
  }
  if (report.proxy_status != 0) {
    return {Cause::connect, proxy + " answered " + status + " to CONNECT " + at(target)};
  }
  return {Cause::connect, proxy + " closed the connection in CONNECT " + at(target)};
}

std::string unreachable(const ConnectReport& report, std::string_view what) {
  std::string text(what);
  text += " cannot be reached";
  if (report.os_errno != 0) {
    text += ": " +
            std::error_code(static_cast<int>(report.os_errno), std::generic_category()).message();
  }
  return text;
}

ConnectFailure explain_reach(const ConnectReport& report, const ConnectTarget& target) {
  const bool by_proxy = !target.proxy.empty();
  switch (report.code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
      return {Cause::connect, "the name of proxy " + std::string(target.proxy) + " was not found"};
    case CURLE_COULDNT_RESOLVE_HOST:
      return {Cause::connect,
              "the name of " + at(target) + " was not found: check endpoint and DNS"};
    case CURLE_COULDNT_CONNECT:
      return {Cause::connect,
              unreachable(report, by_proxy ? "proxy " + std::string(target.proxy) : at(target))};
    default:
      return {Cause::connect, "connecting to " + at(target) + " failed (" +
                                  curl_easy_strerror(static_cast<CURLcode>(report.code)) + ")"};
  }
}

}  // namespace

bool refuses_certificate(std::string_view detail) {
  // OpenSSL's names for the alerts of RFC 8446 6.2 that concern the certificate we showed.
  static constexpr std::array<std::string_view, 9> kAlerts{
      "alert certificate required", "alert bad certificate",     "alert unsupported certificate",
      "alert certificate revoked",  "alert certificate expired", "alert certificate unknown",
      "alert unknown ca",           "alert access denied",       "alert no certificate"};
  for (const std::string_view alert : kAlerts) {
    if (contains_word(detail, alert)) return true;
  }
  return false;
}

ConnectFailure explain_timeout(ConnectPhase phase, const ConnectTarget& target) {
  switch (phase) {
    case ConnectPhase::resolving:
      return {Cause::connect, "looking up the name of " + at(target) + " took too long: check DNS"};
    case ConnectPhase::reaching:
      return {Cause::connect, "no answer to connecting to " +
                                  (target.proxy.empty() ? at(target) : std::string(target.proxy)) +
                                  ": check the network and firewalls"};
    case ConnectPhase::proxying:
      return {Cause::connect,
              "proxy " + std::string(target.proxy) + " did not answer CONNECT " + at(target)};
    case ConnectPhase::tls:
      return {Cause::connect, "TLS handshake with " + at(target) + " took too long"};
  }
  SO_ASSERT(false);
}

ConnectFailure explain(const ConnectReport& report, const ConnectTarget& target) {
  if (report.tls_done && !report.h2) {
    return {Cause::tls, no_h2(target)};
  }
  switch (report.code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return explain_certificate(report, target);
    case CURLE_SSL_CERTPROBLEM:
      return {Cause::client_auth,
              "the client certificate or its key cannot be read, or they do not match"};
    case CURLE_SSL_CONNECT_ERROR:
      return explain_handshake(report, target);
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
      return {Cause::tls, "TLS to " + at(target) + " cannot be set up (" +
                              curl_easy_strerror(static_cast<CURLcode>(report.code)) + ")"};
    case CURLE_OPERATION_TIMEDOUT:
      return explain_timeout(report.phase, target);
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
      if (refuses_certificate(report.detail)) return explain_handshake(report, target);
      if (!target.proxy.empty() && report.phase <= ConnectPhase::proxying) {
        return explain_proxy(report, target);
      }
      return explain_reach(report, target);
    default:
      return explain_reach(report, target);
  }
}

}  // namespace sendonce
