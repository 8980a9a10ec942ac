#include "plugin/module/runtime.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <sysexits.h>

#include "config/reload.hpp"
#include "config/url.hpp"
#include "plugin/core/random.hpp"
#include "plugin/message/key.hpp"
#include "plugin/module/admin_verbs.hpp"
#include "plugin/module/audit_verbs.hpp"
#include "plugin/module/device_verbs.hpp"
#include "plugin/module/health.hpp"
#include "plugin/module/http/tcp_listener.hpp"
#include "plugin/module/metrics.hpp"
#include "plugin/module/operator_verbs.hpp"
#include "plugin/module/status.hpp"

namespace sendonce {
namespace {

constexpr Duration kRefreshWithin = std::chrono::seconds(1);
constexpr Duration kReloadWithin = std::chrono::seconds(20);
constexpr Duration kStuckAfter = std::chrono::seconds(10);
constexpr Duration kRenderedAnew = std::chrono::milliseconds(250);  // as often as the report
constexpr Duration kLookAtFiles = std::chrono::hours(24);
constexpr Duration kDrainTail = std::chrono::seconds(2);  // to hand back what never started

// `items` in the order of `like`, by name. compare() has made sure that the names are the same.
template <class T>
void put_in_order(std::vector<T>& items, const std::vector<T>& like) {
  for (std::size_t i = 0; i < like.size(); ++i) {
    const auto it = std::ranges::find(items, like[i].name, &T::name);
    SO_ASSERT(it != items.end());
    std::iter_swap(items.begin() + static_cast<std::ptrdiff_t>(i), it);
  }
}

std::optional<DeviceReportLane> engine_reports(const Config& config) {
  const auto lane = reports_lane(config);
  if (!lane) return std::nullopt;
  return DeviceReportLane{.index = ClassIndex(static_cast<std::uint16_t>(config.classes.size())),
                          .name = std::string(kReportsLane),
                          .stream = config.devices.stream,
                          .ack_wait = lane->ack_wait};
}

}  // namespace

// In the order of their making; destroyed in reverse.
struct Runtime::Parts {
  ApnsTokenSources tokens{};
  Composition composition{};
  std::unique_ptr<H2Transport> transport{};
  std::unique_ptr<LmdbLedger> ledger{};
  std::unique_ptr<LedgerThread> lane{};
  std::unique_ptr<NatsBroker> broker{};
  std::unique_ptr<Engine> engine{};
  std::unique_ptr<EngineThread> engine_thread{};
  std::unique_ptr<AdminServer> admin{};
  std::unique_ptr<HttpServer> listener{};
  std::atomic<bool> ledger_lost{false};
};

Runtime::Runtime(std::string path, Config config, std::string credentials_dir, int admin_fd,
                 const Clock& clock, HostEvents& events)
    : path_(std::move(path)),
      config_(std::move(config)),
      credentials_dir_(std::move(credentials_dir)),
      admin_fd_(admin_fd),
      clock_(clock),
      events_(events),
      attempts_(clock) {}

Runtime::~Runtime() {
  stop();
}

Result<void> Runtime::start() {
  if (parts_ != nullptr) return fail(Errc::invalid, "already started");
  // Others may ask for the status meanwhile: they see the parts when they are whole.
  auto parts = std::make_unique<Parts>();
  auto made = make_parts(*parts);
  {
    const std::lock_guard lock(mutex_);
    started_ = clock_.wall();
    parts_ = std::move(parts);
  }
  if (made) {
    look_at_files();
    made = start_parts();
  }
  if (!made) {
    stop();
    return made;
  }
  events_.change({.state = SENDONCE_STATE_STARTING, .exit_code = 0, .reason = "connecting"});
  return {};
}

Result<void> Runtime::make_parts(Parts& p) {
  if (const Findings faults = composition_faults(config_, credentials_dir_); !faults.empty())
    return std::unexpected(to_error(faults));
  SO_TRY(p.composition, compose(config_, credentials_dir_, p.tokens));
  SO_TRY(ConnectionOptions connection, connection_of(config_, credentials_dir_));

  LedgerOptions options = ledger_options(config_);
  options.keys = key_marks(config_, p.composition, clock_.wall());
  options.progress = [this](std::uint64_t done, std::uint64_t total) {
    events_.info("ledger.rebuilding", {{"rows", done}, {"of", total}});
  };
  SO_TRY(p.ledger, open_ledger(std::move(options)));
  events_.info("ledger.opened", {{"id", p.ledger->id()}, {"rows", p.ledger->stats().rows}});

  SO_TRY(p.transport, H2Transport::create(clock_, events_, system_seed()));
  SO_CHECK(p.transport->set_providers(p.composition.transports));
  H2Transport& transport = *p.transport;
  p.lane = std::make_unique<LedgerThread>(
      *p.ledger, clock_,
      LedgerThreadOptions{.linger = config_.ledger.linger,
                          .wake = [&transport] { transport.wake(); },
                          .fatal =
                              [&p, this](const Error& error) {
                                events_.error("ledger.lost", {{"error", error.text}});
                                p.ledger_lost = true;
                              }});
  p.broker = std::make_unique<NatsBroker>(
      NatsBrokerOptions{
          .connection = std::move(connection),
          .api_prefix = js_api_prefix(config_.nats.domain, config_.nats.api_prefix),
          .ledger_id = p.ledger->id(),
          .lanes = lanes_of(config_),
          .service = service_of(config_, p.ledger->id(), clock_.wall()),
          .service_counts = [&p] { return service_counts(p.engine_thread->report()); }},
      clock_, events_, [&transport] { transport.wake(); });
  p.engine = std::make_unique<Engine>(
      EngineDeps{clock_, events_, *p.broker, *p.lane, *p.transport, &attempts_},
      EngineOptions{.ledger_id = p.ledger->id(),
                    .secret = p.ledger->secret().expose(),
                    .seed = system_seed(),
                    .reports = engine_reports(config_)},
      p.composition.classes, p.composition.slots);
  SO_TRY(pauses_, Pauses::load(config_.instance.state_dir));
  apply_pauses(config_, pauses_, *p.engine);
  p.engine_thread = std::make_unique<EngineThread>(*p.engine, *p.transport, clock_);
  p.admin = std::make_unique<AdminServer>(clock_, events_);
  p.listener = std::make_unique<HttpServer>(clock_);
  return {};
}

Result<void> Runtime::start_parts() {
  reload_errand_.open();
  SO_CHECK(start_admin());
  parts_->broker->start();
  parts_->engine_thread->start();
  return start_listener();
}

Result<void> Runtime::start_admin() {
  const AdminHandler handler = [this](const AdminRequest& request, AdminReply& reply) {
    return handle(request, reply);
  };
  const HttpHandler pages = [this](const HttpQuestion& question) { return page(question); };
  if (admin_fd_ < 0)
    return config_.instance.socket.empty()
               ? Result<void>{}
               : parts_->admin->start(config_.instance.socket, handler, pages);
  UniqueFd ours(::fcntl(admin_fd_, F_DUPFD_CLOEXEC, 0));
  if (!ours) return fail(Errc::invalid, "admin_fd: no open descriptor");
  return parts_->admin->adopt(std::move(ours), handler, pages);
}

Result<void> Runtime::start_listener() {
  if (config_.metrics.listen.empty()) return {};
  const auto address = split_address(config_.metrics.listen);
  SO_ASSERT(address.has_value());  // the loader insists
  auto socket = listen_tcp(std::string(address->host), address->port);
  if (!socket) return fail(socket.error().code, "metrics.listen: " + socket.error().text);
  SO_CHECK(
      parts_->listener->start(*std::move(socket), "so-metrics",
                              [this](const HttpQuestion& question) { return page(question); }));
  events_.info("metrics.listening", {{"address", config_.metrics.listen}});
  return {};
}

// As the host asks for it: nobody knows on whose behalf.
Result<void> Runtime::reload() {
  Result<void> done = count_reload();
  if (parts_ != nullptr) note_reload({.by = "host", .verb = "reload"}, done);
  return done;
}

Result<void> Runtime::count_reload() {
  Result<void> done = apply_reload();
  ++(done ? reloads_applied_ : reloads_refused_);
  return done;
}

void Runtime::note_reload(AuditEntry entry, const Result<void>& outcome) {
  entry.at = clock_.wall();
  entry.object = path_;
  entry.result = outcome ? "done" : "refused: " + outcome.error().text;
  keep_audit(*parts_->engine_thread, events_, std::move(entry));
}

Result<void> Runtime::apply_reload() {
  if (parts_ == nullptr) return fail(Errc::invalid, "not running");
  LoadResult loaded = load_config(path_, Surroundings::look);
  if (!loaded.config) return std::unexpected(to_error(loaded.findings));
  const std::vector<Change> changes = compare(config_, *loaded.config);
  if (const Findings refused = refused_by_reload(changes, loaded.positions); !refused.empty())
    return std::unexpected(to_error(refused));
  // Tables that moved in the file are no change, but indices are positions.
  put_in_order(loaded.config->providers, config_.providers);
  put_in_order(loaded.config->classes, config_.classes);
  Parts& p = *parts_;
  if (const Findings faults = composition_faults(*loaded.config, credentials_dir_); !faults.empty())
    return std::unexpected(to_error(faults));
  SO_TRY(Composition next, compose(*loaded.config, credentials_dir_, p.tokens, &p.composition));
  Result<void> applied{};
  SO_CHECK(p.engine_thread->run(
      [&](Engine& engine) {
        applied = p.transport->set_providers(next.transports);
        if (!applied) return;
        engine.reload(next.classes, next.slots);
        take_over(p.composition, next);
        std::swap(p.composition, next);
      },
      kReloadWithin));
  SO_CHECK(applied);
  for (const Change& c : changes)
    events_.info("config.changed", {{"field", c.field}, {"before", c.before}, {"after", c.after}});
  {
    const std::lock_guard lock(mutex_);
    changes_ = changes;
    config_ = std::move(*loaded.config);
  }
  look_at_files();
  return {};
}

// Warns in good time of what will end: at a start, a reload, and every day.
void Runtime::look_at_files() {
  std::vector<FileEnd> ends = file_ends(config_, credentials_dir_);
  tell_ends(ends, clock_.wall(), events_);
  files_looked_at_ = clock_.mono();
  const std::lock_guard lock(mutex_);
  file_ends_ = std::move(ends);
  metrics_.reset();
}

// Logged as well as answered: who reads the log later must see it, too.
Result<void> Runtime::reload_as_asked() {
  Result<void> done = count_reload();
  if (done) {
    events_.info("admin.reloaded");
  } else {
    events_.error("admin.reload_refused", {{"error", done.error().text}});
  }
  return done;
}

bool Runtime::drain(Duration timeout) {
  if (parts_ == nullptr) return true;
  reload_errand_.close();
  events_.change({.state = SENDONCE_STATE_DRAINING, .exit_code = 0, .reason = "draining"});
  const Duration patience = std::max(timeout, kDrainTail);
  const bool asked =
      parts_->engine_thread->run([](Engine& engine) { engine.drain(); }, patience).has_value();
  const bool clean = asked && parts_->engine_thread->wait_drained(patience);
  stop();
  return clean;
}

void Runtime::stop() {
  if (parts_ == nullptr) return;
  reload_errand_.close();
  if (parts_->admin) parts_->admin->stop();
  if (parts_->listener) parts_->listener->stop();
  if (parts_->engine_thread) parts_->engine_thread->stop();
  if (parts_->broker) parts_->broker->stop();
  std::unique_ptr<Parts> parts;
  {
    const std::lock_guard lock(mutex_);
    parts.swap(parts_);
  }
  parts.reset();
  events_.change({.state = SENDONCE_STATE_STOPPED, .exit_code = 0, .reason = "stopped"});
}

InstanceState Runtime::judge() const {
  const Parts& p = *parts_;
  if (p.ledger_lost)
    return {SENDONCE_STATE_FAILED, EX_IOERR, "the ledger cannot be written: see the log"};
  std::string waiting;
  bool ready = false;
  const EngineReport report = p.engine_thread->report();
  for (std::size_t i = 0; i < report.classes.size(); ++i) {
    const LaneState lane = p.broker->lane(ClassIndex(static_cast<std::uint16_t>(i)));
    const std::string& name = config_.classes[i].name;
    if (lane.fatal) return {SENDONCE_STATE_FAILED, EX_CONFIG, "class " + name + ": " + lane.reason};
    const std::string& reason = lane.ready ? report.classes[i].not_ready : lane.reason;
    if (reason.empty()) {
      ready = true;
    } else if (waiting.empty()) {
      waiting = "class " + name + ": " + reason;
    }
  }
  if (!config_.devices.reports.empty()) {
    const LaneState lane =
        p.broker->lane(ClassIndex(static_cast<std::uint16_t>(report.classes.size())));
    std::string reason(kReportsLane);
    reason += ": ";
    reason += lane.reason;
    if (lane.fatal) return {SENDONCE_STATE_FAILED, EX_CONFIG, std::move(reason)};
    if (!lane.ready && waiting.empty()) waiting = std::move(reason);
  }
  return {ready ? SENDONCE_STATE_READY : SENDONCE_STATE_WAITING, 0,
          waiting.empty() ? "ready" : waiting};
}

bool Runtime::check() {
  if (parts_ == nullptr) return true;
  reload_errand_.serve([this] { return reload_as_asked(); });
  if (clock_.mono() - files_looked_at_ >= kLookAtFiles) look_at_files();
  const InstanceState before = events_.state();
  InstanceState now = judge();
  if (now.state == SENDONCE_STATE_FAILED && before.state != now.state)
    events_.error("instance.failed", {{"reason", now.reason}});
  events_.change(std::move(now));
  return parts_->engine_thread->makes_progress(kStuckAfter);
}

std::string Runtime::status_json() const {
  const std::lock_guard lock(mutex_);
  StatusInput input{
      .config = config_, .state = events_.state(), .started = started_, .now = clock_.wall()};
  if (parts_ != nullptr && parts_->ledger != nullptr) input.ledger_id = parts_->ledger->id();
  if (parts_ == nullptr || parts_->engine_thread == nullptr) return render_status(input, nullptr);
  input.lanes = lanes();
  const EngineReport report = parts_->engine_thread->report();
  return render_status(input, &report);
}

std::string Runtime::metrics_text() const {
  const std::lock_guard lock(mutex_);
  if (parts_ == nullptr || parts_->engine_thread == nullptr) return {};
  const MonoTime now = clock_.mono();
  if (metrics_ && now - metrics_->at < kRenderedAnew) return metrics_->text;
  const EngineReport report = parts_->engine_thread->report();
  metrics_ =
      Rendered{.text = render_metrics({.config = config_,
                                       .report = report,
                                       .lanes = lanes(),
                                       .file_ends = file_ends_,
                                       .ready = events_.state().state == SENDONCE_STATE_READY,
                                       .nats_connected = parts_->broker->connected(),
                                       .nats_connects = parts_->broker->counters().connects,
                                       .reloads_applied = reloads_applied_,
                                       .reloads_refused = reloads_refused_,
                                       .started = started_,
                                       .now = clock_.wall()}),
               .at = now};
  return metrics_->text;
}

std::vector<LaneState> Runtime::lanes() const {
  std::vector<LaneState> out;
  const std::size_t all = config_.classes.size() + (reports_lane(config_) ? 1U : 0U);
  for (std::size_t i = 0; i < all; ++i)
    out.push_back(parts_->broker->lane(ClassIndex(static_cast<std::uint16_t>(i))));
  return out;
}

HttpReply Runtime::page(const HttpQuestion& question) const {
  if (std::ranges::find(kPublicPaths, question.path) == kPublicPaths.end())
    return problem(404, "invalid", "there are /metrics, /livez and /readyz");
  if (question.method != "GET" && question.method != "HEAD") {
    HttpReply reply = problem(405, "invalid", "this path is read only");
    reply.allow = "GET, HEAD";
    return reply;
  }
  if (question.path == "/metrics")
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics_text()};
  if (question.path == "/readyz") return readiness();
  const bool alive = parts_->engine_thread->makes_progress(kStuckAfter);
  return health_reply(alive, alive ? std::vector<HealthReason>{}
                                   : std::vector<HealthReason>{{"engine", "no cycle for 10 s"}});
}

HttpReply Runtime::readiness() const {
  const std::lock_guard lock(mutex_);
  const InstanceState state = events_.state();
  const EngineReport report = parts_->engine_thread->report();
  const bool connected = parts_->broker->connected();
  const bool ok = state.state == SENDONCE_STATE_READY && connected && !report.ledger.claims_stopped;
  return health_reply(ok, reasons_against({.config = config_,
                                           .report = report,
                                           .state = state,
                                           .lanes = lanes(),
                                           .nats_connected = connected}));
}

Result<void> Runtime::handle(const AdminRequest& request, AdminReply& reply) {
  if (request.verb == "status") {
    parts_->engine_thread->refresh(kRefreshWithin);
    reply.result(status_json());
    return {};
  }
  if (request.verb == "reload") return handle_reload(request, reply);
  if (request.verb == "tail_attempts") return read_feed(attempts_.lines(), request, reply);
  if (request.verb == "tail_log") return read_feed(events_.feed(), request, reply);
  if (request.verb == "audit") return list_audit(*parts_->engine_thread, request, reply);
  if (is_operator_verb(request.verb) || is_device_verb(request.verb))
    return handle_person(request, reply);
  const HeldLookup held = [this](LookupHash event) { return held_of(event); };
  return list_rows(*parts_->ledger, held, clock_, request, reply);
}

Result<void> Runtime::handle_reload(const AdminRequest& request, AdminReply& reply) {
  const Result<void> done = reload_errand_.ask(kReloadWithin);
  note_reload(audit_of(request, clock_.wall()), done);
  SO_CHECK(done);
  const std::lock_guard lock(mutex_);
  reply.result(changes_json(changes_));
  return {};
}

Result<void> Runtime::handle_person(const AdminRequest& request, AdminReply& reply) {
  OperatorView view;
  {
    const std::lock_guard lock(mutex_);
    view = operator_view(config_, clock_.wall());
  }
  if (is_operator_verb(request.verb))
    return operate(view, *parts_->engine_thread, pauses_, events_, request, reply);
  const DeviceHasher hasher = [this](std::uint16_t provider, const Target& target) {
    return device_hash(provider, target);
  };
  return serve_devices(view, hasher, *parts_->engine_thread, *parts_->ledger, clock_, events_,
                       request, reply);
}

// Providers belong to the engine's thread.
Result<DeviceHash> Runtime::device_hash(std::uint16_t provider, const Target& target) const {
  Result<Destination> normal;
  std::string app_scope;
  ProviderKind kind{};
  SO_CHECK(parts_->engine_thread->run(
      [&](Engine&) {
        const ProviderSlot& slot = parts_->composition.slots.at(provider);
        normal = slot.provider->normal_form(target);
        app_scope = slot.provider->app_scope();
        kind = slot.config.kind;
      },
      kEngineWithin));
  if (!normal) return std::unexpected(normal.error());
  return KeyMaker(Credential(parts_->ledger->secret().expose()))
      .device_hash(kind, app_scope, *normal);
}

// In the words of the configuration.
std::vector<HeldDelivery> Runtime::held_of(LookupHash event) const {
  std::vector<HeldReport> found = parts_->engine_thread->held(event, kRefreshWithin);
  std::vector<HeldDelivery> out;
  const std::lock_guard lock(mutex_);
  for (HeldReport& r : found)
    out.push_back({.class_name = config_.classes[r.message_class.get()].name,
                   .stream = config_.classes[r.message_class.get()].stream,
                   .sequence = r.sequence.get(),
                   .target = r.target,
                   .provider = config_.providers[r.provider.get()].name,
                   .doing = std::move(r.doing),
                   .reason = std::move(r.reason)});
  return out;
}

}  // namespace sendonce
