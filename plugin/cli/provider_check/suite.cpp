#include "plugin/cli/provider_check/suite.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "classifiers/foreign/module_view.hpp"
#include "plugin/cli/provider_check/samples.hpp"

namespace sendonce::cli {
namespace {

constexpr const char* kEndpoint = "https://provider.example.com";
constexpr const char* kTokenEndpoint = "https://provider.example.com/oauth/token";
constexpr std::size_t kLargeBody = std::size_t{64} * 1024;
constexpr std::string_view kWrongRequest = "the module's request: ";
constexpr std::string_view kNoReason = "the module gives no reason";

// One line of the report in the making.
class Line {
 public:
  explicit Line(std::string check) { line_.check = std::move(check); }
  void count() { ++line_.cases; }
  void find(const std::string& finding) {
    if (line_.finding.empty()) line_.finding = finding;
  }
  [[nodiscard]] bool clean() const { return line_.finding.empty(); }
  [[nodiscard]] CheckLine take() { return std::move(line_); }

 private:
  CheckLine line_{};
};

class Suite {
 public:
  explicit Suite(const SuiteInput& input) : in_(input) {}
  std::vector<CheckLine> run();

 private:
  using Made = Result<std::unique_ptr<ModuleProvider>>;
  [[nodiscard]] Made make(Channel channel) const;
  void begin(const std::string& check) const {
    if (in_.begins) in_.begins(check);
  }
  void end(Line& line) { lines_.push_back(line.take()); }

  void settings();
  void description(Channel channel, ModuleProvider& provider);
  void requests(Channel channel, ModuleProvider& provider);
  void one_request(Line& line, const SampleDelivery& d, ModuleProvider& provider,
                   ModuleProvider& other);
  void answers(Channel channel, ModuleProvider& provider);
  void one_answer(Line& line, const SampleBody& body, int status, ModuleProvider& provider,
                  const Target& target);
  void failures(Channel channel, ModuleProvider& provider);
  void credentials(Channel channel, ModuleProvider& provider);

  const SuiteInput& in_;
  std::vector<CheckLine> lines_{};
  bool needs_receipt_ = true;
};

ProviderKind kind_of(Channel channel) {
  if (channel == Channel::sms) return ProviderKind::sms;
  return channel == Channel::email ? ProviderKind::email : ProviderKind::http;
}

std::string titled(const char* what, Channel channel) {
  return std::string(what) + " (" + std::string(name(channel)) + ")";
}

bool same(const Verdict& a, const Verdict& b) {
  return a.name == b.name && a.effect == b.effect && a.fault == b.fault && a.scope == b.scope &&
         a.reason == b.reason && a.message_id == b.message_id && a.retry_after == b.retry_after;
}

// All but credentials.
bool same(const HttpRequest& a, const HttpRequest& b) {
  if (a.method != b.method || a.path != b.path || a.headers.size() != b.headers.size() ||
      a.body.substr(0, a.credential_at) != b.body.substr(0, b.credential_at))
    return false;
  for (std::size_t i = 0; i < a.headers.size(); ++i) {
    const auto x = a.headers[i];
    const auto y = b.headers[i];
    if (x.name != y.name || (!x.never_index && x.value != y.value)) return false;
  }
  return true;
}

Suite::Made Suite::make(Channel channel) const {
  ModuleOptions o{.table = in_.table,
                  .kind = kind_of(channel),
                  .channel = channel,
                  .endpoint = kEndpoint,
                  .settings = in_.settings};
  Made made = ModuleProvider::make(o);
  if (made) return made;
  o.token_endpoint = kTokenEndpoint;
  Made with_tokens = ModuleProvider::make(std::move(o));
  return with_tokens ? std::move(with_tokens) : std::move(made);
}

// Wrong settings are refused or taken, and nothing else happens.
void Suite::settings() {
  begin("settings");
  Line line("settings");
  const std::string large(kLargeBody, 'x');
  const std::vector<std::vector<sendonce_kv>> tried{
      {},
      {{lent("no-such-setting"), lent("x")}},
      {{lent(""), lent("")}},
      {{lent("token"), lent(large)}, {lent(large), lent("x")}},
      {{lent("token"), lent("a")}, {lent("token"), lent("b")}}};
  for (const auto& kvs : tried) {
    const sendonce_provider_config config{.struct_size = sizeof config,
                                          .channel = SENDONCE_CHANNEL_SMS,
                                          .endpoint = lent(kEndpoint),
                                          .token_endpoint = {nullptr, 0},
                                          .settings = kvs.empty() ? nullptr : kvs.data(),
                                          .setting_count = kvs.size()};
    LentText text;
    sendonce_provider* made = nullptr;
    line.count();
    const sendonce_rc rc = in_.table.api->create(&config, &made, text.out());
    if (rc == SENDONCE_OK && made != nullptr) in_.table.api->destroy(made);
    if (rc == SENDONCE_OK && made == nullptr) line.find("create says OK and makes no instance");
    if (rc != SENDONCE_OK && text.read({}) == kNoReason)
      line.find("create refuses without saying what to write instead");
  }
  end(line);
}

void Suite::description(Channel channel, ModuleProvider& provider) {
  Line line(titled("description", channel));
  begin("description");
  const Made other = make(channel);
  line.count();
  if (!other)
    line.find("a second instance is not made: " + other.error().text);
  else if ((*other)->capabilities().acts_on_whole != provider.capabilities().acts_on_whole ||
           (*other)->has_auth() != provider.has_auth())
    line.find("two instances of the same settings describe themselves differently");
  end(line);
}

void Suite::requests(Channel channel, ModuleProvider& provider) {
  Line line(titled("requests", channel));
  begin("requests");
  const Made other = make(channel);
  if (!other) return;
  bool first = true;
  for (const SampleDelivery& d : sample_deliveries(channel)) {
    line.count();
    if (first && provider.ready(kSampleNow)) {
      const auto made = provider.prepare(d.attempt(), kSampleNow);
      if (!made) line.find("an ordinary delivery is refused: " + made.error().text);
    }
    first = false;
    one_request(line, d, provider, **other);
  }
  end(line);
}

void Suite::one_request(Line& line, const SampleDelivery& d, ModuleProvider& provider,
                        ModuleProvider& other) {
  if (!provider.ready(kSampleNow)) return;  // it needs a credential that only its service gives
  const auto a = provider.prepare(d.attempt(), kSampleNow);
  const auto b = provider.prepare(d.attempt(), kSampleNow);
  const auto c = other.prepare(d.attempt(), kSampleNow);
  if (a.has_value() != b.has_value() || a.has_value() != c.has_value())
    return line.find(d.name + ": taken once and refused once");
  if (a && !(same(*a, *b) && same(*a, *c)))
    return line.find(d.name + ": two attempts make two requests");
  if (a) return;
  if (a.error().text.find(kWrongRequest) != std::string::npos)
    line.find(d.name + ": " + a.error().text);
  if (a.error().text.find(kNoReason) != std::string::npos)
    line.find(d.name + ": refused without a reason");
}

void Suite::one_answer(Line& line, const SampleBody& body, int status, ModuleProvider& provider,
                       const Target& target) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = body.text;
  answer.headers.add("content-type", "application/json");
  const Believed first = provider.judge(target, CallResult(answer), kSampleNow);
  line.count();
  const std::string at = std::to_string(status) + " with " + body.name + ": ";
  if (!first.corrected.empty()) return line.find(at + first.corrected);
  if (first.verdict.name == VerdictClass::token_terminal && status != 410)
    return line.find(at + "ends a destination");
  if (first.verdict.name == VerdictClass::accepted && needs_receipt_)
    return line.find(at + "accepted, with a receipt that is none");
  if (!same(first.verdict, provider.classify(target, CallResult(answer), kSampleNow)))
    line.find(at + "judged differently the second time");
}

void Suite::answers(Channel channel, ModuleProvider& provider) {
  Line line(titled("answers", channel));
  begin("answers");
  const Target target = sample_target(channel);
  for (const SampleBody& body : sample_bodies()) {
    const int step = body.text.size() > kLargeBody ? 25 : 1;
    for (int status = 100; status < 600; status += step)
      one_answer(line, body, status, provider, target);
  }
  end(line);
}

void Suite::failures(Channel channel, ModuleProvider& provider) {
  Line line(titled("transport failures", channel));
  begin("transport failures");
  const Target target = sample_target(channel);
  for (const CallFailure& failure : sample_failures()) {
    line.count();
    const Believed believed = provider.judge(target, CallResult(failure), kSampleNow);
    if (!believed.corrected.empty())
      line.find(std::string(name(failure.cause)) + ", " + std::string(name(failure.effect)) + ": " +
                believed.corrected);
  }
  end(line);
}

// Nothing that says nothing is a credential.
void Suite::credentials(Channel channel, ModuleProvider& provider) {
  if (!provider.has_auth()) return;
  Line line(titled("credentials", channel));
  begin("credentials");
  line.count();
  const bool before = provider.ready(kSampleNow);
  const auto request = provider.needs_auth(kSampleNow);
  if (!before && !request)
    line.find("not ready, and asks for no credential below auth.token_endpoint");
  for (const SampleBody& body : sample_bodies()) {
    for (int status = 100; status < 600; status += 50) {
      HttpAnswer answer;
      answer.status = status;
      answer.body = body.text;
      line.count();
      const Verdict v = provider.accept_auth(CallResult(answer), kSampleNow);
      if (v.name == VerdictClass::accepted)
        line.find(std::to_string(status) + " with " + body.name + ": taken for a credential");
    }
  }
  for (const CallFailure& failure : sample_failures()) {
    line.count();
    (void)provider.accept_auth(CallResult(failure), kSampleNow);
  }
  if (!before && provider.ready(kSampleNow)) line.find("ready after refusals alone");
  provider.credential_refused(kSampleNow);
  end(line);
}

std::vector<CheckLine> Suite::run() {
  settings();
  std::string refusals;
  bool any = false;
  for (const Channel channel : {Channel::sms, Channel::email, Channel::webhook}) {
    begin("create");
    const Made made = make(channel);
    if (!made) {
      refusals = made.error().text;
      continue;
    }
    any = true;
    ModuleProvider& provider = **made;
    needs_receipt_ = provider.needs_receipt();
    description(channel, provider);
    requests(channel, provider);
    answers(channel, provider);
    failures(channel, provider);
    credentials(channel, provider);
  }
  if (!any) lines_.push_back({"create", 1, refusals + " (give its settings with --settings)"});
  begin("destroy");
  return std::move(lines_);
}

}  // namespace

std::vector<CheckLine> check_module(const SuiteInput& input) {
  return Suite(input).run();
}

}  // namespace sendonce::cli
