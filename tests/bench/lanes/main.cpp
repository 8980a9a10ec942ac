// Requests a second and memory of the transports that take a connection for each request on its
// way: HTTP/1.1 and SMTP, over TLS on loopback. The server runs in a process of its own.
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/cli/bench/measure.hpp"
#include "plugin/core/assert.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/log.hpp"
#include "plugin/transport/h2/h2_transport.hpp"
#include "tests/support/fake_provider.hpp"
#include "tests/support/fake_smtp.hpp"
#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

constexpr ProviderIndex kProvider{0};

struct Plan {
  std::uint64_t requests = 20'000;  // a round
  std::size_t connections = 16;
  int rounds = 6;
};

void tell(int to, std::uint16_t port, const std::string& ca_pem) {
  const std::string text = std::to_string(port) + "\n" + ca_pem;
  SO_ASSERT(::write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(to);
}

[[noreturn]] void wait_to_be_killed() {
  for (;;) ::pause();
}

[[noreturn]] void serve_http(int to) {
  auto server = FakeProvider::start({});
  SO_ASSERT(server.has_value());
  tell(to, (*server)->port(), (*server)->ca_pem());
  wait_to_be_killed();
}

[[noreturn]] void serve_smtp(int to) {
  const Authority authority;
  SmtpServerOptions options;
  options.identity = authority.issue();
  options.user = "shop";
  options.password = "s3cret";
  const auto server = FakeSmtp::start(std::move(options)).value();
  server->keep_messages(false);
  tell(to, server->port(), authority.pem());
  wait_to_be_killed();
}

// A server in a child process, its port and its authority.
class Child {
 public:
  explicit Child(bool smtp) {
    std::array<int, 2> pipe{};
    SO_ASSERT(::pipe(pipe.data()) == 0);
    pid_ = ::fork();
    SO_ASSERT(pid_ >= 0);
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(pipe[0]);
      if (smtp) serve_smtp(pipe[1]);
      serve_http(pipe[1]);
    }
    ::close(pipe[1]);
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(pipe[0], buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(n));
    ::close(pipe[0]);
    port_ = text.substr(0, text.find('\n'));
    std::ofstream(ca()) << text.substr(text.find('\n') + 1);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] const std::string& port() const { return port_; }
  [[nodiscard]] std::string ca() const { return (folder_.path() / "ca.pem").string(); }

 private:
  TempDir folder_{};
  pid_t pid_ = -1;
  std::string port_{};
};

HttpRequest request_of(bool smtp, const std::string& port, std::uint64_t n) {
  HttpRequest r;
  if (smtp) {
    r.mail = MailEnvelope{"from@example.com", "u" + std::to_string(n) + "@example.net"};
    r.body = "Subject: On its way\r\n\r\n" + std::string(60, 'x') + "\r\n";
    return r;
  }
  r.url = "https://localhost:" + port + "/hook/" + std::to_string(15'550'000'000 + n % 1000);
  r.by_url = true;
  r.headers.add("content-type", "application/json");
  r.body = R"({"to":"+15550000000","text":"On its way"})";
  return r;
}

// How many of a round's requests were answered as they should be.
std::uint64_t round_of(H2Transport& transport, bool smtp, const std::string& port,
                       std::uint64_t requests) {
  std::uint64_t sent = 0;
  std::uint64_t ended = 0;
  std::uint64_t good = 0;
  std::vector<Completion> done;
  while (ended < requests) {
    while (sent < requests && transport.state(kProvider).room > 0) {
      ++sent;
      SO_ASSERT(transport.submit(Ticket(sent), kProvider, request_of(smtp, port, sent),
                                 std::chrono::seconds(30)));
    }
    transport.poll(done, std::chrono::milliseconds(100));
    for (const Completion& c : done) {
      const auto* answer = std::get_if<HttpAnswer>(&c.result);
      good += answer != nullptr && answer->status / 100 == 2 ? 1 : 0;
    }
    ended += done.size();
    done.clear();
  }
  return good;
}

void measure(bool smtp, const Plan& plan) {
  const Child server(smtp);
  const auto clock = make_system_clock();
  const auto log = make_null_log();
  auto transport = H2Transport::create(*clock, *log, 7);
  SO_ASSERT(transport.has_value());
  H2Options options{.name = "bench", .ca_file = server.ca(), .streams = 1};
  options.connections = plan.connections;
  options.http1 = !smtp;
  options.smtp = smtp;
  if (smtp) {
    options.endpoint = "smtps://localhost:" + server.port();
    options.login = {"example.com", "shop", Credential("s3cret")};
  }
  SO_ASSERT((*transport)->add_provider(kProvider, std::move(options)).has_value());
  for (int round = 1; round <= plan.rounds; ++round) {
    const auto began = clock->mono();
    const Duration cpu = cli::cpu_of_this_process();
    const std::uint64_t good = round_of(**transport, smtp, server.port(), plan.requests);
    const std::chrono::duration<double> took = clock->mono() - began;
    const std::chrono::duration<double, std::micro> used = cli::cpu_of_this_process() - cpu;
    std::printf(
        "%-8s round %d: %6.0f/s, %4.0f us CPU each, RssAnon %.1f MB, %llu of %llu good\n",
        smtp ? "smtp" : "http/1.1", round, static_cast<double>(plan.requests) / took.count(),
        used.count() / static_cast<double>(plan.requests),
        static_cast<double>(cli::rss_anon_of(::getpid())) / (1024 * 1024),
        static_cast<unsigned long long>(good), static_cast<unsigned long long>(plan.requests));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace sendonce::test

int main(int argc, char** argv) {
  CLI::App app("Requests a second and memory of HTTP/1.1 and SMTP on loopback, over TLS.");
  sendonce::test::Plan plan;
  app.add_option("--requests", plan.requests, "requests a round")->capture_default_str();
  app.add_option("--connections", plan.connections, "at most at a time")->capture_default_str();
  app.add_option("--rounds", plan.rounds)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  sendonce::test::measure(false, plan);
  sendonce::test::measure(true, plan);
  return 0;
}
