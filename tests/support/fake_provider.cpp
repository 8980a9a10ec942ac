#include "tests/support/fake_provider.hpp"

#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "plugin/core/text.hpp"
#include "plugin/crypto/digest.hpp"
#include "plugin/crypto/sign.hpp"
#include "tests/support/recorder.hpp"

namespace sendonce::test {
namespace {

constexpr std::string_view kGoogleTokenUri = "https://oauth2.googleapis.com/token";
constexpr std::uint16_t kMaxConcurrentStreams = 3;  // RFC 9113 6.5.2

ProviderKind kind_of(std::string_view path) {
  if (path.starts_with("/3/")) return ProviderKind::apns;
  if (path.starts_with("/v1/projects/")) return ProviderKind::fcm;
  if (path == "/token") return ProviderKind::oauth;
  if (path.starts_with("/push/")) return ProviderKind::webpush;
  if (path.starts_with("/hook/") || vendor_of(path) != Vendor::none) return ProviderKind::http;
  return ProviderKind::other;
}

std::string origin_at(std::string_view host, std::uint16_t port) {
  std::string out = "https://";
  return out.append(host).append(":").append(std::to_string(port));
}

std::string token_uri_at(std::string_view host, std::uint16_t port) {
  return origin_at(host, port) + "/token";
}

// name=value in the query of a path; no decoding, our ids need none.
std::string_view query(std::string_view path, std::string_view name) {
  std::size_t at = path.find('?');
  while (at != std::string_view::npos) {
    const std::size_t end = path.find('&', at + 1);
    const std::string_view pair =
        path.substr(at + 1, end == std::string_view::npos ? end : end - at - 1);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('=')) {
      return pair.substr(name.size() + 1);
    }
    at = end;
  }
  return {};
}

}  // namespace

// Everything that happens on the server's thread.
struct FakeProvider::State final : Handler {
  explicit State(FakeProviderOptions o) : options(std::move(o)) {}
  ~State() override { stop(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<void> prepare();
  void stop();

  bool on_headers(const Request& request, Reply& reply) override;
  void on_request(const Request& request, Reply& reply) override;
  void on_connection_closed(std::uint64_t connection) override;
  void on_idle() override {
    if (recorder != nullptr) recorder->flush();
  }

  // What the provider of a request thinks of it.
  struct View {
    ProviderKind kind = ProviderKind::other;
    std::string_view destination{};
    std::string_view id{};
    std::string_view reason{};  // not empty: refused
    bool counts = true;         // false: a dry run
    FakeFcm::Judged fcm{};
    FakeOauth::Refusal oauth{};
    FakeWebPush::Judged webpush{};
    FakeHttp::Judged http{};
    std::string text{};  // owns `destination` or `id` where nobody else does
  };
  void look(const Request& request, View& view);
  void answer_plainly(View& view, const Request& request, Reply& reply);
  void answer_scripted(const View& view, const Action& action, const Request& request,
                       Reply& reply);
  void answer_admin(const Request& request, Reply& reply) const;
  void raise_stream_limit(const Request& request, Reply& reply);
  std::optional<Action> scripted(ProviderKind kind, std::string_view token, Stage stage,
                                 WallTime now);
  Result<void> start_mail();
  void on_mail(const SeenMail& mail, std::string_view id, const Action* played);
  std::string_view id_or_hash(std::string_view id, const Request& request, std::string& text);
  void finish(Reply& reply) const { reply.play.delay += options.latency; }

  FakeProviderOptions options;
  Authority authority{};
  std::unique_ptr<FakeApns> apns{};
  std::unique_ptr<FakeOauth> oauth{};
  std::unique_ptr<FakeFcm> fcm{};
  std::unique_ptr<FakeWebPush> webpush{};
  FakeHttp http{options.http};
  std::unique_ptr<Recorder> recorder{};
  Sha256 sha{};
  Witness witness{};
  std::unordered_set<std::uint64_t> raised{};  // connections
  std::mutex script_mutex{};
  Script script{};
  std::optional<WallTime> script_start{};
  std::unique_ptr<H2Server> server{};
  std::thread thread{};
  std::unique_ptr<Clock> clock = make_system_clock();
  std::unique_ptr<FakeSmtp> mail{};  // last: its threads use the others
};

Result<void> FakeProvider::State::prepare() {
  if (options.server.identity.certificate.empty()) {
    LeafOptions leaf{};
    leaf.names.insert(leaf.names.end(), options.names.begin(), options.names.end());
    options.server.identity = authority.issue(leaf);
  }
  if (!options.record.empty()) {
    SO_TRY(recorder, Recorder::open(options.record));
  }
  script = std::move(options.script);
  SO_TRY(server, H2Server::listen(options.server, *this));
  if (options.apns) {
    SO_TRY(apns, FakeApns::make(*options.apns));
  }
  if (options.fcm && options.oauth) {
    OauthConfig config = *options.oauth;
    config.audiences.emplace_back(kGoogleTokenUri);
    for (const std::string_view host : {"localhost", "127.0.0.1", "[::1]"}) {
      config.audiences.push_back(token_uri_at(host, server->port()));
    }
    for (const std::string& name : options.names) {
      config.audiences.push_back(token_uri_at(name.substr(name.find(':') + 1), server->port()));
    }
    SO_TRY(oauth, FakeOauth::make(std::move(config)));
    fcm = std::make_unique<FakeFcm>(*options.fcm, *oauth);
  }
  if (options.webpush) {
    std::vector<std::string> origins{origin_at("localhost", server->port())};
    for (const std::string& name : options.names)
      origins.push_back(origin_at(name.substr(name.find(':') + 1), server->port()));
    SO_TRY(webpush, FakeWebPush::make(*options.webpush, std::move(origins)));
  }
  return options.mail ? start_mail() : Result<void>{};
}

Result<void> FakeProvider::State::start_mail() {
  MailHooks hooks{.scripted =
                      [this](std::string_view recipient, Stage stage) {
                        return scripted(ProviderKind::smtp, recipient, stage, clock->wall());
                      },
                  .seen = [this](const SeenMail& seen, std::string_view id,
                                 const Action* played) { on_mail(seen, id, played); }};
  SO_TRY(mail, start_fake_mail(*options.mail, options.server.identity, std::move(hooks)));
  return {};
}

void FakeProvider::State::on_mail(const SeenMail& seen, std::string_view id, const Action* played) {
  const bool accepted = played == nullptr || played->processed;
  witness.count(ProviderKind::smtp, seen.recipient, id, accepted);
  if (recorder == nullptr) return;
  Request request{.h2 = false, .arrived = clock->wall(), .method = "MAIL", .body = seen.message};
  Reply reply{.status = 250};
  if (played != nullptr && played->status != 0) reply.status = played->status;
  if (played != nullptr) reply.play = played->play;
  recorder->add(request, reply,
                {.provider = ProviderKind::smtp,
                 .destination = seen.recipient,
                 .id = id,
                 .reason = played != nullptr ? std::string_view(played->reason) : "",
                 .accepted = accepted,
                 .scripted = played != nullptr});
  recorder->flush();
}

void FakeProvider::State::stop() {
  mail.reset();
  if (!thread.joinable()) return;
  server->stop();
  thread.join();
}

std::optional<Action> FakeProvider::State::scripted(ProviderKind kind, std::string_view token,
                                                    Stage stage, WallTime now) {
  const std::lock_guard lock(script_mutex);
  if (script.empty()) return std::nullopt;
  if (!script_start) script_start = now;
  const Action* action = script.match(
      {.provider = kind, .token = token, .stage = stage, .since_start = now - *script_start});
  return action == nullptr ? std::nullopt : std::optional(*action);
}

bool FakeProvider::State::on_headers(const Request& request, Reply& reply) {
  const ProviderKind kind = kind_of(request.path);
  const std::string_view token = kind == ProviderKind::apns ? FakeApns::token_of(request.path)
                                 : kind == ProviderKind::webpush
                                     ? FakeWebPush::subscription_of(request.path)
                                     : std::string_view{};
  const auto action = scripted(kind, token, Stage::headers, request.arrived);
  if (!action) return false;
  answer_scripted({.kind = kind, .destination = token}, *action, request, reply);
  if (recorder != nullptr) {
    recorder->add(request, reply,
                  {.provider = kind,
                   .stage = Stage::headers,
                   .destination = token,
                   .reason = action->reason,
                   .scripted = true});
  }
  finish(reply);
  return true;
}

void FakeProvider::State::on_request(const Request& request, Reply& reply) {
  View view{.kind = kind_of(request.path)};
  if (request.path.starts_with("/__")) {
    answer_admin(request, reply);
    return;
  }
  if (vendor_of(request.path) == Vendor::huawei_oauth) {
    http.answer_oauth(request, reply);
    return finish(reply);
  }
  look(request, view);
  const auto action = scripted(view.kind, view.destination, Stage::request, request.arrived);
  // A request that the provider would refuse is refused, whatever the script says.
  const bool good = view.reason.empty() && view.kind != ProviderKind::other;
  const bool played = action.has_value() && good;
  const bool accepted = good && view.counts && (!played || action->processed);
  if (good) raise_stream_limit(request, reply);
  if (accepted && view.kind == ProviderKind::http) http.take(view.http, request);
  if (played) {
    answer_scripted(view, *action, request, reply);
  } else {
    answer_plainly(view, request, reply);
  }
  if (view.kind == ProviderKind::apns || view.kind == ProviderKind::fcm ||
      view.kind == ProviderKind::webpush || view.kind == ProviderKind::http) {
    witness.count(view.kind, view.destination, view.id, accepted);
  }
  if (recorder != nullptr) {
    recorder->add(request, reply,
                  {.provider = view.kind,
                   .destination = view.destination,
                   .id = view.id,
                   .reason = played ? std::string_view(action->reason) : view.reason,
                   .accepted = accepted,
                   .scripted = played});
  }
  finish(reply);
}

void FakeProvider::State::look(const Request& request, View& view) {
  switch (view.kind) {
    case ProviderKind::apns:
      view.destination = FakeApns::token_of(request.path);
      view.id = id_or_hash(request.headers.find("apns-id").value_or(""), request, view.text);
      view.reason = apns == nullptr ? "not configured"
                    : request.h2    ? apns->refusal(request)
                                    : "HTTP/2 required";
      return;
    case ProviderKind::fcm:
      if (fcm == nullptr) {
        view.reason = "not configured";
        return;
      }
      view.fcm = fcm->judge(request);
      view.destination = view.fcm.message.token;
      view.id = id_or_hash(view.fcm.message.nid, request, view.text);
      view.reason = FakeFcm::reason_of(view.fcm.refusal);
      view.counts = !view.fcm.message.dry_run;
      return;
    case ProviderKind::oauth:
      if (oauth == nullptr) {
        view.reason = "not configured";
        return;
      }
      view.text = FakeOauth::issuer_of(request);
      view.destination = view.text;
      view.oauth = oauth->refusal(request);
      view.reason = view.oauth.error;
      return;
    case ProviderKind::webpush:
      view.destination = FakeWebPush::subscription_of(request.path);
      if (webpush == nullptr) {
        view.reason = "not configured";
        return;
      }
      view.webpush = webpush->judge(request);
      view.id = id_or_hash(view.webpush.nid, request, view.text);
      view.reason = view.webpush.reason;
      return;
    case ProviderKind::http:
      view.http = http.judge(request);
      view.destination = view.http.destination;
      view.reason = view.http.reason;
      view.counts = !view.http.known && !view.http.question;
      if (view.http.question) {  // counted apart from what is sent there
        view.text = "lookup:" + std::string(view.http.destination);
        view.destination = view.text;
        view.id = "question";
        return;
      }
      view.id = id_or_hash(view.http.key, request, view.text);
      return;
    case ProviderKind::smtp:  // has a port of its own
    case ProviderKind::other:
      view.reason = "path";
      return;
  }
}

std::string_view FakeProvider::State::id_or_hash(std::string_view id, const Request& request,
                                                 std::string& text) {
  if (!id.empty()) return id;
  text = id_of_content(sha, request.body);
  return text;
}

void FakeProvider::State::answer_plainly(View& view, const Request& request, Reply& reply) {
  const bool refused = !view.reason.empty();
  if (view.kind == ProviderKind::other || view.reason == "not configured") {
    reply.status = 404;
  } else if (view.kind == ProviderKind::apns && !request.h2) {
    reply.status = 505;
  } else if (view.kind == ProviderKind::apns) {
    refused ? apns->write_refused(view.reason, request, reply)
            : apns->write_accepted(request, reply);
  } else if (view.kind == ProviderKind::http) {
    refused ? FakeHttp::write_refused(view.http, reply) : http.write(view.http, request, reply);
  } else if (view.kind == ProviderKind::fcm) {
    refused ? FakeFcm::write_refused(view.fcm, reply) : fcm->write_accepted(reply);
  } else if (view.kind == ProviderKind::webpush) {
    refused ? FakeWebPush::write_refused(view.webpush, reply)
            : webpush->write_accepted(request, std::move(view.webpush), reply);
  } else {
    refused ? FakeOauth::write_refused(view.oauth, reply) : oauth->write_issued(request, reply);
  }
}

void FakeProvider::State::answer_scripted(const View& view, const Action& action,
                                          const Request& request, Reply& reply) {
  // A provider that is not configured has no answers of its own.
  if (view.kind == ProviderKind::apns && apns != nullptr) {
    apns->write_scripted(action, request, reply);
  } else if (view.kind == ProviderKind::fcm && fcm != nullptr) {
    fcm->write_scripted(action, reply);
  } else if (view.kind == ProviderKind::oauth && oauth != nullptr) {
    oauth->write_scripted(action, request, reply);
  } else if (view.kind == ProviderKind::webpush && webpush != nullptr) {
    FakeWebPush::write_scripted(action, reply);
  } else if (view.kind == ProviderKind::http) {
    FakeHttp::write_scripted(view.http, action, reply);
  } else if (action.status != 0) {
    reply.status = action.status;
  }
  if (action.body) reply.body = *action.body;
  for (const auto& [name, value] : action.headers) reply.headers.add(name, value);
  std::vector<SettingsEntry> settings = std::move(reply.play.settings);
  reply.play = action.play;
  if (reply.play.settings.empty()) reply.play.settings = std::move(settings);
}

void FakeProvider::State::answer_admin(const Request& request, Reply& reply) const {
  reply.headers.add("content-type", "application/json");
  const std::string_view path = std::string_view(request.path).substr(0, request.path.find('?'));
  if (path == "/__stats") {
    reply.body = witness.stats_json(query(request.path, "detail") == "1");
    const ServerTotals& server_totals = server->totals();
    reply.body.insert(reply.body.rfind('}'),
                      ",\"connections\":" + std::to_string(server_totals.connections) +
                          ",\"resets_received\":" + std::to_string(server_totals.resets_received));
  } else if (path == "/__duplicates") {
    reply.body = witness.duplicates_json();
  } else if (path == "/__copies") {
    const ProviderKind kind = provider_named(query(request.path, "provider"));
    if (kind == ProviderKind::other) {
      reply.status = 400;
      reply.body = "{\"error\":\"provider: one of apns, fcm, oauth, webpush, http, smtp\"}\n";
      return;
    }
    const Copies copies =
        witness.copies(kind, query(request.path, "destination"), query(request.path, "id"));
    reply.body = "{\"received\":" + std::to_string(copies.received) +
                 ",\"accepted\":" + std::to_string(copies.accepted) + "}\n";
  } else {
    reply.status = 404;
    reply.body = "{\"error\":\"no such page; there are /__stats, /__duplicates, /__copies\"}\n";
  }
}

void FakeProvider::State::raise_stream_limit(const Request& request, Reply& reply) {
  if (!request.h2 || !raised.insert(request.connection).second) return;
  reply.play.settings.push_back(
      {.id = kMaxConcurrentStreams, .value = options.max_concurrent_streams});
}

void FakeProvider::State::on_connection_closed(std::uint64_t connection) {
  raised.erase(connection);
  if (apns != nullptr) apns->forget(connection);
}

Result<std::unique_ptr<FakeProvider>> FakeProvider::start(FakeProviderOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  SO_CHECK(state->prepare());
  state->thread = std::thread([server = state->server.get()] { server->run(); });
  return std::unique_ptr<FakeProvider>(new FakeProvider(std::move(state)));
}

FakeProvider::FakeProvider(std::unique_ptr<State> state) : state_(std::move(state)) {}
FakeProvider::~FakeProvider() = default;

std::uint16_t FakeProvider::port() const {
  return state_->server->port();
}
std::string FakeProvider::url() const {
  return "https://localhost:" + std::to_string(port());
}
std::string FakeProvider::mail_url() const {
  if (state_->mail == nullptr) return {};
  return (state_->options.mail->starttls ? "smtp://localhost:" : "smtps://localhost:") +
         std::to_string(state_->mail->port());
}
std::string FakeProvider::token_uri() const {
  return url() + "/token";
}
const std::string& FakeProvider::ca_pem() const {
  return state_->authority.pem();
}
const FakeWebPush* FakeProvider::webpush() const {
  return state_->webpush.get();
}
const Witness& FakeProvider::witness() const {
  return state_->witness;
}
const ServerTotals& FakeProvider::totals() const {
  return state_->server->totals();
}

void FakeProvider::set_script(Script script) {
  const std::lock_guard lock(state_->script_mutex);
  state_->script = std::move(script);
  state_->script_start.reset();
}

void FakeProvider::kill_connections() {
  state_->server->kill_connections();
}
void FakeProvider::stop() {
  state_->stop();
}

std::string vapid_public_key(const std::string& private_pem) {
  const auto key = SigningKey::es256(Credential(private_pem));
  return key ? base64url(key->public_point().value_or(std::string())) : std::string();
}

TestCredentials make_test_credentials() {
  TestCredentials out{};
  out.apns = make_p256_key();
  out.service = make_rsa_key();
  out.vapid = make_p256_key();
  const Sha256Digest digest = Sha256().of(out.vapid.private_pem);
  out.mail_password = hex({reinterpret_cast<const char*>(digest.data()), 12});
  return out;
}

FakeProviderOptions options_for(const TestCredentials& credentials) {
  FakeProviderOptions out{};
  out.apns = ApnsConfig{.keys = {{.team = credentials.team,
                                  .key_id = credentials.key_id,
                                  .pem = credentials.apns.public_pem}},
                        .topics = {credentials.topic}};
  out.fcm = FcmConfig{.project = credentials.project};
  out.oauth =
      OauthConfig{.client_email = credentials.email, .key_pem = credentials.service.public_pem};
  out.webpush = WebPushConfig{.key_pem = credentials.vapid.public_pem,
                              .public_key = vapid_public_key(credentials.vapid.private_pem)};
  return out;
}

std::string service_account_for(const TestCredentials& credentials, std::string_view token_uri) {
  return service_account_json(credentials.project, credentials.email, token_uri,
                              credentials.service.private_pem);
}

}  // namespace sendonce::test
