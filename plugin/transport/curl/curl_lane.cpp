#include "plugin/transport/curl/curl_lane.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "plugin/core/ascii.hpp"
#include "plugin/core/assert.hpp"
#include "plugin/transport/curl/connect_failure.hpp"
#include "plugin/transport/curl/connect_sockets.hpp"
#include "plugin/transport/endpoint.hpp"

namespace sendonce {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool breaks_the_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

bool is_one_line_each(const Headers& headers) {
  for (const Headers::View h : headers) {
    if (breaks_the_line(h.name) || breaks_the_line(h.value)) return false;
  }
  return true;
}

// libcurl counts whole seconds: less than two. Servers that close first do so after two or more.
constexpr long kIdleSeconds = 1;
constexpr long kLifeSeconds = 300;  // then the name is looked up again

constexpr std::string_view kLate = "its deadline came before its first byte";

CallFailure unsent(Cause cause, std::string text) {
  CallFailure failure;
  failure.effect = Effect::not_sent;
  failure.cause = cause;
  failure.text = std::move(text);
  return failure;
}

}  // namespace

class CurlLane::Exchange final : public CurlMulti::Transfer {
 public:
  Exchange(CurlLane& lane, Ticket ticket, ProviderIndex provider, HttpRequest&& request,
           Duration timeout, const Endpoint& endpoint, const LaneOptions& options);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void on_done(CURLcode code) override { lane_.finish(*this, result(code)); }
  [[nodiscard]] CallResult abandoned(Cause cause, std::string text);

  const Ticket ticket;
  const ProviderIndex provider;
  const MonoTime submitted;

 private:
  void configure(Duration timeout, const Endpoint& endpoint, const LaneOptions& options);
  void configure_request();
  [[nodiscard]] CallResult result(CURLcode code);
  [[nodiscard]] CallFailure explain_unsent(CURLcode code) const;
  static std::size_t on_header(char* data, std::size_t size, std::size_t n, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t n, void* self);
  static CURLcode on_ssl_ctx(CURL* easy, void* ssl_ctx, void* self);
  static int on_before_request(void* self, char*, char*, int, int);

  CurlLane& lane_;
  HttpRequest request_;
  AnswerLimits limits_;
  TrustStore trust_;
  std::string peer_;
  std::string proxy_;
  bool proxy_credentials_;
  ConnectSockets sockets_{};
  CURL* easy_;
  curl_slist* headers_ = nullptr;
  HttpAnswer answer_{};
  std::size_t header_bytes_ = 0;
  int transmissions_ = 0;  // begun
  bool late_ = false;      // the deadline came while the connection was made
  bool oversized_ = false;
  char detail_[CURL_ERROR_SIZE] = {};
};

CurlLane::Exchange::Exchange(CurlLane& lane, Ticket t, ProviderIndex p, HttpRequest&& request,
                             Duration timeout, const Endpoint& endpoint, const LaneOptions& options)
    : ticket(t),
      provider(p),
      submitted(lane.clock_.mono()),
      lane_(lane),
      request_(std::move(request)),
      limits_(options.limits),
      trust_(options.trust),
      peer_(request_.by_url ? "the receiver" : endpoint.host + ":" + std::to_string(endpoint.port)),
      proxy_(options.proxy),
      proxy_credentials_(!options.proxy_credentials.empty()),
      easy_(curl_easy_init()) {
  SO_ASSERT(easy_ != nullptr);
  configure(timeout, endpoint, options);
  configure_request();
  lane_.multi_.add(easy_, *this);
}

CurlLane::Exchange::~Exchange() {
  lane_.multi_.remove(easy_);
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

void CurlLane::Exchange::configure(Duration timeout, const Endpoint& endpoint,
                                   const LaneOptions& options) {
  using std::chrono::ceil, std::chrono::milliseconds;
  const auto connect = ceil<milliseconds>(options.connect_timeout);
  const auto total = std::max(ceil<milliseconds>(timeout), milliseconds(1));
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, detail_);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, endpoint.tls ? "https" : "http");
  curl_easy_setopt(easy_, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy_, CURLOPT_HTTP09_ALLOWED, 0L);
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy_, CURLOPT_DNS_CACHE_TIMEOUT, 0L);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect.count()));
  curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(total.count()));
  sockets_.attach(easy_, false);
  curl_easy_setopt(easy_, CURLOPT_PROXY, options.proxy.c_str());
  if (!options.proxy_credentials.empty()) {
    curl_easy_setopt(easy_, CURLOPT_PROXYUSERPWD, options.proxy_credentials.expose().c_str());
  }
  if (lane_.keep_alive_) {
    curl_easy_setopt(easy_, CURLOPT_MAXAGE_CONN, kIdleSeconds);
    curl_easy_setopt(easy_, CURLOPT_MAXLIFETIME_CONN, kLifeSeconds);
  } else {
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
  }
  curl_easy_setopt(easy_, CURLOPT_SSL_SESSIONID_CACHE, 0L);
  curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(easy_, CURLOPT_CAINFO, nullptr);
  curl_easy_setopt(easy_, CURLOPT_CA_CACHE_TIMEOUT, 0L);  // else the first store serves all
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_FUNCTION, on_ssl_ctx);
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_DATA, this);
  curl_easy_setopt(easy_, CURLOPT_PREREQFUNCTION, on_before_request);
  curl_easy_setopt(easy_, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  // The answer to CONNECT is the proxy's, not the provider's.
  curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
}

void CurlLane::Exchange::configure_request() {
  curl_easy_setopt(easy_, CURLOPT_URL, request_.url.c_str());
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);  // a signature may cover it
  headers_ = curl_slist_append(nullptr, "Expect:");
  for (const Headers::View h : request_.headers) {
    std::string line(h.name);
    // An empty value: libcurl drops "name:" and sends "name;" as "name:".
    line += h.value.empty() ? ";" : ": ";
    line += h.value;
    headers_ = curl_slist_append(headers_, line.c_str());
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  if (request_.method == "GET" && request_.body.empty()) return;
  curl_easy_setopt(easy_, CURLOPT_POST, 1L);
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request_.body.size()));
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body.c_str());
  if (request_.method != "POST") {
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
  }
}

CURLcode CurlLane::Exchange::on_ssl_ctx(CURL*, void* ssl_ctx, void* self) {
  prepare_tls(ssl_ctx, static_cast<Exchange*>(self)->trust_);
  return CURLE_OK;
}

// The last moment before the first byte: law 12.
int CurlLane::Exchange::on_before_request(void* self, char*, char*, int, int) {
  auto& me = *static_cast<Exchange*>(self);
  if (me.transmissions_ == 0 && me.lane_.is_late(me.request_)) {
    me.late_ = true;
    return CURL_PREREQFUNC_ABORT;
  }
  return ++me.transmissions_ > 1 ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

std::size_t CurlLane::Exchange::on_header(char* data, std::size_t, std::size_t n, void* self) {
  auto& me = *static_cast<Exchange*>(self);
  const std::string_view line = trimmed({data, n});
  me.header_bytes_ += n;
  if (me.header_bytes_ > me.limits_.header_bytes ||
      me.answer_.headers.size() >= me.limits_.header_count) {
    me.oversized_ = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {  // an interim answer gives way to the next
    me.answer_.headers.clear();
    return n;
  }
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    me.answer_.headers.add(lower_ascii(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return n;
}

std::size_t CurlLane::Exchange::on_body(char* data, std::size_t, std::size_t n, void* self) {
  auto& me = *static_cast<Exchange*>(self);
  if (me.answer_.body.size() + n > me.limits_.body_bytes) {
    me.oversized_ = true;
    return 0;
  }
  me.answer_.body.append(data, n);
  return n;
}

CallFailure CurlLane::Exchange::explain_unsent(CURLcode code) const {
  const ConnectReport report = sockets_.report(easy_, code, detail_, !proxy_.empty());
  ConnectFailure why = explain(report, {peer_, proxy_, false, proxy_credentials_, false});
  return unsent(why.cause, std::move(why.text));
}

CallResult CurlLane::Exchange::result(CURLcode code) {
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  answer_.status = static_cast<int>(status);
  if (code == CURLE_OK && status >= 200) return std::move(answer_);
  if (late_) return unsent(Cause::not_started, std::string(kLate));
  if (transmissions_ == 0) return explain_unsent(code);
  if (oversized_) return abandoned(Cause::oversized, "the answer is too large");
  if (transmissions_ > 1)
    return abandoned(Cause::connection_lost, peer_ + " closed a connection that was used again");
  if (code == CURLE_OPERATION_TIMEDOUT) {
    return abandoned(Cause::timed_out, peer_ + " did not answer in time");
  }
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY) {
    return abandoned(Cause::tls, peer_ + " does not speak HTTP: check endpoint");
  }
  if (refuses_certificate(detail_)) {
    return abandoned(Cause::client_auth, peer_ + " asks for a client certificate");
  }
  return abandoned(Cause::connection_lost,
                   "the connection to " + peer_ + " was lost (" + curl_easy_strerror(code) + ")");
}

CallResult CurlLane::Exchange::abandoned(Cause cause, std::string text) {
  CallFailure failure;
  failure.effect = transmissions_ == 0 ? Effect::not_sent : Effect::maybe_sent;
  failure.cause = cause;
  failure.text = std::move(text);
  if (answer_.status != 0) failure.partial = std::move(answer_);
  return failure;
}

CurlLane::CurlLane(EventLoop& loop, const Clock& clock, std::vector<Completion>& ready,
                   Connections connections, std::size_t max_open)
    : clock_(clock),
      ready_(ready),
      keep_alive_(connections == Connections::kept_alive),
      max_open_(max_open),
      multi_(loop, clock) {
  if (keep_alive_) multi_.keep_at_most(max_open_);
}

bool CurlLane::is_late(const HttpRequest& request) const {
  return clock_.wall() > request.not_after_wall || clock_.mono() > request.not_after_mono;
}

CurlLane::~CurlLane() {
  while (!transfers_.empty()) {
    Exchange& exchange = *transfers_.back();
    finish(exchange, exchange.abandoned(Cause::not_started, "the transport is closing"));
  }
}

bool CurlLane::start(Ticket ticket, ProviderIndex provider, HttpRequest&& request, Duration timeout,
                     const LaneOptions& options) {
  if (transfers_.size() >= max_open_) return false;
  auto endpoint = parse_url(request.url, options.insecure);
  std::string refusal;
  if (!endpoint)
    refusal = endpoint.error().text;
  else if (breaks_the_line(request.url) || !is_one_line_each(request.headers))
    refusal = "a header or the URL holds a line break";
  else if (is_late(request))
    refusal = kLate;
  if (!refusal.empty()) {
    ready_.push_back({ticket, unsent(Cause::not_started, std::move(refusal)), Duration{0}});
    return true;
  }
  transfers_.push_back(std::make_unique<Exchange>(*this, ticket, provider, std::move(request),
                                                  timeout, *endpoint, options));
  return true;
}

bool CurlLane::cancel(Ticket ticket) {
  for (const auto& exchange : transfers_) {
    if (exchange->ticket != ticket) continue;
    finish(*exchange, exchange->abandoned(Cause::cancelled, "cancelled"));
    return true;
  }
  return false;
}

void CurlLane::finish(Exchange& exchange, CallResult&& result) {
  ready_.push_back({exchange.ticket, std::move(result), clock_.mono() - exchange.submitted});
  std::erase_if(transfers_, [&](const auto& e) { return e.get() == &exchange; });
}

}  // namespace sendonce
