#include "plugin/cli/demo/world.hpp"

#include <csignal>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "config/loader.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/module/admin/admin_client.hpp"
#include "plugin/module/compose.hpp"
#include "tests/support/eventually.hpp"

namespace sendonce::cli {
namespace {

using Json = nlohmann::json;

constexpr auto kStartWithin = std::chrono::seconds(20);

}  // namespace

std::string beside_us(std::string_view program) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  // Installed, a daemon is in sbin and this program in bin.
  for (const auto& directory : {self.parent_path(), self.parent_path().parent_path() / "sbin"})
    if (const auto file = directory / program; std::filesystem::exists(file, ignored))
      return file.string();
  return std::string(program);
}

Result<std::unique_ptr<World>> World::make(const WorldOptions& options) {
  std::unique_ptr<World> world(new World);
  world->options_ = options;
  if (!options.directory.empty())
    world->dir_ = test::TempDir(std::filesystem::absolute(options.directory));
  if (world->options_.sendonced.empty()) world->options_.sendonced = beside_us("sendonced");
  if (world->options_.fakeprov.empty()) world->options_.fakeprov = beside_us("sendonce-fakeprov");
  SO_TRY(test::NatsServer server, test::NatsServer::start());
  world->server_ = std::make_unique<test::NatsServer>(std::move(server));
  world->provider_port_ = options.provider_port;
  if (options.provider_port == 0) SO_CHECK(world->start_provider());
  SO_CHECK(world->make_config());
  SetupOptions setup_options{.from = "all", .report = stderr};
  if (options.setup && setup({.config = world->config_path()}, setup_options) != 0)
    return fail(Errc::internal, "setup failed, see above");
  return world;
}

Result<void> World::start_provider() {
  test::ProcessOptions o{.program = options_.fakeprov,
                         .args = {"--port", "0", "--make-credentials", dir_.path().string(),
                                  "--apns-topic", "com.example.demo", "--fcm-project", "demo"},
                         .output = dir_ / "provider.out",
                         .errors = dir_ / "provider.err"};
  if (!options_.script.empty()) {
    o.args.emplace_back("--script");
    o.args.push_back(dir_.write("script.toml", options_.script).string());
  }
  if (options_.record) {
    o.args.emplace_back("--record");
    o.args.push_back(record_path());
  }
  if (options_.lenient) o.args.emplace_back("--lenient");
  if (options_.latency_ms > 0) {
    o.args.emplace_back("--latency");
    o.args.push_back(std::to_string(options_.latency_ms));
  }
  SO_TRY(provider_, test::Process::start(o));
  const bool up = test::eventually(
      [&] { return test::read_file(o.output).ends_with('\n') || !provider_.running(); },
      kStartWithin);
  const Json ready = Json::parse(test::read_file(o.output), nullptr, false);
  if (!up || !ready.is_object() || !ready.contains("port"))
    return fail(Errc::unavailable,
                "the fake provider does not start: " + test::read_file(o.errors));
  provider_port_ = ready["port"].get<std::uint16_t>();
  return {};
}

std::string World::config_text() const {
  const std::string credentials =
      options_.credentials.empty() ? dir_.path().string() : options_.credentials;
  const std::string endpoint = "https://localhost:" + std::to_string(provider_port_);
  const std::string tuning =
      "concurrency = { connections = " + std::to_string(options_.connections) +
      ", streams = " + std::to_string(options_.streams) + " }\n" + options_.provider_options +
      "call = { connect = \"2s\", total = \"" + options_.call_total + "\" }\ntls = { ca = \"" +
      credentials + "/ca.pem\" }\n";
  return "config_version = 1\n\n[instance]\nname = \"demo\"\nstate_dir = \"" + state_dir() +
         "\"\nsocket = \"" + path("admin.sock") + "\"\ndrain = \"" + options_.drain +
         "\"\n\n[nats]\nservers = [\"" + server_->url() + "\"]\n\n[ledger]\nmap_size = \"" +
         options_.map_size + "\"\n\n[provider.apns]\nkind = \"apns\"\nendpoint = \"" + endpoint +
         "\"\ntopic = \"com.example.demo\"\nauth = { team = \"TEAM123456\", key_id = " +
         "\"KEY1234567\", key = \"file:" + credentials + "/apns.p8\" }\n" + tuning +
         "\n[provider.fcm]\nkind = \"fcm\"\nendpoint = \"" + endpoint +
         "\"\nauth = { service_account = \"file:" + credentials + "/service-account.json\" }\n" +
         tuning + "\n[defaults.class]\nroute = { push = [\"apns\", \"fcm\"] }\n" + options_.classes;
}

Result<void> World::make_config() {
  std::error_code ignored;
  std::filesystem::create_directory(state_dir(), ignored);
  write_config(config_text());
  auto loaded = load(config_path(), Surroundings::ignore);
  if (!loaded) return fail(Errc::internal, "the demo's own configuration is refused, see above");
  config_ = std::move(*loaded);
  return {};
}

Result<void> World::start_daemon(std::vector<std::string> environment) {
  SO_TRY(daemon_, test::Process::start(
                      {.program = options_.sendonced,
                       .args = {"--config", config_path(), "--log-level", options_.log_level},
                       .environment = std::move(environment),
                       .output = daemon_log(),
                       .errors = daemon_log()}));
  return {};
}

bool World::stop_daemon() {
  const auto exit = daemon_.terminate(std::chrono::seconds(20));
  return exit && exit->signal == 0 && exit->code == 0;
}

bool World::stop_provider() {
  return provider_.terminate().has_value();
}

std::string World::log_tail() const {
  constexpr std::size_t kTail = 4000;
  std::string log = test::read_file(daemon_log());
  return log.size() > kTail ? log.substr(log.size() - kTail) : log;
}

Result<std::unique_ptr<Publisher>> World::connect() const {
  SO_TRY(ConnectionOptions connection, connection_of(config_, {}));
  return Publisher::connect(std::move(connection));
}

Result<std::uint64_t> World::unsettled(Publisher& client) const {
  std::uint64_t sum = 0;
  for (const ClassConfig& c : config_.classes) {
    const std::string consumer = c.stream + "." + durable_of(c);
    SO_TRY(const std::string text, client.request("$JS.API.CONSUMER.INFO." + consumer, ""));
    const auto info = nlohmann::json::parse(text, nullptr, false);
    if (!info.contains("num_pending") || !info.contains("num_ack_pending"))
      return fail(Errc::unavailable, "no consumer " + consumer + ": " + text);
    sum += info["num_pending"].get<std::uint64_t>() + info["num_ack_pending"].get<std::uint64_t>();
  }
  return sum;
}

bool World::told() const {
  const auto text = status();
  if (!text) return false;
  const Json all = Json::parse(*text, nullptr, false);
  return all.is_object() && all.value("/ledger/outbox_entries"_json_pointer, 1) == 0;
}

Result<std::string> World::status() const {
  SO_TRY(AdminClient client,
         AdminClient::connect(config_.instance.socket, std::chrono::seconds(2)));
  return client.call({.verb = "status"});
}

void World::keep() {
  daemon_.kill();
  (void)provider_.terminate();
  server_.reset();
  dir_.release();
}

}  // namespace sendonce::cli
