#include "tests/integration/broker/rig.hpp"

#include <algorithm>
#include <utility>

#include "plugin/core/assert.hpp"
#include "plugin/core/text.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) assertion_failed(result.error().text.c_str(), __FILE__, __LINE__);
  return *std::move(result);
}

void must(const Result<void>& result) {
  if (!result) assertion_failed(result.error().text.c_str(), __FILE__, __LINE__);
}

struct DeafSink final : ConnectionSink {
  void on_message(RawMessage /*message*/) override {}
  void on_event(ConnectionEvent /*event*/, std::string /*text*/) override {}
};

std::string comma(std::string_view extra) {
  return extra.empty() ? std::string() : "," + std::string(extra);
}

}  // namespace

Rig::Rig(NatsOptions options) : server(must(NatsServer::start(options))), server_options(options) {}

Rig::~Rig() {
  broker.reset();
  admin_.reset();
}

// Connects again when the server has been away.
Publisher& Rig::admin() {
  const auto answers = [this] {
    if (admin_ != nullptr && admin_->request("$JS.API.INFO", {}).has_value()) return true;
    ConnectionOptions options;
    std::string login;
    if (!server_options.user.empty())
      login = server_options.user + ":" + server_options.password + "@";
    options.servers = {"nats://" + login + server.address()};
    options.name = "admin";
    auto made = Publisher::connect(options, std::chrono::seconds(2));
    admin_ = made ? *std::move(made) : nullptr;
    return false;
  };
  SO_ASSERT(eventually(answers, std::chrono::seconds(20)));
  return *admin_;
}

std::string Rig::api(const std::string& what, std::string_view body) {
  std::string answer = must(admin().request("$JS.API." + what, body));
  const auto error = parse_api_error(answer);
  if (error) assertion_failed((what + ": " + error->description).c_str(), __FILE__, __LINE__);
  return answer;
}

void Rig::make_stream(std::string_view name, std::string_view subject, std::string_view extra) {
  const std::string stream(name);
  api("STREAM.CREATE." + stream, "{\"name\":" + json_text(name) + ",\"subjects\":[" +
                                     json_text(subject) + "]" + comma(extra) + "}");
}

void Rig::make_consumer(std::string_view ledger, std::string_view extra) {
  const std::string stream(kStream);
  const std::string durable(kDurable);
  std::string config = R"({"ack_policy":"explicit","max_deliver":-1,"ack_wait":30000000000,)"
                       R"("max_ack_pending":100000,"max_waiting":512})";
  config = patch_object(config, {{"durable_name", json_text(durable)},
                                 {"filter_subject", json_text(kSubject)},
                                 {"description", json_text(with_ledger("", ledger))}});
  if (!extra.empty()) {
    // `extra` wins over what is above.
    config.pop_back();
    config += comma(extra) + "}";
  }
  api("CONSUMER.DURABLE.CREATE." + stream + "." + durable,
      "{\"stream_name\":\"" + stream + "\",\"config\":" + config + "}");
}

std::uint64_t Rig::stored(std::string_view stream) {
  return parse_stream_info(api("STREAM.INFO." + std::string(stream))).value().messages;
}

ConsumerInfo Rig::consumer() {
  const std::string name = std::string(kStream) + "." + std::string(kDurable);
  return parse_consumer_info(api("CONSUMER.INFO." + name)).value();
}

void Rig::publish(const std::string& subject, const std::string& body,
                  const MessageHeaders& headers) {
  must(admin().publish(Publication{.subject = subject, .headers = headers, .body = body}));
}

bool Rig::asks(const std::string& subject) {
  return admin().request(subject, {}).has_value();
}

void Rig::tell(const std::string& subject, const std::string& reply) {
  DeafSink deaf;
  ConnectionOptions options = broker_options().connection;
  options.inbox_prefix = make_inbox_prefix("teller");
  auto connection = must(Connection::open(options, deaf));
  must(connection->publish(subject, reply, {}));
  must(connection->flush(std::chrono::seconds(20)));
}

NatsBrokerOptions Rig::broker_options() const {
  NatsBrokerOptions options;
  std::string login;
  if (!server_options.user.empty())
    login = server_options.user + ":" + server_options.password + "@";
  options.connection.servers = {"nats://" + login + server.address()};
  options.connection.name = "test";
  options.connection.reconnect_wait = std::chrono::milliseconds(50);
  options.connection.reconnect_jitter = std::chrono::milliseconds(10);
  options.connection.ping_interval = std::chrono::milliseconds(500);
  options.ledger_id = kLedger;
  options.lanes = {NatsLane{.class_name = "otp",
                            .stream = std::string(kStream),
                            .durable = std::string(kDurable),
                            .subject = std::string(kSubject),
                            .ack_wait = std::chrono::seconds(2)}};
  options.pull.expires = std::chrono::seconds(5);
  options.pull.heartbeat = std::chrono::milliseconds(500);
  options.pull.info_interval = std::chrono::milliseconds(300);
  options.pull.info_timeout = std::chrono::seconds(1);
  options.rebuild_first = std::chrono::milliseconds(100);
  options.rebuild_cap = std::chrono::seconds(1);
  return options;
}

void Rig::start_broker(NatsBrokerOptions options) {
  broker = std::make_unique<NatsBroker>(std::move(options), *clock, *log, [] {});
  broker->start();
}

bool Rig::take(std::size_t at_least) {
  broker->take(taken);
  return taken.size() >= at_least;
}

bool Rig::ready() {
  return eventually([this] { return lane().ready; });
}

std::optional<Result<void>> Rig::confirmation(Ticket ticket) {
  std::optional<Result<void>> result;
  const auto there = [&] {
    broker->take_confirmations(confirmations_);
    const auto found = std::find_if(confirmations_.begin(), confirmations_.end(),
                                    [ticket](const Confirmation& c) { return c.ticket == ticket; });
    if (found != confirmations_.end()) result = found->result;
    return result.has_value();
  };
  static_cast<void>(eventually(there));
  return result;
}

}  // namespace sendonce::test
