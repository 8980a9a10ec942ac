// The nats-server that listens on this machine, as far as /proc shows it to this user, and what it
// says of itself before a login and on its monitoring port. Reads only.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
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

// The one that listens there; where that cannot be seen, the only one there is.
[[nodiscard]] std::optional<LocalServer> find_local_server(const ServerAddress& server);
// The addresses of a host as /proc/net/tcp and tcp6 write them.
[[nodiscard]] std::vector<std::string> proc_addresses(const std::string& host);
// Links as /proc/PID/fd has them of the sockets in a text of /proc/net/tcp that listen on one of
// these addresses, or, if there is none, on all of this machine.
[[nodiscard]] std::set<std::string> listeners_in(const std::string& table,
                                                 const std::vector<std::string>& addresses,
                                                 std::uint16_t port);

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
