// From a configuration to the parts it describes: classes with names resolved, providers with their
// credentials read, transport and consumer settings. Reads files, opens nothing else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "classifiers/apns/apns_provider.hpp"
#include "classifiers/apns/apns_token.hpp"
#include "classifiers/fcm/fcm_provider.hpp"
#include "classifiers/foreign/module_provider.hpp"
#include "classifiers/http/http_provider.hpp"
#include "classifiers/provider.hpp"
#include "classifiers/smtp/smtp_provider.hpp"
#include "classifiers/webpush/webpush_provider.hpp"
#include "config/finding.hpp"
#include "config/schema.hpp"
#include "ledger/ledger_options.hpp"
#include "plugin/broker/nats/nats_broker.hpp"
#include "plugin/core/error.hpp"
#include "plugin/pipeline/engine.hpp"
#include "plugin/transport/h2/options.hpp"

namespace sendonce {

// One APNs token source for each team and key, kept over reloads: who mints more often than every
// 20 minutes is answered 429. Engine thread, but for get() before the engine runs.
class ApnsTokenSources {
 public:
  [[nodiscard]] Result<ApnsTokenSource*> get(const ApnsTokenOptions& options);

 private:
  struct Entry {
    std::string team{};
    std::string key_id{};
    Credential key{};
    std::unique_ptr<ApnsTokenSource> source{};
  };
  std::vector<Entry> entries_{};
};

// What a provider was made of: from the same, a reload makes no other.
struct ApnsMaking {
  ApnsOptions options{};
  ApnsTokenSource* tokens = nullptr;
  Duration refresh{};  // of the source, which goes on: no reason for another provider
  friend bool operator==(const ApnsMaking& a, const ApnsMaking& b) {
    return a.options == b.options && a.tokens == b.tokens;
  }
};
struct SmtpMaking {
  SmtpSender sender{};
  SmtpLogin login{};  // the transport's; another one is a reason to try again
  friend bool operator==(const SmtpMaking&, const SmtpMaking&) = default;
};
using Making =
    std::variant<ApnsMaking, FcmOptions, WebPushOptions, HttpOptions, ModuleOptions, SmtpMaking>;

struct MadeProvider {
  Making from{};
  std::unique_ptr<Provider> provider{};  // null: the one that runs would be the same, see take_over
};

struct Composition {
  std::vector<MadeProvider> providers{};
  std::vector<ProviderSlot> slots{};    // by ProviderIndex; borrow from `providers`
  std::vector<H2Options> transports{};  // by ProviderIndex
  std::vector<ClassPolicy> classes{};   // by ClassIndex; the scope has the same index
};

// An error names file, line and field, and what to do about it. With what runs, of a configuration
// that has the same providers in the same order: those that would be the same are not made, and the
// slots borrow from `running`, until take_over() hands them on.
[[nodiscard]] Result<Composition> compose(const Config& config, std::string_view credentials_dir,
                                          ApnsTokenSources& tokens,
                                          const Composition* running = nullptr);
// What the start of the daemon would refuse in credentials and CA files, of every provider, each
// with its place. `config` has been loaded without errors.
[[nodiscard]] Findings composition_faults(const Config& config, std::string_view credentials_dir);
// Moves into `next` what it has not made anew; `running` may go afterwards. Engine thread.
void take_over(Composition& running, Composition& next);

// The ledger of this instance; its scopes are those of the classes, in their order.
[[nodiscard]] LedgerOptions ledger_options(const Config& config);
// What its keys are made of, for a ledger to compare with what it has stored.
[[nodiscard]] KeyMarks key_marks(const Config& config, const Composition& composition,
                                 WallTime now);
[[nodiscard]] std::vector<NatsLane> lanes_of(const Config& config);
// What `nats micro` shows: each class is an endpoint.
[[nodiscard]] ServiceDescription service_of(const Config& config, const std::string& ledger_id,
                                            WallTime started);
[[nodiscard]] std::vector<ServiceCounts> service_counts(const EngineReport& report);
[[nodiscard]] std::string durable_of(const ClassConfig& of);
// The consumer of the reports about devices, if they are configured.
struct ReportsLane {
  std::string durable{};  // no class's: theirs begin with sendonce_
  Duration ack_wait = std::chrono::seconds(10);
};
[[nodiscard]] std::optional<ReportsLane> reports_lane(const Config& config);

// The NATS connection of this instance; reads no file.
[[nodiscard]] Result<ConnectionOptions> connection_of(const Config& config,
                                                      std::string_view credentials_dir);

}  // namespace sendonce
