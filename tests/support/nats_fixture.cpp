#include "tests/support/nats_fixture.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/eventually.hpp"

namespace sendonce::test {
namespace {

constexpr std::chrono::seconds kStartTime{20};

std::string program() {
  const char* named = ::getenv("SENDONCE_NATS_SERVER");  // NOLINT(concurrency-mt-unsafe)
  return named == nullptr ? "nats-server" : named;
}

// One line of a connection's start, or what came within a second.
std::string greeting(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string out;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    std::array<char, 512> buffer{};
    if (::poll(&readable, 1, 1000) == 1) {
      const ssize_t n = ::read(fd, buffer.data(), buffer.size());
      if (n > 0) out.assign(buffer.data(), static_cast<std::size_t>(n));
    }
  }
  ::close(fd);
  return out;
}

}  // namespace

Result<NatsServer> NatsServer::start(NatsOptions options) {
  NatsServer server;
  server.options_ = std::move(options);
  SO_CHECK(server.launch());
  return server;
}

std::string NatsServer::address() const {
  return "127.0.0.1:" + std::to_string(port_);
}
std::string NatsServer::url() const {
  return "nats://" + address();
}
std::string NatsServer::log() const {
  return read_file(dir_ / "nats.log");
}

void NatsServer::stop() {
  process_.terminate();
}
void NatsServer::kill() {
  process_.kill();
}
void NatsServer::freeze() {
  process_.freeze();
}
void NatsServer::thaw() {
  process_.thaw();
}
void NatsServer::lame_duck() {
  process_.signal(SIGUSR2);
}

Result<void> NatsServer::restart() {
  process_.kill();
  return launch();
}

void NatsServer::wipe_store() {
  std::filesystem::remove_all(dir_ / "store");
}

std::string NatsServer::configuration() const {
  std::string text = "host: 127.0.0.1\n";
  text += "port: " + (port_ == 0 ? std::string("-1") : std::to_string(port_)) + "\n";
  text += "ports_file_dir: \"" + dir_.path().string() + "\"\n";
  text += "log_file: \"" + (dir_ / "nats.log").string() + "\"\n";
  if (options_.jetstream) {
    text += "jetstream {\n  store_dir: \"" + (dir_ / "store").string() + "\"\n";
    text += "  max_file_store: 4GB\n  max_memory_store: 256MB\n";
    if (!options_.domain.empty()) text += "  domain: " + options_.domain + "\n";
    text += "}\n";
  }
  if (!options_.user.empty()) {
    text += "authorization { user: \"" + options_.user + "\", password: \"" + options_.password +
            "\" }\n";
  }
  return text + options_.extra + "\n";
}

Result<void> NatsServer::launch() {
  const std::filesystem::path file = dir_.write("nats.conf", configuration());
  const ProcessOptions how{
      .program = program(), .args = {"-c", file.string()}, .output = dir_ / "nats.out"};
  const bool first = port_ == 0;
  const auto step = [&] {
    if (!process_.running()) {
      // Killed a moment ago, its port may still be held: try again. A first start has no excuse.
      if (first && process_.pid() > 0) return true;
      Result<Process> started = Process::start(how);
      if (!started) return false;
      process_ = std::move(*started);
    }
    if (port_ == 0) port_ = port_from_file();
    return port_ != 0 && answers();
  };
  const bool up = eventually(step, kStartTime) && process_.running();
  if (up) return {};
  return fail(Errc::unavailable,
              program() + " does not answer: " + read_file(dir_ / "nats.out") + log());
}

bool NatsServer::answers() const {
  return greeting(port_).starts_with("INFO ");
}

// The server writes {"nats":["nats://127.0.0.1:PORT"]} once it listens.
std::uint16_t NatsServer::port_from_file() const {
  const std::string name = "nats-server_" + std::to_string(process_.pid()) + ".ports";
  const std::string text = read_file(dir_ / name);
  constexpr std::string_view kBefore = "nats://127.0.0.1:";
  const std::size_t at = text.find(kBefore);
  if (at == std::string::npos || text.find('}') == std::string::npos) return 0;
  std::uint16_t port = 0;
  std::from_chars(text.data() + at + kBefore.size(), text.data() + text.size(), port);
  return port;
}

}  // namespace sendonce::test
