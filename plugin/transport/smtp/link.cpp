#include "plugin/transport/smtp/link.hpp"

#include <chrono>
#include <utility>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

CallFailure unsent(Cause cause, std::string text) {
  CallFailure failure;
  failure.effect = Effect::not_sent;
  failure.cause = cause;
  failure.text = std::move(text);
  return failure;
}

HttpAnswer answer_of(SmtpReply&& reply, MailStep step) {
  HttpAnswer answer;
  answer.status = reply.code;
  answer.body = std::move(reply.lines);
  answer.step = step;
  return answer;
}

}  // namespace

std::unique_ptr<SmtpLink> SmtpLink::open(CurlMulti& multi, const SmtpOptions& options,
                                         const TrustStore& trust, Owner& owner) {
  std::unique_ptr<SmtpLink> link(new SmtpLink(multi, options, trust, owner));
  multi.add(link->easy_, *link);
  return link;
}

SmtpLink::SmtpLink(CurlMulti& multi, const SmtpOptions& options, const TrustStore& trust,
                   Owner& owner)
    : multi_(multi),
      owner_(owner),
      easy_(curl_easy_init()),
      trust_(trust),
      security_(options.endpoint.security),
      peer_(options.endpoint.at.host + ":" + std::to_string(options.endpoint.at.port)),
      proxy_(options.proxy),
      proxy_credentials_(!options.proxy_credentials.empty()) {
  SO_ASSERT(easy_ != nullptr);
  configure(options);
  configure_tls();
  configure_login(options.login);
}

SmtpLink::~SmtpLink() {
  multi_.remove(easy_);
  curl_easy_cleanup(easy_);
}

void SmtpLink::configure(const SmtpOptions& options) {
  const std::string scheme = security_ == MailSecurity::tls ? "smtps" : "smtp";
  // The path is what EHLO says; without it libcurl says the name of this host.
  const std::string url = scheme + "://" + peer_ + "/" + options.login.hello;
  // libcurl's own limit only backs up the owner's deadline.
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(options.connect_timeout) +
                     std::chrono::seconds(1);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, detail_);
  curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, scheme.c_str());
  curl_easy_setopt(easy_, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy_, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limit.count()));
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, on_line);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  sockets_.attach(easy_, false);
  curl_easy_setopt(easy_, CURLOPT_PROXY, options.proxy.c_str());
  curl_easy_setopt(easy_, CURLOPT_HTTPPROXYTUNNEL, 1L);
  curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (!options.proxy_credentials.empty())
    curl_easy_setopt(easy_, CURLOPT_PROXYUSERPWD, options.proxy_credentials.expose().c_str());
}

// As in h2/link.cpp: our own store in place of libcurl's.
void SmtpLink::configure_tls() {
  if (security_ == MailSecurity::starttls)
    curl_easy_setopt(easy_, CURLOPT_USE_SSL, static_cast<long>(CURLUSESSL_ALL));
  curl_easy_setopt(easy_, CURLOPT_SSL_ENABLE_ALPN, 0L);
  curl_easy_setopt(easy_, CURLOPT_SSL_SESSIONID_CACHE, 0L);
  curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(easy_, CURLOPT_CAINFO, nullptr);
  curl_easy_setopt(easy_, CURLOPT_CA_CACHE_TIMEOUT, 0L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_FUNCTION, on_ssl_ctx);
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_DATA, this);
}

// The two mechanisms that need nothing but the password: others would look for tickets or tokens.
void SmtpLink::configure_login(const SmtpLogin& login) {
  if (login.user.empty()) return;
  curl_easy_setopt(easy_, CURLOPT_USERNAME, login.user.c_str());
  curl_easy_setopt(easy_, CURLOPT_PASSWORD, login.password.expose().c_str());
  curl_easy_setopt(easy_, CURLOPT_LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN");
}

CURLcode SmtpLink::on_ssl_ctx(CURL*, void* ssl_ctx, void* self) {
  prepare_tls_stream(ssl_ctx, static_cast<SmtpLink*>(self)->trust_);
  return CURLE_OK;
}

// One line of a reply to what libcurl has sent.
std::size_t SmtpLink::on_line(char* data, std::size_t, std::size_t n, void* self) {
  auto& me = *static_cast<SmtpLink*>(self);
  std::string_view rest(data, n);
  if (me.reader_.feed(rest) != SmtpReplyReader::State::more) me.latest_ = me.reader_.take();
  return n;
}

void SmtpLink::on_done(CURLcode code) {
  if (code == CURLE_OK) {
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo(easy_, CURLINFO_ACTIVESOCKET, &fd);
    if (fd != CURL_SOCKET_BAD) {
      fd_ = fd;  // libcurl has let go of it with CURL_POLL_REMOVE
      owner_.on_link_up();
      return;
    }
    code = CURLE_COULDNT_CONNECT;
  }
  owner_.on_link_failed(refusal(code));
}

CallResult SmtpLink::refusal(CURLcode code) {
  const bool refused = latest_.code >= 400;
  if (code == CURLE_WEIRD_SERVER_REPLY)
    return refused ? CallResult(answer_of(std::move(latest_), MailStep::greeting))
                   : CallResult(unsent(Cause::connect,
                                       peer_ + " does not greet as a mail server: check endpoint"));
  if (code == CURLE_REMOTE_ACCESS_DENIED && refused)
    return answer_of(std::move(latest_), MailStep::hello);
  if (code == CURLE_LOGIN_DENIED)
    return refused ? CallResult(answer_of(std::move(latest_), MailStep::auth))
                   : CallResult(unsent(Cause::client_auth,
                                       peer_ + " offers neither AUTH PLAIN nor AUTH LOGIN"));
  if (code == CURLE_USE_SSL_FAILED)
    return refused
               ? CallResult(answer_of(std::move(latest_), MailStep::hello))
               : CallResult(unsent(Cause::tls, peer_ + " does not offer STARTTLS: check endpoint"));
  return explained(code);
}

CallFailure SmtpLink::explained(CURLcode code) const {
  if (code == CURLE_OPERATION_TIMEDOUT) return timed_out();
  const ConnectReport report = sockets_.report(easy_, code, detail_, !proxy_.empty());
  ConnectFailure why = explain(report, target());
  return unsent(why.cause, std::move(why.text));
}

CallFailure SmtpLink::timed_out() const {
  const ConnectPhase phase = sockets_.phase(easy_, !proxy_.empty());
  const bool spoken = latest_.code != 0 || security_ != MailSecurity::tls;
  if (phase == ConnectPhase::tls && spoken)
    return unsent(Cause::connect, peer_ + (latest_.code == 0 ? " did not greet in time"
                                                             : " did not answer EHLO, STARTTLS or "
                                                               "AUTH in time"));
  ConnectFailure why = explain_timeout(phase, target());
  return unsent(why.cause, std::move(why.text));
}

SmtpLink::Outcome SmtpLink::write(std::string_view bytes) {
  std::size_t n = 0;
  const CURLcode code = curl_easy_send(easy_, bytes.data(), bytes.size(), &n);
  if (code == CURLE_OK) return {Io::done, n};
  return {code == CURLE_AGAIN ? Io::again : Io::broken, 0};
}

SmtpLink::Outcome SmtpLink::read(std::span<char> bytes) {
  std::size_t n = 0;
  const CURLcode code = curl_easy_recv(easy_, bytes.data(), bytes.size(), &n);
  if (code == CURLE_AGAIN) return {Io::again, 0};
  if (code != CURLE_OK) return {Io::broken, 0};
  return {n == 0 ? Io::closed : Io::done, n};
}

}  // namespace sendonce
