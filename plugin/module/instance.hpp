// One instance behind the C interface: configuration, host events and, once started, the runtime.
#pragma once

#include <memory>
#include <string>

#include "config/loader.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/module/host_events.hpp"
#include "plugin/module/runtime.hpp"

namespace sendonce {

class Instance {
 public:
  // Reads the configuration; touches nothing else.
  [[nodiscard]] static Result<std::unique_ptr<Instance>> open(const sendonce_host& host,
                                                              const std::string& path);

  [[nodiscard]] Runtime& runtime() { return *runtime_; }
  [[nodiscard]] HostEvents& events() { return *events_; }

 private:
  Instance() = default;
  std::unique_ptr<Clock> clock_{};
  std::unique_ptr<HostEvents> events_{};
  std::unique_ptr<Runtime> runtime_{};
};

}  // namespace sendonce
