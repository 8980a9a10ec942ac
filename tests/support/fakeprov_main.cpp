// sendonce-fakeprov: APNs and FCM to test against.
#include <csignal>
#include <iostream>

#include <CLI/CLI.hpp>
#include <sysexits.h>

#include "plugin/cli/usage.hpp"
#include "plugin/host/service_manager.hpp"
#include "tests/support/fakeprov_setup.hpp"

namespace sendonce::test {
namespace {

constexpr const char* kDescription =
    "A fake APNs, FCM (with Google's token endpoint) and Web Push service on one TLS port, as "
    "strict as the real ones about\ntokens, topics, payloads and JWTs; there too Amazon SES, "
    "Huawei Push Kit and an endpoint for anything else\n(/hook/DESTINATION); a mail server on a "
    "port "
    "of its own; faults on demand and a count of what it took.";

constexpr const char* kFooter = R"(
When it is ready it prints one JSON line: {"port":...,"ca":...,...}, and tells a service manager
(Type=notify), so that its files can be used. SIGTERM stops it.
Pages: GET /__stats, /__stats?detail=1, /__duplicates, /__copies?provider=apns&destination=..&id=..

Example: a provider that answers 503 to every tenth push, and loses every hundredth answer
  $ cat faults.toml
  [[rule]]
  provider = "apns"
  every = 10
  reason = "ServiceUnavailable"
  [[rule]]
  every = 100
  close = "rst"
  processed = true
  $ sendonce-fakeprov --make-credentials creds --script faults.toml --record seen.jsonl &
  $ curl --cacert creds/ca.pem https://localhost:PORT/__stats

Rules choose requests by provider (apns, fcm, oauth, webpush, http, smtp), token (* and ?; the
recipient of a mail), nth, every, per_token, probability + seed, from, until, at = "headers" (of a
mail: its recipient is judged); and answer with status, reason, headers, body, interim, delay,
stall, close, reset, goaway, settings, cut, cut_at; processed says whether the message was taken
nevertheless.

Exit status: 0, or 64 (usage), 73 (a file cannot be written), 69 (port taken), 78 (bad script,
key or service account).)";

void add_options(CLI::App& app, FakeprovArguments& a) {
  app.add_option("--listen", a.listen, "Address to listen on")->capture_default_str();
  app.add_option("--port", a.port, "Port; 0 takes a free one")->capture_default_str();
  app.add_option("--name", a.names, "One more host name for the certificate");
  app.add_option("--ca-out", a.ca_out, "Write the certificate authority there");
  app.add_option("--make-credentials", a.make_credentials,
                 "Make ca.pem, apns.p8, vapid.pem, service-account.json and, for a mail server, "
                 "smtp-password in this directory");
  app.add_option("--apns-team", a.apns_team, "Team of the provider token")->capture_default_str();
  app.add_option("--apns-key", a.apns_key, "Its key: a .p8 file or the public key");
  app.add_option("--apns-key-id", a.apns_key_id, "Its key id")->capture_default_str();
  app.add_option("--apns-topic", a.apns_topics, "A bundle id (default com.example.app)");
  app.add_flag("--apns-sandbox", a.apns_sandbox, "Answer with apns-unique-id");
  app.add_option("--fcm-project", a.fcm_project, "Project (default: the service account's)");
  app.add_option("--fcm-service-account", a.fcm_service_account, "A service-account file");
  app.add_option("--script", a.script, "Faults (TOML)");
  app.add_option("--record", a.record, "Append one JSON line per request to this file");
  app.add_option("--latency", a.latency_ms, "Delay every answer by so many milliseconds")
      ->capture_default_str();
  app.add_option("--streams", a.streams, "Concurrent streams after a connection's first success")
      ->capture_default_str();
  app.add_option("--smtp-port", a.smtp_port,
                 "Also a mail server, with TLS, on this port; 0 takes a free one");
  app.add_flag("--smtp-starttls", a.smtp_starttls, "It begins without TLS (STARTTLS)")
      ->needs("--smtp-port");
  app.add_flag("--lenient", a.lenient, "Do not check the contents of payloads");
}

int exit_code(const Error& error) {
  switch (error.code) {
    case Errc::invalid:
      return EX_CONFIG;
    case Errc::unavailable:
    case Errc::exhausted:
    case Errc::denied:
    case Errc::busy:
      return EX_UNAVAILABLE;
    case Errc::corrupt:
    case Errc::internal:
      return EX_SOFTWARE;
  }
  return EX_SOFTWARE;
}

int complain(const Error& error, int code) {
  std::cerr << "sendonce-fakeprov: " << error.text << '\n';
  return code;
}

int serve(const FakeprovArguments& arguments) {
  const ServiceManager manager = ServiceManager::from_environment();
  auto setup = set_up(arguments);
  if (!setup) return complain(setup.error(), exit_code(setup.error()));
  FakeprovSetup known{};  // what is said later, without the script
  known.made = setup->made;
  known.options.apns = setup->options.apns;
  known.options.fcm = setup->options.fcm;
  // Blocked before the server's thread starts, so that only sigwait gets them.
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  auto provider = FakeProvider::start(std::move(setup->options));
  if (!provider) return complain(provider.error(), exit_code(provider.error()));
  if (const auto written = write_files(arguments, known, **provider); !written) {
    return complain(written.error(), EX_CANTCREAT);
  }
  std::cout << ready_line(arguments, known, **provider) << '\n' << std::flush;
  manager.ready((*provider)->url());
  int got = 0;
  ::sigwait(&ends, &got);
  (*provider)->stop();
  std::cerr << (*provider)->witness().stats_json(false);
  return EX_OK;
}

int run(int argc, char** argv) {
  FakeprovArguments arguments{};
  CLI::App app(kDescription, "sendonce-fakeprov");
  app.footer(kFooter);
  app.set_version_flag("--version", "sendonce-fakeprov " SENDONCE_VERSION);
  add_options(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return cli::usage_failed(app, e);
  }
  return serve(arguments);
}

}  // namespace
}  // namespace sendonce::test

int main(int argc, char** argv) {
  try {
    return sendonce::test::run(argc, argv);
  } catch (const std::exception& e) {  // out of memory, or a mistake in add_options
    std::fputs(e.what(), stderr);
    return EX_SOFTWARE;
  }
}
