// `sendonce setup`: the only code that makes or changes streams and consumers. It plans, the
// caller shows the plan, and applies it when told to; afterwards everything is read back and
// compared, since an old server silently ignores what it does not know.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "plugin/broker/nats/publisher.hpp"
#include "plugin/broker/nats/setup_plan.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

class Setup {
 public:
  // `client` outlives the setup; `api_prefix` as js_api_prefix makes it.
  Setup(Publisher& client, std::string api_prefix)
      : client_(client), api_prefix_(std::move(api_prefix)) {}

  // What is there of all that is wanted. unavailable: JetStream does not answer; denied, invalid:
  // it says why not.
  [[nodiscard]] Result<SetupPresent> read(const SetupRequest& request);
  // Reads and compares.
  [[nodiscard]] Result<SetupPlan> plan(const SetupRequest& request);
  // invalid: the plan has a refusal, a request failed (what was done before it stays done), or the
  // server did not do what it was told.
  [[nodiscard]] Result<void> apply(const SetupRequest& request, const SetupPlan& plan);

 private:
  // Whether it holds any message that matches.
  Result<void> read_held(const std::string& filter, StreamInfo& stream);

  Publisher& client_;
  std::string api_prefix_;
};

}  // namespace sendonce
