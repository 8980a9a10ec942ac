// What a configuration file of nats-server says about JetStream's place and the monitoring port.
// The format is nats-server's own (docs.nats.io, "Configuration"): `name: value`, `name = value`,
// `name value`, `name { ... }`, comments with # and //; of a name that is given twice the last
// counts (measured with 2.9.10). Pure and total.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sendonce::cli {

struct NatsFile {
  bool jetstream = false;
  std::optional<std::string> store_dir{};  // as written, without its quotes
  bool unclear = false;                    // a variable or an include stands where the answer would
  std::optional<std::uint16_t> http_port{};
};

[[nodiscard]] NatsFile read_nats_file(std::string_view text);

// A directory whose contents do not outlive a restart of the service or the machine: /tmp, which
// many units have for themselves alone, /var/tmp for the same reason, /dev/shm, /run.
[[nodiscard]] bool is_volatile(std::string_view directory);

}  // namespace sendonce::cli
