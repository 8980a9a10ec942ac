// The nats-server that listens on this machine, as far as /proc shows it to this user, and what it
// says of itself before a login and on its monitoring port. Reads only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/cli/doctor/nats_file.hpp"

namespace sendonce::cli {

struct LocalServer {
  std::string config{};  // path; empty: none, or not to be seen
  std::string unit{};    // systemd's service; empty: none
  bool jetstream = false;
  std::string store_dir{};  // empty: not known
  std::uint16_t http_port = 0;
};

// The one that listens on `port`; where that cannot be seen, the only one there is.
[[nodiscard]] std::optional<LocalServer> find_local_server(std::uint16_t port);

// From the arguments and the file of a server. Pure; `file` is the text of its configuration.
[[nodiscard]] LocalServer server_from(const std::vector<std::string>& arguments,
                                      const std::string& file, const std::string& temporary);
// The value of -c or --config; empty: none.
[[nodiscard]] std::string config_argument(const std::vector<std::string>& arguments);

struct ServerAddress {
  std::string host{};
  std::uint16_t port = 0;
  [[nodiscard]] bool is_local() const;
};
// Of "nats://host:port", credentials left out before.
[[nodiscard]] std::optional<ServerAddress> server_address(std::string_view url);

struct ServerGreeting {  // the INFO line
  std::string id{};
  std::string version{};
  bool jetstream = false;
};
[[nodiscard]] std::optional<ServerGreeting> greeting_of(const ServerAddress& server);
// The JetStream directory from /varz of a monitoring port on loopback, if `id` is its server.
[[nodiscard]] std::optional<std::string> monitored_store(std::uint16_t port, const std::string& id);
// The same from an answer to a request for JSZ on the system account's subjects.
[[nodiscard]] std::optional<std::string> store_in_jsz(const std::string& json);

}  // namespace sendonce::cli
