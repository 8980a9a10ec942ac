#include "plugin/transport/h2/h2_transport.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <ratio>
#include <utility>

#include <sys/stat.h>

#include "plugin/core/assert.hpp"

namespace sendonce {
namespace {

constexpr std::size_t kLanePlaces = 64;             // of one provider, for HTTP/1.1
constexpr std::size_t kMaxHeaderBytes = 60 * 1024;  // Headers counts in 16 bits

std::unexpected<Error> bad_option(const H2Options& options, std::string_view option,
                                  std::string_view what) {
  std::string text = "provider ";
  text.append(options.name).append(": ").append(option).append(": ").append(what);
  return fail(Errc::invalid, std::move(text));
}

Result<void> check_proxy(const H2Options& options) {
  if (options.proxy.empty()) return {};
  constexpr std::string_view kHttp = "http://";
  if (!options.proxy.starts_with(kHttp)) {
    return bad_option(options, "proxy", "only http://host:port is supported");
  }
  // A proxy is not bound to loopback: what passes it is TLS to the provider.
  const auto parsed = parse_endpoint("https://" + options.proxy.substr(kHttp.size()), false);
  if (!parsed) return bad_option(options, "proxy", parsed.error().text);
  return {};
}

Result<void> check_numbers(const H2Options& options) {
  if (options.connections == 0) return bad_option(options, "connections", "must be at least 1");
  if (options.streams == 0) return bad_option(options, "streams", "must be at least 1");
  if (options.limits.header_bytes > kMaxHeaderBytes) {
    return bad_option(options, "header limit", "must be at most 60 KiB");
  }
  const Duration least = std::chrono::milliseconds(1);
  if (options.connect_timeout < least)
    return bad_option(options, "connect", "must be at least 1ms");
  if (options.backoff_min < least || options.backoff_max < options.backoff_min) {
    return bad_option(options, "backoff", "must begin at 1ms or more and not end below its begin");
  }
  return {};
}

Result<Endpoint> check_endpoint(const H2Options& options) {
  auto endpoint = parse_endpoint(options.endpoint, options.insecure);
  if (!endpoint) return bad_option(options, "endpoint", endpoint.error().text);
  if (!endpoint->tls) {
    return bad_option(options, "endpoint", "HTTP/2 is spoken over TLS only: use https");
  }
  return endpoint;
}

// Where requests name the place themselves, the endpoint stays empty.
Result<Endpoint> check(const H2Options& options) {
  Endpoint endpoint;
  if (!options.many_origins && !options.http1 && !options.smtp) {
    SO_TRY(endpoint, check_endpoint(options));
  }
  SO_CHECK(check_proxy(options));
  SO_CHECK(check_numbers(options));
  return endpoint;
}

}  // namespace

Result<std::unique_ptr<H2Transport>> H2Transport::create(const Clock& clock, Log& log,
                                                         std::uint64_t seed) {
  init_curl_once();
  SO_TRY(auto loop, EventLoop::create());
  return std::unique_ptr<H2Transport>(new H2Transport(std::move(loop), clock, log, seed));
}

H2Transport::H2Transport(std::unique_ptr<EventLoop> loop, const Clock& clock, Log& log,
                         std::uint64_t seed)
    : loop_(std::move(loop)),
      random_(seed),
      wheel_(clock.mono()),
      multi_(*loop_, clock),
      lane_(std::make_unique<CurlLane>(*loop_, clock, ready_, Connections::used_once)),
      context_{clock, log, random_, *loop_, multi_, wheel_, calls_, ready_, clock.mono()} {}

H2Transport::~H2Transport() = default;

// ---- providers ------------------------------------------------------------------------------

Result<TrustStore> H2Transport::trust_for(const std::string& ca_file) {
  const std::string file = ca_file.empty() ? system_ca_file() : ca_file;
  struct ::stat info{};
  const bool there = ::stat(file.c_str(), &info) == 0;
  const std::int64_t changed =
      there ? info.st_mtim.tv_sec * std::nano::den + info.st_mtim.tv_nsec : 0;
  for (const LoadedTrust& t : trusts_) {
    if (t.file == file && t.changed == changed) return t.store;
  }
  SO_TRY(TrustStore store, TrustStore::load(file));
  std::erase_if(trusts_, [&](const LoadedTrust& t) { return t.file == file; });
  trusts_.push_back({file, changed, store});
  return store;
}

Result<H2Transport::Reach> H2Transport::make(ProviderIndex provider, H2Options options) {
  SO_TRY(Endpoint endpoint, check(options));
  auto trust = trust_for(options.ca_file);
  if (!trust) return bad_option(options, "ca", trust.error().text);
  // A client certificate is named by its file, which may hold another one now.
  const auto is_same = [&](const auto* running) {
    return running != nullptr && options.client_certificate.empty() &&
           running->options() == options && running->trust().get() == trust->get();
  };
  const Reach none;
  const Reach& running = provider.get() < reaches_.size() ? reaches_[provider.get()] : none;
  if (is_same(running.pool.get()) || is_same(running.origins.get())) return Reach{};
  context_.now = context_.clock.mono();
  Reach fresh;
  if (options.smtp) {
    SO_TRY(fresh.mails, make_mails(options, *trust));
  }
  if (options.many_origins) {
    fresh.origins = std::make_unique<H2Origins>(context_, std::move(options), std::move(*trust));
  } else {
    if (options.http1)
      fresh.lane =
          std::make_unique<CurlLane>(*loop_, context_.clock, ready_, Connections::kept_alive,
                                     std::min(options.connections * options.streams, kLanePlaces));
    fresh.pool = std::make_unique<H2Pool>(context_, std::move(options), std::move(endpoint),
                                          std::move(*trust));
  }
  return fresh;
}

Result<std::unique_ptr<SmtpPool>> H2Transport::make_mails(const H2Options& options,
                                                          const TrustStore& trust) {
  auto server = parse_mail_endpoint(options.endpoint, options.insecure);
  if (!server) return bad_option(options, "endpoint", server.error().text);
  return std::make_unique<SmtpPool>(
      SmtpContext{context_.clock, *loop_, multi_, ready_},
      SmtpOptions{*std::move(server), options.login, options.proxy, options.proxy_credentials,
                  options.connect_timeout, options.connections},
      trust);
}

void H2Transport::put(ProviderIndex provider, Reach fresh) {
  if (fresh.pool == nullptr && fresh.origins == nullptr) return;
  if (reaches_.size() <= provider.get()) reaches_.resize(std::size_t{provider.get()} + 1);
  Reach& running = reaches_[provider.get()];
  if (running.pool && fresh.pool) {
    fresh.pool->succeed(*running.pool);
    retired_.push_back(std::move(running.pool));
  }
  if (running.origins && fresh.origins) fresh.origins->succeed(*running.origins, retired_);
  if (running.mails && fresh.mails) {
    running.mails->drain();
    retired_mails_.push_back(std::move(running.mails));
  }
  if (running.lane) retired_lanes_.push_back(std::move(running.lane));
  running = std::move(fresh);
}

Result<void> H2Transport::set_providers(std::vector<H2Options> options) {
  std::vector<Reach> fresh;
  for (H2Options& o : options) {
    const ProviderIndex index(static_cast<std::uint16_t>(fresh.size()));
    SO_TRY(Reach made, make(index, std::move(o)));
    fresh.push_back(std::move(made));
  }
  for (std::size_t i = 0; i < fresh.size(); ++i)
    put(ProviderIndex(static_cast<std::uint16_t>(i)), std::move(fresh[i]));
  return {};
}

Result<void> H2Transport::add_provider(ProviderIndex provider, H2Options options) {
  SO_TRY(Reach fresh, make(provider, std::move(options)));
  put(provider, std::move(fresh));
  return {};
}

const H2Transport::Reach& H2Transport::reach(ProviderIndex provider) const {
  SO_ASSERT(provider.get() < reaches_.size());
  const Reach& r = reaches_[provider.get()];
  SO_ASSERT(r.pool != nullptr || r.origins != nullptr);
  return r;
}

template <class F>
void H2Transport::each_pool(F&& f) const {
  for (const Reach& r : reaches_) {
    if (r.pool) f(*r.pool);
    if (r.origins) r.origins->each(f);
  }
  for (const auto& p : retired_) f(*p);
}

template <class F>
void H2Transport::each_mail_pool(F&& f) const {
  for (const Reach& r : reaches_)
    if (r.mails) f(*r.mails);
  for (const auto& p : retired_mails_) f(*p);
}

template <class F>
void H2Transport::each_lane(F&& f) const {
  f(*lane_);
  for (const Reach& r : reaches_)
    if (r.lane) f(*r.lane);
  for (const auto& l : retired_lanes_) f(*l);
}

// ---- calls ----------------------------------------------------------------------------------

bool H2Transport::submit(Ticket ticket, ProviderIndex provider, HttpRequest request,
                         Duration timeout) {
  const Reach& r = reach(provider);
  if (r.mails) return r.mails->submit(ticket, std::move(request), timeout);
  if (request.url.empty()) {
    H2Pool* pool = r.pool ? r.pool.get() : r.origins->wanted(request.authority);
    return pool != nullptr && pool->submit(ticket, std::move(request), timeout);
  }
  const H2Options& o = r.pool ? r.pool->options() : r.origins->options();
  const TrustStore& trust = r.pool ? r.pool->trust() : r.origins->trust();
  CurlLane& lane = request.by_url && r.lane ? *r.lane : *lane_;
  return lane.start(ticket, provider, std::move(request), timeout,
                    {trust, o.proxy, o.proxy_credentials, o.connect_timeout, o.limits, o.insecure});
}

void H2Transport::cancel(Ticket ticket) {
  context_.now = context_.clock.mono();
  bool found = false;
  each_pool([&](H2Pool& p) { found = found || p.cancel(ticket); });
  each_mail_pool([&](SmtpPool& p) { found = found || p.cancel(ticket); });
  each_lane([&](CurlLane& l) { found = found || l.cancel(ticket); });
}

// Of many origins nobody knows which one will be asked for.
void H2Transport::warm_up(ProviderIndex provider) {
  const Reach& r = reach(provider);
  if (r.pool && !r.lane && !r.mails) r.pool->warm_up();
}

void H2Transport::renew(ProviderIndex provider) {
  context_.now = context_.clock.mono();
  const Reach& r = reach(provider);
  if (r.mails) return r.mails->renew();
  if (r.pool) return r.pool->renew();
  r.origins->each([](H2Pool& p) { p.renew(); });
}

PoolState H2Transport::state(ProviderIndex provider) const {
  const Reach& r = reach(provider);
  if (r.mails) return r.mails->state();
  if (!r.pool) return r.origins->state();
  if (!r.lane) return r.pool->state();
  PoolState state;
  state.open = r.lane->open();
  state.connections = state.open;
  state.room = r.lane->room();
  return state;
}

std::size_t H2Transport::room_at(ProviderIndex provider, std::string_view authority) const {
  const Reach& r = reach(provider);
  if (r.mails) return r.mails->state().room;
  const H2Pool* pool = r.pool ? r.pool.get() : r.origins->find(authority);
  return pool == nullptr ? 0 : pool->state().room;
}

void H2Transport::warm_up_at(ProviderIndex provider, std::string_view authority) {
  const Reach& r = reach(provider);
  if (r.mails) return;
  H2Pool* pool = r.pool ? r.pool.get() : r.origins->wanted(authority);
  if (pool != nullptr) pool->warm_up();
}

std::vector<std::pair<std::string, PoolState>> H2Transport::origins(ProviderIndex provider) const {
  const Reach& r = reach(provider);
  return r.origins ? r.origins->states() : std::vector<std::pair<std::string, PoolState>>{};
}

// ---- a step ---------------------------------------------------------------------------------

void H2Transport::wake() {
  loop_->wake();
}

void H2Transport::service() {
  each_pool([](H2Pool& p) { p.service(); });
  std::erase_if(retired_, [](const auto& p) { return p->drained(); });
  std::erase_if(retired_lanes_, [](const auto& l) { return l->open() == 0; });
  each_mail_pool([](SmtpPool& p) { p.service(); });
  std::erase_if(retired_mails_, [](const auto& p) { return p->drained(); });
}

std::optional<MonoTime> H2Transport::due() const {
  std::optional<MonoTime> first = wheel_.next();
  const auto consider = [&](std::optional<MonoTime> t) {
    if (t && (!first || *t < *first)) first = t;
  };
  consider(multi_.due());
  each_lane([&](const CurlLane& l) { consider(l.due()); });
  each_pool([&](const H2Pool& p) { consider(p.due()); });
  each_mail_pool([&](const SmtpPool& p) { consider(p.due()); });
  return first;
}

int H2Transport::timeout_ms(Duration wait) const {
  if (!ready_.empty()) return 0;
  bool restless = false;
  each_pool([&](const H2Pool& p) { restless = restless || p.restless(); });
  if (restless) return 0;
  if (const auto t = due(); t) wait = std::min(wait, *t - context_.now);
  if (wait <= Duration{0}) return 0;
  constexpr std::chrono::milliseconds kMost(std::numeric_limits<int>::max());
  // Rounded up: waking a little before the time would only spin.
  return static_cast<int>(
      std::min(std::chrono::ceil<std::chrono::milliseconds>(wait), kMost).count());
}

// Timers see a time that was read before the sockets were looked at once more: after a long stop an
// answer that lies in a socket wins over the deadline that has passed meanwhile.
void H2Transport::fire_timers() {
  const auto first = due();
  if (!first || *first > context_.now) return;
  loop_->run(0);
  if (const auto t = multi_.due(); t && *t <= context_.now) multi_.on_time();
  each_lane([this](CurlLane& l) {
    if (const auto t = l.due(); t && *t <= context_.now) l.on_time();
  });
  each_pool([](H2Pool& p) { p.on_time(); });
  each_mail_pool([this](SmtpPool& p) { p.on_time(context_.now); });
  wheel_.expire(context_.now, expired_);
  for (Call* call : std::exchange(expired_, {})) call->pool->expire(*call);
}

void H2Transport::poll(std::vector<Completion>& done, Duration wait) {
  context_.now = context_.clock.mono();
  service();  // what was submitted since the last step goes out, in as few writes as possible
  loop_->run(timeout_ms(wait));
  context_.now = context_.clock.mono();
  fire_timers();
  service();
  if (done.empty()) {
    done.swap(ready_);
  } else {
    std::move(ready_.begin(), ready_.end(), std::back_inserter(done));
    ready_.clear();
  }
}

}  // namespace sendonce
