#include "plugin/transport/h2/link.hpp"

#include <chrono>

#include "plugin/core/assert.hpp"

namespace sendonce {

TlsSessions::TlsSessions() : share_(curl_share_init()) {
  SO_ASSERT(share_ != nullptr);
  curl_share_setopt(share_, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

TlsSessions::~TlsSessions() {
  SO_ASSERT(curl_share_cleanup(share_) == CURLSHE_OK);
}

std::unique_ptr<Link> Link::open(CurlMulti& multi, const LinkOptions& options, Owner& owner) {
  std::unique_ptr<Link> link(new Link(multi, options, owner));
  multi.add(link->easy_, *link);
  return link;
}

Link::Link(CurlMulti& multi, const LinkOptions& options, Owner& owner)
    : multi_(multi),
      owner_(owner),
      easy_(curl_easy_init()),
      trust_(options.trust),
      peer_(options.endpoint.host + ":" + std::to_string(options.endpoint.port)),
      proxy_(options.proxy),
      client_certificate_(!options.client_certificate.empty()),
      proxy_credentials_(!options.proxy_credentials.empty()) {
  SO_ASSERT(easy_ != nullptr);
  configure(options);
  configure_tls(options);
}

Link::~Link() {
  multi_.remove(easy_);
  curl_easy_cleanup(easy_);
}

void Link::configure(const LinkOptions& options) {
  const std::string url = "https://" + peer_ + "/";
  // libcurl's own limit only backs up the owner's deadline, which covers the peer's SETTINGS too.
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(options.connect_timeout) +
                     std::chrono::seconds(1);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, detail_);
  curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(easy_, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_NODELAY, 1L);
  // Without it, giving up while a name is being looked up waits for the resolver.
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy_, CURLOPT_DNS_CACHE_TIMEOUT, 0L);  // each connection looks the name up
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limit.count()));
  sockets_.attach(easy_, true);
  curl_easy_setopt(easy_, CURLOPT_PROXY, options.proxy.c_str());
  if (!options.proxy_credentials.empty()) {
    curl_easy_setopt(easy_, CURLOPT_PROXYUSERPWD, options.proxy_credentials.expose().c_str());
  }
}

void Link::configure_tls(const LinkOptions& options) {
  curl_easy_setopt(easy_, CURLOPT_SHARE, options.sessions.get());
  // libcurl would offer http/1.1 too, or speak HTTP/2 itself.
  curl_easy_setopt(easy_, CURLOPT_SSL_ENABLE_ALPN, 0L);
  // Both must be NULL: Debian's libcurl trusts a built-in directory beside any CAINFO, and parses a
  // bundle anew for each connection. Our own store takes their place.
  curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(easy_, CURLOPT_CAINFO, nullptr);
  // Else libcurl (7.88.1) puts the store of the multi handle's first connection into all later
  // ones.
  curl_easy_setopt(easy_, CURLOPT_CA_CACHE_TIMEOUT, 0L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, 2L);
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_FUNCTION, on_ssl_ctx);
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_DATA, this);
  curl_easy_setopt(easy_, CURLOPT_PREREQFUNCTION, on_before_request);
  curl_easy_setopt(easy_, CURLOPT_PREREQDATA, this);
  if (!client_certificate_) return;
  curl_easy_setopt(easy_, CURLOPT_SSLCERT, options.client_certificate.c_str());
  const std::string& key =
      options.client_key.empty() ? options.client_certificate : options.client_key;
  curl_easy_setopt(easy_, CURLOPT_SSLKEY, key.c_str());
}

CURLcode Link::on_ssl_ctx(CURL*, void* ssl_ctx, void* self) {
  auto& me = *static_cast<Link*>(self);
  return prepare_tls_h2(ssl_ctx, me.trust_, me.handshake_) ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

// TLS is up and verified, nothing has been written.
int Link::on_before_request(void* self, char*, char*, int, int) {
  return static_cast<Link*>(self)->handshake_.h2 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

ConnectPhase Link::phase() const {
  return sockets_.phase(easy_, !proxy_.empty());
}

ConnectTarget Link::target() const {
  return {peer_, proxy_, client_certificate_, proxy_credentials_};
}

ConnectFailure Link::timed_out() const {
  return explain_timeout(phase(), target());
}

void Link::on_done(CURLcode code) {
  if (code == CURLE_OK && handshake_.h2) {
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo(easy_, CURLINFO_ACTIVESOCKET, &fd);
    if (fd != CURL_SOCKET_BAD) {
      fd_ = fd;  // libcurl has let go of it with CURL_POLL_REMOVE
      owner_.on_link_up();
      return;
    }
  }
  ConnectReport report = sockets_.report(easy_, code, detail_, !proxy_.empty());
  report.tls_done = handshake_.done;
  report.h2 = handshake_.h2;
  owner_.on_link_failed(explain(report, target()));
}

Link::Outcome Link::write(std::span<const std::uint8_t> bytes) {
  std::size_t n = 0;
  const CURLcode code = curl_easy_send(easy_, bytes.data(), bytes.size(), &n);
  if (code == CURLE_OK) return {Io::done, n};
  return {code == CURLE_AGAIN ? Io::again : Io::broken, 0};
}

Link::Outcome Link::read(std::span<std::uint8_t> bytes) {
  std::size_t n = 0;
  const CURLcode code = curl_easy_recv(easy_, bytes.data(), bytes.size(), &n);
  if (code == CURLE_AGAIN) return {Io::again, 0};
  if (code != CURLE_OK) return {Io::broken, 0};
  return {n == 0 ? Io::closed : Io::done, n};
}

}  // namespace sendonce
