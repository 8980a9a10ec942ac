// page: what the daemon is doing, in a browser of the person who runs it.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sysexits.h>

#include "plugin/cli/commands.hpp"
#include "plugin/cli/letter_desk.hpp"
#include "plugin/cli/operator.hpp"
#include "plugin/cli/output.hpp"
#include "plugin/cli/page/bridge.hpp"
#include "plugin/core/random.hpp"
#include "plugin/core/text.hpp"
#include "plugin/module/admin/unix_socket.hpp"
#include "plugin/module/http/tcp_listener.hpp"

namespace sendonce::cli {
namespace {

constexpr Duration kTimeout = std::chrono::seconds(15);  // longer than the daemon takes
constexpr std::size_t kSecretBytes = 32;
// A browser keeps six connections at most; those that say nothing must not keep it out.
constexpr HttpLimits kLimits{.connections = 32, .idle = std::chrono::seconds(5), .per_peer = 32};

std::string new_secret() {
  return base64url(system_random_bytes(kSecretBytes));
}

// Blocked before any thread is there, so that each of them leaves these signals to us.
sigset_t block_endings() {
  sigset_t endings;
  sigemptyset(&endings);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&endings, number);
  pthread_sigmask(SIG_BLOCK, &endings, nullptr);
  return endings;
}

std::uint16_t port_of(const UniqueFd& listening) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  SO_ASSERT(::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

BridgePorts ports_for(const Config& config) {
  return {.daemon =
              [&config](const HttpQuestion& question) {
                return relay(config.instance.socket, kTimeout, question);
              },
          .letters =
              [&config](const LettersWanted& wanted) {
                return letters_json(config, wanted.from, wanted.limit);
              },
          .replay =
              [&config](const ReplayWanted& wanted) {
                return replay_json(config, wanted.sequence, wanted.force, wanted.reason);
              }};
}

void print_address(const std::string& address, bool json) {
  if (json) {
    std::printf("%s\n", nlohmann::ordered_json{{"url", address}}.dump().c_str());
  } else {
    std::printf("%s\nworks once, within ten minutes; Ctrl-C ends the page\n", address.c_str());
  }
  std::fflush(stdout);
}

}  // namespace

int page(const Common& common, const PageOptions& options) {
  const auto config = load(common.config, Surroundings::ignore);
  if (!config) return EX_CONFIG;
  // A daemon that is away may come; a socket that is closed to this user stays so.
  if (const auto daemon = connect_unix(config->instance.socket, kTimeout); !daemon) {
    if (daemon.error().code != Errc::unavailable) return failed(daemon.error());
    note(daemon.error().text);
  }
  auto listening = listen_tcp("127.0.0.1", options.port);
  if (!listening) {
    const int code = failed(listening.error());
    return listening.error().code == Errc::busy ? EXIT_FAILURE : code;  // another port will do
  }
  const auto clock = make_system_clock();
  const Gate gate(port_of(*listening),
                  {.token = new_secret(), .session = new_secret(), .proof = new_secret()},
                  clock->mono());
  const std::string address = gate.address();
  Bridge bridge(*clock, gate, operator_name(), ports_for(*config));

  const sigset_t endings = block_endings();
  HttpServer server(*clock, kLimits);
  const auto started =
      server.start(std::move(*listening), "so-page",
                   [&bridge](const HttpQuestion& question) { return bridge.answer(question); });
  if (!started) return failed(started.error());
  print_address(address, common.json);
  int ending = 0;
  sigwait(&endings, &ending);
  server.stop();
  return EX_OK;
}

}  // namespace sendonce::cli
