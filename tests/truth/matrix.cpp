#include "tests/truth/matrix.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "ledger/lmdb/open.hpp"
#include "tests/support/eventually.hpp"
#include "tests/truth/stub_server.hpp"

namespace sendonce::truth {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kGiveUp = "marketing";
constexpr const char* kResend = "otp";

std::string class_text(const std::string& name, const std::string& subject,
                       const std::string& policy) {
  return "\n[class." + name + "]\nsubject   = \"" + subject +
         ".>\"\nexpires   = \"10m\"\nclaim     = \"10s\"\nack_wait  = \"12s\"\n"
         "retention = \"2d\"\nretry     = { first = \"50ms\", factor = 2.0, cap = \"500ms\", "
         "attempts = 12, horizon = \"5m\" }\nambiguous = { default = \"" +
         policy + "\" }\n";
}

// A token is a row, a policy and a number.
std::string token_of(std::size_t row, bool resend, int number) {
  std::array<char, 65> hex{};
  std::snprintf(hex.data(), hex.size(), "%064llx",
                (static_cast<unsigned long long>(row) << 32U) | (resend ? 1ULL << 24U : 0ULL) |
                    static_cast<unsigned long long>(number));
  return hex.data();
}

std::string ref_of(std::size_t row, bool resend, int number) {
  return std::to_string(row) + (resend ? "r" : "g") + std::to_string(number);
}

std::string range(std::uint64_t least, std::uint64_t most) {
  return least == most ? std::to_string(most) : std::to_string(least) + "–" + std::to_string(most);
}

// Which of many messages a fault meets is chance: their policies share the range.
constexpr int kFew = 10;
void share_requests(PlayedRow& p) {
  for (Cell* cell : {&p.give_up, &p.resend}) {
    cell->requests_least = std::min(p.give_up.requests_least, p.resend.requests_least);
    cell->requests_most = std::max(p.give_up.requests_most, p.resend.requests_most);
  }
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace

std::string Cell::text() const {
  std::string how;
  for (const auto& [outcome, times] : ended) {
    if (!how.empty()) how += ", ";
    how += ended.size() == 1 ? outcome : std::to_string(times) + ' ' + outcome;
  }
  return range(requests_least, requests_most) + " | " + range(copies_least, copies_most) + " | " +
         how;
}

Result<void> Matrix::prepare() {
  SO_CHECK(provider_.start());
  SO_TRY(world_, cli::World::make({.classes = class_text(kResend, "notify.otp", "resend") +
                                              class_text(kGiveUp, "notify.campaign", "give-up"),
                                   .streams = 200,
                                   .provider_port = provider_.port(),
                                   .credentials = provider_.credentials(),
                                   .call_total = "3s"}));
  good_config_ = test::read_file(world_->config_path());
  SO_CHECK(start_daemon());
  SO_TRY(client_, world_->connect());
  return {};
}

// As JSON; empty: no answer.
std::string Matrix::state_of(const std::string& what) const {
  const auto text = world_->status();
  if (!text) return {};
  const Json all = Json::parse(*text, nullptr, false);
  const Json::json_pointer pointer(what);
  return all.is_object() && all.contains(pointer) ? all[pointer].dump() : std::string();
}

Result<void> Matrix::play(const Row& row) {
  const MonoTime begun = clock_->mono();
  played_.push_back({.row = row});
  log_from_ = test::read_file(world_->daemon_log()).size();
  SO_CHECK(provider_.script(row.script));
  std::unique_ptr<StubServer> stub;
  if (row.place == Place::tls_alert)
    stub = std::make_unique<StubServer>(std::string("\x15\x03\x01\x00\x02\x02\x28", 7));
  if (row.place == Place::proxy_refuses)
    stub = std::make_unique<StubServer>("HTTP/1.1 503 Service Unavailable\r\n\r\n");
  if (row.place == Place::proxy_closes) stub = std::make_unique<StubServer>("");
  const std::string port = stub ? std::to_string(stub->port()) : "";
  const std::string endpoint = "https://localhost:" + std::to_string(provider_.port());
  std::string config = good_config_;
  switch (row.place) {
    case Place::provider:
      break;
    case Place::away:
      provider_.stop();
      break;
    case Place::no_name:
      config = replaced(config, endpoint, "https://nobody.invalid");
      break;
    case Place::tls_alert:
      config = replaced(config, endpoint, "https://localhost:" + port);
      break;
    case Place::foreign_ca:
      config = replaced(config, provider_.credentials() + "/ca.pem",
                        dir_.write("ca.pem", test::Authority().pem()).string());
      break;
    case Place::proxy_refuses:
    case Place::proxy_closes:
      config = replaced(config, "\ncall = {",
                        "\nproxy = { url = \"http://127.0.0.1:" + port + "\" }\ncall = {");
      break;
  }
  if (config != good_config_) SO_CHECK(restart(config));
  SO_CHECK(publish(row));
  if (row.place != Place::provider) SO_CHECK(wait_for_a_failed_connect());
  if (row.place == Place::away) SO_CHECK(provider_.start());
  if (config != good_config_) SO_CHECK(restart(good_config_));
  SO_CHECK(wait_until_settled());
  played_.back().took = clock_->mono() - begun;
  return {};
}

Result<void> Matrix::publish(const Row& row) {
  const std::size_t number = played_.size() - 1;
  for (int i = 0; i < row.messages; ++i) {
    for (const bool resend : {false, true}) {
      const std::string ref = ref_of(number, resend, i);
      const Json body{
          {"event_id", ref},
          {"recipient", ref},
          {"channel", "push"},
          {"template", "t"},
          {"targets",
           {{{"provider", "apns"}, {"token", token_of(number, resend, i)}, {"ref", ref}}}},
          {"notification", {{"title", "T"}, {"body", "B"}}}};
      SO_CHECK(client_->publish(
          {.subject = resend ? "notify.otp.x" : "notify.campaign.x", .body = body.dump()}));
    }
  }
  return {};
}

// An endpoint cannot change while the daemon runs.
Result<void> Matrix::restart(const std::string& config) {
  if (!world_->stop_daemon())
    return fail(Errc::internal, "the daemon did not stop well, see its log");
  world_->write_config(config);
  return start_daemon();
}

Result<void> Matrix::start_daemon() {
  SO_CHECK(world_->start_daemon());
  const bool ready = test::eventually([&] { return state_of("/state") == "\"ready\""; },
                                      seconds(60), milliseconds(20));
  return ready ? Result<void>{} : fail(Errc::unavailable, "the daemon does not become ready");
}

// Since the row began.
Result<void> Matrix::wait_for_a_failed_connect() {
  const bool failed = test::eventually(
      [&] {
        return test::read_file(world_->daemon_log()).find("h2.connect_failed", log_from_) !=
               std::string::npos;
      },
      seconds(60), milliseconds(20));
  return failed ? Result<void>{} : fail(Errc::internal, "no connect has failed");
}

Result<void> Matrix::wait_until_settled() {
  const bool settled = test::eventually(
      [&] {
        const auto left = world_->unsettled(*client_);
        return left && *left == 0;
      },
      seconds(120), milliseconds(20));
  return settled ? Result<void>{} : fail(Errc::unavailable, "not everything is settled");
}

Result<std::vector<PlayedRow>> Matrix::judge() {
  if (!world_->stop_daemon())
    return fail(Errc::internal, "the daemon did not stop well, see its log");
  std::map<std::string, State> states;
  SO_TRY(const auto reader, LedgerReader::open(ledger_directory(world_->config().instance)));
  SO_CHECK(reader->scan({}, [&](std::string_view, const sendonce::Row& row) {
    states[row.ref] = row.state;
    return true;
  }));
  for (std::size_t i = 0; i < played_.size(); ++i) {
    PlayedRow& p = played_[i];
    for (int n = 0; n < p.row.messages; ++n) {
      add(p.give_up, p, false, token_of(i, false, n), ref_of(i, false, n), states);
      add(p.resend, p, p.row.loses_answers, token_of(i, true, n), ref_of(i, true, n), states);
    }
    if (p.row.messages > kFew) share_requests(p);
    if (p.took < p.row.at_least) p.resend.broken.emplace_back("over before Retry-After");
  }
  return std::move(played_);
}

void Matrix::add(Cell& cell, const PlayedRow& played, bool may_repeat, const std::string& token,
                 const std::string& ref, const std::map<std::string, State>& states) const {
  const test::Copies copies = provider_.seen(test::ProviderKind::apns, token);
  cell.requests_least = std::min(cell.requests_least, copies.received);
  cell.requests_most = std::max(cell.requests_most, copies.received);
  cell.copies_least = std::min(cell.copies_least, copies.accepted);
  cell.copies_most = std::max(cell.copies_most, copies.accepted);
  const auto state = states.find(ref);
  if (state == states.end() || !has_ended(state->second)) {
    cell.broken.push_back(ref + " has not ended");
    return;
  }
  ++cell.ended[std::string(name(state->second))];
  const bool resend = &cell == &played.resend;
  if (copies.accepted > 1 && !may_repeat) cell.broken.push_back(ref + ": an unexplained copy");
  if (copies.accepted > 0) return;
  const bool excused = (state->second == State::failed && played.row.refuses) ||
                       (state->second == State::unknown && (!resend || played.row.refuses));
  if (!excused) cell.broken.push_back(ref + ": lost");
}

std::string Matrix::daemons_last_words() const {
  return world_ ? world_->log_tail() : std::string();
}

std::string markdown(const std::vector<PlayedRow>& rows) {
  std::string out =
      "| fault | give-up: requests | copies | ends | resend: requests | copies | ends |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const PlayedRow& p : rows)
    out += "| " + p.row.fault + " | " + p.give_up.text() + " | " + p.resend.text() + " |\n";
  return out;
}

}  // namespace sendonce::truth
