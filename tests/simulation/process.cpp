#include "tests/simulation/process.hpp"

#include <utility>

#include "classifiers/apns/apns_provider.hpp"
#include "classifiers/fcm/fcm_provider.hpp"
#include "classifiers/http/http_lookup.hpp"
#include "tests/simulation/gateway.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::sim {
namespace {

std::vector<ProviderSlot> slots_of(const Plan& plan,
                                   const std::vector<std::unique_ptr<Provider>>& providers) {
  std::vector<ProviderSlot> slots;
  for (std::size_t i = 0; i < providers.size(); ++i)
    slots.push_back({.config = plan.providers[i], .provider = providers[i].get()});
  return slots;
}

// A real provider whose service takes the id of the request for a key, for a while, and can be
// asked what became of a request.
class KeyedProvider final : public Provider {
 public:
  // `book` is told of its credentials, if there is one.
  KeyedProvider(std::unique_ptr<Provider> real, LawBook* book, std::size_t at)
      : real_(std::move(real)), book_(book), at_(at), capabilities_(real_->capabilities()) {
    capabilities_.idempotency_key = true;
    capabilities_.idempotency_window = kKeyWindow;
    capabilities_.lookup = true;
    capabilities_.lookup_lag = kLookupLag;
    capabilities_.lookup_window = kFindWindow;
    LookupRule none;
    none.status = {{200, 299}};
    none.pointer = "/count";
    none.equals = {"0"};
    none.look = Look::absent;
    search_.lookup.answers = {none};
    search_.lookup.receipt_pointer = "/messages/0/id";
  }
  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::string app_scope() const override { return real_->app_scope(); }
  [[nodiscard]] Result<Destination> normal_form(const Target& target) const override {
    return real_->normal_form(target);
  }
  [[nodiscard]] Result<HttpRequest> prepare(const sendonce::Attempt& attempt,
                                            WallTime now) override {
    SO_TRY(HttpRequest request, real_->prepare(attempt, now));
    if (book_ != nullptr)
      book_->made_with(at_, std::string(request.headers.find("authorization").value_or("")),
                       real_->credential());
    return request;
  }
  [[nodiscard]] Verdict classify(const Target& target, const CallResult& result,
                                 WallTime now) const override {
    return real_->classify(target, result, now);
  }
  // The request itself, by another method: the service knows it by its name.
  [[nodiscard]] Result<HttpRequest> prepare_lookup(const sendonce::Attempt& attempt,
                                                   WallTime now) override {
    SO_TRY(HttpRequest request, real_->prepare(attempt, now));
    request.method = "GET";
    return request;
  }
  [[nodiscard]] LookAnswer classify_lookup(const CallResult& result, WallTime now) const override {
    return judge_lookup(search_, result, now);
  }
  [[nodiscard]] bool ready(WallTime now) const override { return real_->ready(now); }
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime now) override {
    auto exchange = real_->needs_auth(now);
    note_credential();
    return exchange;
  }
  [[nodiscard]] Verdict accept_auth(const CallResult& result, WallTime now) override {
    Verdict verdict = real_->accept_auth(result, now);
    note_credential();
    return verdict;
  }
  bool credential_refused(WallTime now) override {
    const bool renewed = real_->credential_refused(now);
    note_credential();
    return renewed;
  }
  [[nodiscard]] std::uint64_t credential() const override { return real_->credential(); }

 private:
  void note_credential() const {
    if (book_ != nullptr) book_->at_hand(at_, real_->credential());
  }

  std::unique_ptr<Provider> real_;
  LawBook* book_;
  std::size_t at_;
  Capabilities capabilities_;
  HttpSpec search_{};
};

std::unique_ptr<Provider> make_push_provider(ProviderKind kind, ApnsTokenSource& tokens) {
  static const std::string account = sendonce::test::service_account_json();
  auto provider = kind == ProviderKind::apns
                      ? make_apns_provider({.topic = "com.example.app"}, tokens)
                      : make_fcm_provider({.service_account = Credential(account)});
  if (!provider) broken(0, provider.error().text);
  return std::move(*provider);
}

}  // namespace

std::vector<ClassPolicy> make_policies(const Plan& plan) {
  std::vector<ClassPolicy> policies;
  for (std::size_t i = 0; i < plan.classes.size(); ++i) {
    ClassPolicy p;
    p.config = plan.classes[i];
    p.scope = ScopeIndex(static_cast<std::uint16_t>(i));
    auto recipe = make_recipe(p.config.name, p.config.key);
    if (!recipe) broken(0, recipe.error().text);
    p.recipe = *recipe;
    const Channel channel = plan.routed ? Channel::sms : Channel::push;
    for (std::size_t j = 0; j < plan.providers.size(); ++j)
      p.routes.emplace_back(channel, ProviderIndex(static_cast<std::uint16_t>(j)));
    policies.push_back(std::move(p));
  }
  return policies;
}

std::unique_ptr<ApnsTokenSource> make_token_source() {
  auto tokens = ApnsTokenSource::make(sendonce::test::apns_token_options());
  if (!tokens) broken(0, tokens.error().text);
  return std::move(*tokens);
}

std::unique_ptr<Provider> make_provider(const Plan& plan, std::size_t at, ApnsTokenSource& tokens,
                                        LawBook* book) {
  const ProviderConfig& config = plan.providers[at];
  return std::make_unique<KeyedProvider>(config.kind == ProviderKind::sms
                                             ? make_gateway(config.name)
                                             : make_push_provider(config.kind, tokens),
                                         book, at);
}

void StoryLog::write(Level level, std::string_view event, std::span<const Field> fields) {
  if (event == "provider.held") {
    for (const Field& f : fields) {
      if (f.name == "part" && !f.value.empty()) world_.hit(Probe::part_held);
      if (f.name != "fault") continue;
      if (f.value == "provider") world_.hit(Probe::breaker_opened);
      if (f.value == "throttle") world_.hit(Probe::throttle_became_hold);
      if (f.value == "config") world_.hit(Probe::config_fault_holds);
    }
  }
  if (!world_.tracing()) return;
  std::string text(name(level));
  text.append(" ").append(event);
  for (const Field& f : fields) {
    text.append(" ").append(f.name).append("=").append(f.value);
  }
  world_.tell("log", text);
}

Process::Process(const ProcessDeps& deps, std::uint32_t number)
    : world_(deps.world),
      book_(deps.book),
      plan_(deps.plan),
      life_(std::make_shared<Life>(Life{.number = number})),
      log_(deps.world),
      disk_faults_(deps.plan.disk),
      ledger_(deps.disk,
              {.id = deps.ledger_id, .fault = [this](CommitStage s) { return disk_fault(s); }},
              deps.book),
      lane_(deps.world, ledger_, deps.book, deps.plan.lane, life_, deps.present),
      client_(deps.world, deps.server, deps.plan.classes.size(), life_),
      network_(deps.world, deps.book, deps.services, deps.plan.network, life_),
      tokens_(make_token_source()) {
  for (std::size_t i = 0; i < plan_.providers.size(); ++i)
    providers_.push_back(make_provider(plan_, i, *tokens_, &book_));
  book_.process_began(number, ledger_.incarnation());
  engine_ = std::make_unique<Engine>(
      EngineDeps{world_, log_, client_, lane_, network_},
      EngineOptions{
          .ledger_id = deps.ledger_id, .secret = deps.secret, .seed = world_.random().next()},
      make_policies(plan_), slots_of(plan_, providers_));
}

std::optional<Errc> Process::disk_fault(CommitStage stage) {
  const DiskFaults& f = disk_faults_;
  switch (stage) {
    case CommitStage::write:
      if (!world_.chance(f.exhausted)) return std::nullopt;
      world_.hit(Probe::commit_fails_before_it_writes);
      return Errc::exhausted;
    case CommitStage::before_commit:
      if (!world_.chance(f.before_commit)) return std::nullopt;
      world_.hit(Probe::commit_fails_before_it_is_durable);
      return Errc::unavailable;
    case CommitStage::after_commit:
      if (!world_.chance(f.after_commit)) return std::nullopt;
      world_.hit(Probe::commit_fails_after_it_is_durable);
      return Errc::unavailable;
  }
  return std::nullopt;
}

void Process::step() {
  engine_->poll(std::chrono::seconds(1));
  // As plugin/module does four times a second, and whenever somebody asks.
  if (world_.chance(0.3)) static_cast<void>(engine_->report());
}

void Process::die() {
  life_->dead = true;
  lane_.process_died();
  book_.process_died();
  engine_.reset();
}

void Process::reload(std::uint64_t number) {
  std::vector<ClassPolicy> classes = make_policies(plan_);
  for (ClassPolicy& c : classes)
    c.config.rate_per_second = number % 3 == 0 ? 0 : static_cast<double>(number % 20 + 1);
  for (std::size_t i = 0; i < providers_.size(); ++i) book_.renewed(i);
  engine_->reload(std::move(classes), slots_of(plan_, providers_));
}

void Process::stop_faults() {
  disk_faults_ = DiskFaults{};
  lane_.stop_faults();
  network_.stop_faults();
  client_.set_full(false);
  ledger_.set_rows_max(0);
}

}  // namespace sendonce::sim
