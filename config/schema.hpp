// The configuration as typed values (config/sendonce.toml is the commented sample,
// docs/configuration.md the reference generated from the loader's table). Every member has the
// default that the reference prints. Positions point into the file, for error messages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/message/http_spec.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

struct Position {
  std::string file{};
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// "cred:NAME" (below $CREDENTIALS_DIRECTORY) or "file:/absolute/path". Never a secret itself.
struct SecretRef {
  std::string text{};
  Position at{};
};

struct InstanceConfig {
  std::string name = "sendonce";
  std::string state_dir = "/var/lib/sendonce";
  std::string socket = "/run/sendonce/admin.sock";
  Duration drain = std::chrono::seconds(20);
};

// Where the ledger's files are.
[[nodiscard]] inline std::string ledger_directory(const InstanceConfig& instance) {
  return instance.state_dir + "/ledger";
}

struct NatsConfig {
  std::vector<std::string> servers{"nats://127.0.0.1:4222"};
  std::optional<SecretRef> credentials{};  // a .creds file
  std::string ca{};                        // PEM file; empty: the system's
  std::string domain{};                    // replaces $JS.API by $JS.<domain>.API
  std::string api_prefix{};
  Duration connect = std::chrono::seconds(5);
  std::string outcomes_stream = "SENDONCE_OUTCOMES";
  std::string dead_letter_stream = "SENDONCE_DLQ";
};

enum class Durability : std::uint8_t { commit, process };

struct LedgerConfig {
  std::uint64_t map_size = 8ULL << 30U;
  Durability durability = Durability::commit;
  Duration linger = std::chrono::milliseconds(3);  // upper bound of the adaptive linger
};

// Who may read /metrics, /livez and /readyz without the admin socket.
struct MetricsConfig {
  std::string listen{};  // "address:port"; empty: nobody
  bool remote = false;   // from other machines, too
};

// What the lane of the reports is called where classes have their names: in logs, dead letters and
// `setup --adopt`.
inline constexpr std::string_view kReportsLane = "devices";

// Reports of the application about devices.
struct DevicesConfig {
  std::string reports{};  // filter of their subjects; empty: there are none
  std::string stream = "DEVICE_REPORTS";
};

// RFC 8030 5.3: how much a push is worth to a device that saves power.
enum class PushUrgency : std::uint8_t { very_low, low, normal, high };

// A value of [provider.NAME.settings], for a module.
struct SettingConfig {
  std::string name{};
  std::string text{};                 // as written; empty when it is a secret
  std::optional<SecretRef> secret{};  // written as cred:NAME or file:/path
};

enum class ApnsEnvironment : std::uint8_t { production, sandbox };

// What is done about a device that was another recipient's and has not registered anew.
enum class TokenReuse : std::uint8_t { allow, report, refuse };

struct ProviderConfig {
  std::string name{};
  Position at{};
  ProviderKind kind = ProviderKind::apns;
  std::string endpoint{};  // https://host[:port]; default by kind
  // apns
  std::string topic{};
  ApnsEnvironment environment = ApnsEnvironment::production;
  std::string team{};
  std::string key_id{};
  std::optional<SecretRef> key{};  // .p8
  Duration refresh = std::chrono::minutes(45);
  // fcm
  std::string project{};  // default: the service account's
  std::optional<SecretRef> service_account{};
  std::string token_endpoint{};  // default: the service account's token_uri
  // webpush
  std::optional<SecretRef> vapid_key{};
  std::string subject{};  // mailto: or https:
  // Whom a subscription's endpoint may name: "host" or "*.domain", with ":port" unless 443.
  std::vector<std::string> origins{"fcm.googleapis.com", "updates.push.services.mozilla.com",
                                   "web.push.apple.com", "*.notify.windows.com"};
  PushUrgency urgency = PushUrgency::normal;
  // http; `kind` is then the kind of its channel: sms, email or http
  HttpSpec http{};
  std::optional<SecretRef> secret{};  // smtp too, with http.auth.user
  // module; `kind` is then the kind of its channel, and of `http` it has channel, version and
  // idempotency
  bool by_module = false;
  std::string module{};  // path of the .so
  Position module_at{};
  std::vector<SettingConfig> settings{};
  // smtp; `kind` is then email
  bool smtp = false;
  std::string from{};  // addresses
  std::string from_name{};
  std::string reply_to{};
  std::string sender{};  // of the envelope; empty: `from`
  // all
  Duration connect = std::chrono::seconds(3);
  Duration total = std::chrono::seconds(10);
  std::uint32_t connections = 1;
  std::uint32_t streams = 1000;  // per connection; the peer's limit counts too
  double rate_per_second = 0;    // 0: none
  double device_rate_per_second = 0;
  std::uint32_t breaker_open_after = 20;
  Duration breaker_probe = std::chrono::seconds(5);
  TokenReuse reuse = TokenReuse::allow;
  std::string proxy{};                           // http://host:port
  std::optional<SecretRef> proxy_credentials{};  // user:password
  std::string ca{};                              // PEM file; empty: the system's
  bool insecure = false;                         // plain http, loopback only
};

enum class AmbiguityPolicy : std::uint8_t { resend, resend_with_key, lookup, give_up };
enum class Priority : std::uint8_t { normal, high };
enum class EventsMode : std::uint8_t { all, exceptions };

struct RetryConfig {
  Duration first = std::chrono::seconds(2);
  double factor = 2.0;
  Duration cap = std::chrono::minutes(10);
  std::uint32_t attempts = 8;
  Duration horizon = std::chrono::hours(12);
};

struct ClassConfig {
  std::string name{};
  Position at{};
  std::string stream = "NOTIFY";
  std::string subject{};    // filter, e.g. notify.otp.>
  std::string key_scope{};  // default: name
  std::vector<std::string> key{"event_id", "recipient", "channel", "template"};
  std::vector<std::string> key_previous{};
  Priority priority = Priority::normal;
  Duration expires{};  // mandatory
  Duration claim = std::chrono::seconds(45);
  Duration retention{};  // mandatory
  Duration replay{};     // longest replay after an incident
  Duration ack_wait = std::chrono::seconds(60);
  std::uint32_t in_flight = 4096;
  std::uint32_t max_ack_pending = 100'000;
  RetryConfig retry{};
  AmbiguityPolicy ambiguous_default{};  // mandatory
  std::map<Channel, AmbiguityPolicy> ambiguous{};
  std::map<Channel, std::vector<std::string>> route{};
  std::string collapse{};
  EventsMode events = EventsMode::all;
  double rate_per_second = 0;
};

struct Config {
  InstanceConfig instance{};
  NatsConfig nats{};
  LedgerConfig ledger{};
  MetricsConfig metrics{};
  DevicesConfig devices{};
  std::vector<ProviderConfig> providers{};  // in the order of the file
  std::vector<ClassConfig> classes{};       // in the order of the file
  std::string hash{};                       // of the effective values, for `status`
};

}  // namespace sendonce
