#include "classifiers/foreign/module_provider.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "classifiers/access_token.hpp"
#include "classifiers/answer.hpp"
#include "classifiers/foreign/module_request.hpp"
#include "classifiers/foreign/module_view.hpp"
#include "classifiers/json_tree.hpp"
#include "classifiers/overrides.hpp"
#include "plugin/core/ascii.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/normal_form.hpp"

namespace sendonce {
namespace {

using std::chrono::hours, std::chrono::milliseconds, std::chrono::seconds;

constexpr std::size_t kHeaderNameMax = 128;
// However often a module asks: its token endpoint is not for hammering.
constexpr Duration kExchangesApart = seconds(5);
constexpr Duration kLongestAuthWait = hours(1);

std::unexpected<Error> refuse(const ModuleTable& table, const std::string& text) {
  return fail(Errc::invalid, "module " + table.name + " " + table.version + " " + text);
}

std::string channels_of(std::uint32_t bits) {
  std::string out;
  for (const Channel channel : {Channel::sms, Channel::email, Channel::webhook}) {
    if ((bits & (1U << static_cast<unsigned>(abi_channel(channel)))) == 0) continue;
    out.append(out.empty() ? "" : ", ").append(name(channel));
  }
  return out.empty() ? "no channel" : out;
}

std::string_view without_slash(std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  return url;
}

// Strings of `data` without their quotes and escapes too: a module reads them so.
std::vector<std::string> personal_of(const Attempt& attempt) {
  const Notification& note = attempt.notification;
  std::vector<std::string> out{
      note.content.title, note.content.body,  note.content.html,
      note.recipient,     attempt.target.ref, std::string(attempt.target.destination.expose())};
  for (const DataMember& member : note.content.data) {
    out.push_back(member.second);
    const auto tree = parse_json_tree(member.second);
    if (tree && tree->type == JsonTree::Type::string) out.push_back(tree->text);
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<ModuleProvider>> ModuleProvider::make(ModuleOptions options) {
  const ModuleTable& table = options.table;
  std::vector<sendonce_kv> settings;
  std::vector<std::string_view> secrets;
  for (const ModuleSetting& setting : options.settings) {
    settings.push_back({lent(setting.name), lent(setting.value.expose())});
    if (setting.secret) secrets.push_back(setting.value.expose());
  }
  const sendonce_provider_config config{.struct_size = sizeof config,
                                        .channel = abi_channel(options.channel),
                                        .endpoint = lent(options.endpoint),
                                        .token_endpoint = lent(options.token_endpoint),
                                        .settings = settings.data(),
                                        .setting_count = settings.size()};
  LentText text;
  sendonce_provider* made = nullptr;
  if (table.api->create(&config, &made, text.out()) != SENDONCE_OK)
    return refuse(table, "refuses its settings: " + text.read(secrets));
  if (made == nullptr) return refuse(table, "has made no instance, although it said OK");
  Instance instance(made, Destroy{table.api});
  std::unique_ptr<ModuleProvider> out(new ModuleProvider(std::move(options), std::move(instance)));
  SO_CHECK(out->describe());
  SO_CHECK(out->find_auth());
  return out;
}

Result<void> ModuleProvider::describe() {
  sendonce_provider_description can{};
  can.struct_size = sizeof can;
  options_.table.api->describe(instance_.get(), &can);
  const std::uint32_t wanted = 1U << static_cast<unsigned>(abi_channel(options_.channel));
  if ((can.channels & wanted) == 0)
    return refuse(options_.table, "serves " + channels_of(can.channels) +
                                      ": write one of them as channel, or take another module");
  SO_CHECK(check_idempotency(can));
  needs_receipt_ = (can.flags & SENDONCE_PROVIDER_NO_RECEIPT) == 0;
  capabilities_.kind = options_.kind;
  capabilities_.channel = options_.channel;
  capabilities_.acts_on_whole = (can.flags & SENDONCE_PROVIDER_ACTS_ON_WHOLE) != 0;
  capabilities_.idempotency_key = !options_.idempotency.header.empty();
  capabilities_.idempotency_header = options_.idempotency.header;
  capabilities_.idempotency_window = options_.idempotency.window;
  return {};
}

// The operator asks for it, the module must know of it: a header that the endpoint ignores would
// make every repeat a second message.
Result<void> ModuleProvider::check_idempotency(const sendonce_provider_description& can) const {
  const auto header = text_of(can.idempotency_header, kHeaderNameMax);
  if (!header) return refuse(options_.table, "describes an idempotency header that is none");
  const IdempotencySpec& asked = options_.idempotency;
  if (asked.header.empty()) return {};
  if (header->empty())
    return refuse(options_.table,
                  "says that its endpoint recognises no repeats: remove idempotency");
  // It is somebody else's text, and stands in an error.
  if (lower_ascii(*header) != asked.header)
    return refuse(options_.table, "names another idempotency header: " + safe_code(*header));
  const auto known =
      static_cast<std::uint64_t>(std::chrono::duration_cast<milliseconds>(asked.window).count());
  if (known > can.idempotency_window_ms)
    return refuse(options_.table, "says that its endpoint remembers keys for " +
                                      std::to_string(can.idempotency_window_ms / 1000) +
                                      " s only: lower idempotency.window");
  return {};
}

Result<void> ModuleProvider::find_auth() {
  const sendonce_provider_api& api = *options_.table.api;
  if (has_query(api))
    auth_ = static_cast<const sendonce_auth_api*>(api.query(instance_.get(), SENDONCE_AUTH_1));
  if (auth_ == nullptr) {
    if (options_.token_endpoint.empty()) return {};
    return refuse(options_.table, "exchanges no credentials: remove auth.token_endpoint");
  }
  if (!SENDONCE_HAS(auth_, sendonce_auth_api, refused) || auth_->ready == nullptr ||
      auth_->prepare == nullptr || auth_->accept == nullptr || auth_->refused == nullptr)
    return refuse(options_.table, "has a table of " SENDONCE_AUTH_1
                                  " that is too short or has holes: build it with "
                                  "sendonce/abi/provider_auth.h");
  if (options_.token_endpoint.empty())
    return refuse(options_.table, "exchanges credentials: name auth.token_endpoint");
  return {};
}

std::vector<std::string_view> ModuleProvider::secrets() const {
  std::vector<std::string_view> out;
  for (const ModuleSetting& setting : options_.settings)
    if (setting.secret) out.push_back(setting.value.expose());
  return out;
}

Result<Destination> ModuleProvider::normal_form(const Target& target) const {
  return normal_destination(options_.channel, target.destination);
}

Result<HttpRequest> ModuleProvider::prepare(const Attempt& attempt, WallTime now) {
  if (!overrides_of(attempt.notification, capabilities_.kind).empty())
    return fail(Errc::invalid, "overrides." + std::string(name(capabilities_.kind)) +
                                   " is not taken by a provider of kind module");
  const DeliveryView view(attempt, options_.channel, now);
  sendonce_request made{};
  made.struct_size = sizeof made;
  LentText text;
  if (options_.table.api->prepare(instance_.get(), view.get(), &made, text.out()) != SENDONCE_OK) {
    std::vector<std::string_view> hidden = secrets();
    const std::vector<std::string> personal = personal_of(attempt);
    hidden.insert(hidden.end(), personal.begin(), personal.end());
    return fail(Errc::invalid, "module " + options_.table.name + ": " + text.read(hidden));
  }
  const std::string_view base = without_slash(options_.endpoint);
  SO_TRY(HttpRequest request, read_request(made, base, options_.idempotency.header));
  if (!options_.idempotency.header.empty()) {
    std::string key = hex(attempt.key.view());
    if (options_.idempotency.style == KeyStyle::sf_string) key = '"' + key + '"';
    request.headers.add(options_.idempotency.header, key, true);
  }
  if (options_.version == HttpVersion::two) return request;
  request.url = std::string(base) + std::exchange(request.path, {});
  request.by_url = true;
  return request;
}

ModuleSaid ModuleProvider::ask(const Target& target, const sendonce_answer& answer) const {
  const sendonce_target view = view_of(target, options_.channel);
  sendonce_verdict said{};
  said.struct_size = sizeof said;
  options_.table.api->classify(instance_.get(), &view, &answer, &said);
  std::vector<std::string_view> hidden = secrets();
  hidden.push_back(target.destination.expose());
  return read_verdict(said, hidden);
}

Believed ModuleProvider::judge(const Target& target, const CallResult& result, WallTime now) const {
  const AnswerView view(result, now);
  const ModuleSaid said = ask(target, *view.get());
  if (const auto* failure = std::get_if<CallFailure>(&result)) return believe(said, *failure);
  const auto& answer = std::get<HttpAnswer>(result);
  Believed out = believe(said, answer, needs_receipt_, now);
  if (rests_on_contents(out, answer)) {
    const ModuleSaid bare = ask(target, AnswerView::bare(answer.status, now));
    const bool effect_told = out.verdict.name != VerdictClass::token_terminal;
    if (bare.verdict == out.verdict.name && (!effect_told || bare.effect == said.effect))
      out = without_contents(out.verdict.name, answer, now);
  }
  if (out.corrected.empty() && !said.unfit.empty())
    out.corrected = std::string(said.unfit) + " has not the form it must have, or tells a secret";
  out.verdict.refresh_credential = has_auth() && out.verdict.name == VerdictClass::provider_auth;
  return out;
}

// ---- credentials -------------------------------------------------------------------------------

bool ModuleProvider::ready(WallTime now) const {
  return auth_ == nullptr || auth_->ready(instance_.get(), abi_time(now)) != 0;
}

std::optional<HttpRequest> ModuleProvider::needs_auth(WallTime now) {
  if (auth_ == nullptr) return std::nullopt;
  // A wait that a clock set back would make endless is none.
  if (auth_not_before_ && now < *auth_not_before_ && *auth_not_before_ - now <= kLongestAuthWait)
    return std::nullopt;
  sendonce_request made{};
  made.struct_size = sizeof made;
  LentText text;
  const bool due =
      auth_->prepare(instance_.get(), abi_time(now), &made, text.out()) == SENDONCE_OK &&
      made.url.size != 0;
  if (!due) return std::nullopt;
  const std::string_view base = without_slash(options_.token_endpoint);
  auto request = read_request(made, base, "");
  auth_not_before_ = now + kExchangesApart;
  if (!request) return std::nullopt;  // not ready() then, which holds what waits for it
  // The configured address itself has no slash at its end unless it was written.
  const bool itself = request->path == "/";
  request->url = itself ? options_.token_endpoint : std::string(base) + request->path;
  request->path.clear();
  return std::move(*request);
}

Verdict ModuleProvider::accept_auth(const CallResult& result, WallTime now) {
  SO_ASSERT(auth_ != nullptr);  // needs_auth asked for it
  const AnswerView view(result, now);
  sendonce_verdict said{};
  said.struct_size = sizeof said;
  auth_->accept(instance_.get(), view.get(), &said);
  Verdict v;
  if (const auto* answer = std::get_if<HttpAnswer>(&result))
    v = believe_auth(read_verdict(said, secrets()), *answer, ready(now), now);
  else
    v = judge_oauth(result, now);
  const Duration wait = std::clamp<Duration>(v.retry_after, kExchangesApart, kLongestAuthWait);
  auth_not_before_ = now + wait;
  if (v.effect == Effect::sent) ++credentials_;
  return v;
}

bool ModuleProvider::credential_refused(WallTime now) {
  if (auth_ != nullptr) auth_->refused(instance_.get(), abi_time(now));
  return false;
}

}  // namespace sendonce
