#include "plugin/module/instance.hpp"

#include "config/credentials.hpp"

namespace sendonce {

Result<std::unique_ptr<Instance>> Instance::open(const sendonce_host& host,
                                                 const std::string& path) {
  LoadResult loaded = load_config(path, Surroundings::look);
  if (!loaded.config) return std::unexpected(to_error(loaded.findings));
  std::unique_ptr<Instance> instance(new Instance);
  instance->clock_ = make_system_clock();
  instance->events_ = std::make_unique<HostEvents>(host, *instance->clock_);
  for (const Finding& f : loaded.findings)
    instance->events_->warn("config.warning", {{"finding", to_text(f)}});
  instance->runtime_ =
      std::make_unique<Runtime>(path, std::move(*loaded.config), credentials_directory(),
                                host.admin_fd, *instance->clock_, *instance->events_);
  return instance;
}

}  // namespace sendonce
