// From a configuration to the parts it describes: classes with names resolved, providers with their
// credentials read, transport and consumer settings. Reads files, opens nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "classifiers/apns/apns_token.hpp"
#include "classifiers/provider.hpp"
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

struct Composition {
  std::vector<std::unique_ptr<Provider>> providers{};
  std::vector<ProviderSlot> slots{};    // by ProviderIndex; borrow from `providers`
  std::vector<H2Options> transports{};  // by ProviderIndex
  std::vector<ClassPolicy> classes{};   // by ClassIndex; the scope has the same index
};

// An error names the provider and what to do about it.
[[nodiscard]] Result<Composition> compose(const Config& config, std::string_view credentials_dir,
                                          ApnsTokenSources& tokens);

// The ledger of this instance; its scopes are those of the classes, in their order.
[[nodiscard]] LedgerOptions ledger_options(const Config& config);
[[nodiscard]] std::vector<NatsLane> lanes_of(const Config& config);
[[nodiscard]] std::string durable_of(const ClassConfig& of);

// The NATS connection of this instance; reads no file.
[[nodiscard]] Result<ConnectionOptions> connection_of(const Config& config,
                                                      std::string_view credentials_dir);

}  // namespace sendonce
