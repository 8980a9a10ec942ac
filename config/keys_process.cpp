// The keys of [instance], [nats], [ledger], [metrics] and [devices].
#include <array>

#include "config/key_spec.hpp"

namespace sendonce {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20U;
constexpr std::int64_t kTebibyte = std::int64_t{1} << 40U;

}  // namespace

std::span<const KeySpec<InstanceConfig>> instance_keys() {
  using C = InstanceConfig;
  static const std::array kKeys{
      keys::text<keys::Path<&C::name>>(
          {.path = "name",
           .doc = "Names this process in metrics, events and its NATS connection. Letters, digits, "
                  "`_` and `-`."}),
      keys::text<keys::Path<&C::state_dir>>(
          {.path = "state_dir",
           .doc = "Where the ledger lives: an absolute path on a local disk. Each process needs "
                  "its own."}),
      keys::text<keys::Path<&C::socket>>(
          {.path = "socket", .doc = "The Unix socket of `sendonce status` and its like."}),
      keys::duration<keys::Path<&C::drain>>(
          {.path = "drain",
           .doc = "On a stop, calls in flight may take this long to finish. At least the longest "
                  "`call.total`.",
           .reload = OnReload::now},
          between(1s, 10min)),
  };
  return kKeys;
}

std::span<const KeySpec<NatsConfig>> nats_keys() {
  using C = NatsConfig;
  static const std::array kKeys{
      keys::texts<keys::Path<&C::servers>>(
          {.path = "servers",
           .doc = "URLs of the NATS servers, `nats://host:port` or `tls://host:port`, without user "
                  "and password."}),
      keys::secret<keys::Path<&C::credentials>>(
          {.path = "credentials", .doc = "A NATS `.creds` file.", .default_words = "none"}),
      keys::text<keys::Path<&C::ca>>(
          {.path = "tls.ca",
           .doc = "PEM file of the certificate authorities that vouch for the servers.",
           .default_words = "the system's"}),
      keys::text<keys::Path<&C::domain>>(
          {.path = "domain",
           .doc = "JetStream domain: `$JS.<domain>.API` instead of `$JS.API`.",
           .default_words = "none"}),
      keys::text<keys::Path<&C::api_prefix>>(
          {.path = "api_prefix",
           .doc = "Subject prefix of an imported JetStream API, in place of `domain`.",
           .default_words = "none"}),
      keys::duration<keys::Path<&C::connect>>(
          {.path = "connect", .doc = "Longest wait for a connection to one server."},
          between(100ms, 5min)),
      keys::text<keys::Path<&C::outcomes_stream>>(
          {.path = "outcomes_stream", .doc = "The stream of outcome and device events."}),
      keys::text<keys::Path<&C::dead_letter_stream>>(
          {.path = "dead_letter_stream",
           .doc = "The stream that takes copies of what could not be delivered."}),
  };
  return kKeys;
}

std::span<const KeySpec<LedgerConfig>> ledger_keys() {
  using C = LedgerConfig;
  static const std::array kKeys{
      keys::size<keys::Path<&C::map_size>>(
          {.path = "map_size",
           .doc = "The most that the ledger file may grow to. Address space, not memory: choose it "
                  "generously. Claims stop at 85 % of it."},
          {16 * kMebibyte, 16 * kTebibyte}),
      keys::choice<keys::Path<&C::durability>>(
          {.path = "durability",
           .doc = "`commit`: what was claimed or settled survives a power cut. `process`: it "
                  "survives a crash of the process only; after an unclean reboot the ledger is "
                  "refused."}),
      keys::duration<keys::Path<&C::linger>>(
          {.path = "linger",
           .doc = "Under load a commit waits at most this long for more work. `0s`: never."},
          between(0ms, 3ms)),
  };
  return kKeys;
}

std::span<const KeySpec<MetricsConfig>> metrics_keys() {
  using C = MetricsConfig;
  static const std::array kKeys{
      keys::text<keys::Path<&C::listen>>(
          {.path = "listen",
           .doc = "Address and port that answer `/metrics`, `/livez` and `/readyz` over HTTP, and "
                  "nothing else: `127.0.0.1:8227` or `[::1]:8227`. The admin socket answers them "
                  "in any case.",
           .default_words = "none"}),
      keys::boolean<keys::Path<&C::remote>>(
          {.path = "remote",
           .doc = "Allows a `listen` that other machines reach. Whoever reaches it may read it: "
                  "there is neither TLS nor a password."}),
  };
  return kKeys;
}

std::span<const KeySpec<DevicesConfig>> devices_keys() {
  using C = DevicesConfig;
  static const std::array kKeys{
      keys::text<keys::Path<&C::reports>>(
          {.path = "reports",
           .doc = "Subject filter on which the application reports devices as `suspect`, `revoked` "
                  "or `active`, for example `device-reports.>`.",
           .default_words = "none: there are no reports"}),
      keys::text<keys::Path<&C::stream>>(
          {.path = "stream",
           .doc = "The stream of the reports. Each instance gets every one of them."}),
  };
  return kKeys;
}

}  // namespace sendonce
