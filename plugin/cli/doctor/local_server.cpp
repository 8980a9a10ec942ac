#include "plugin/cli/doctor/local_server.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <netdb.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/core/unique_fd.hpp"

namespace sendonce::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kWaitMs = 1000;
constexpr std::size_t kAnswerMax = std::size_t{1} << 20U;

constexpr std::size_t kFileMax = std::size_t{1} << 20U;

// Of a regular file, and no more than a configuration has: the path may be anybody's choice.
std::string file_text(const fs::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat st{};
  if (!fd || ::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return {};
  std::string out;
  char bytes[4096];
  for (ssize_t size = 0;
       out.size() < kFileMax && (size = ::read(fd.get(), bytes, sizeof bytes)) > 0;)
    out.append(bytes, static_cast<std::size_t>(size));
  return out;
}

std::vector<std::string> split_zeros(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, '\0');) out.push_back(one);
  return out;
}

// The inodes of sockets that listen on `server`. proc(5), /proc/net/tcp.
std::set<std::string> listening(const ServerAddress& server) {
  std::string table;
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream in(file);
    table.append(std::istreambuf_iterator<char>(in), {});
  }
  return listeners_in(table, proc_addresses(server.host), server.port);
}

enum class Owns : std::uint8_t { yes, no, unseen };

Owns owns(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code ec;
  fs::directory_iterator at(process / "fd", ec);
  if (ec) return Owns::unseen;
  for (; at != fs::directory_iterator(); at.increment(ec)) {
    if (ec) return Owns::unseen;
    std::error_code unread;
    if (sockets.contains(fs::read_symlink(at->path(), unread).string())) return Owns::yes;
  }
  return Owns::no;
}

std::string unit_of(const fs::path& process) {
  const std::string text = file_text(process / "cgroup");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string last = line.substr(line.rfind('/') + 1);
    if (last.ends_with(".service") && line.find("/system.slice/") != std::string::npos) return last;
  }
  return {};
}

std::string temporary_of(const fs::path& process) {
  constexpr std::string_view kName = "TMPDIR=";
  for (const std::string& one : split_zeros(file_text(process / "environ")))
    if (one.starts_with(kName) && one.size() > kName.size()) return one.substr(kName.size());
  return "/tmp";
}

LocalServer look_at(const fs::path& process) {
  const std::vector<std::string> arguments = split_zeros(file_text(process / "cmdline"));
  fs::path config = config_argument(arguments);
  if (config.is_relative() && !config.empty()) {
    std::error_code ec;
    config = fs::read_symlink(process / "cwd", ec) / config;
  }
  LocalServer server = server_from(arguments, file_text(config), temporary_of(process));
  server.config = config.string();
  server.unit = unit_of(process);
  return server;
}

// Root's, our own, or a service's: what another user calls nats-server is not believed.
bool is_trusted(const fs::path& process) {
  struct stat st{};
  if (::stat(process.c_str(), &st) != 0) return false;
  return st.st_uid == 0 || st.st_uid == ::geteuid() || !unit_of(process).empty();
}

std::vector<fs::path> nats_processes() {
  std::vector<fs::path> out;
  std::error_code ec;
  for (fs::directory_iterator at("/proc", ec); !ec && at != fs::directory_iterator();
       at.increment(ec))
    if (file_text(at->path() / "comm") == "nats-server\n" && is_trusted(at->path()))
      out.push_back(at->path());
  return out;
}

// ---- a word with a server --------------------------------------------------------------------

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

bool ready(int fd, short events) {
  pollfd p{.fd = fd, .events = events, .revents = 0};
  return ::poll(&p, 1, kWaitMs) == 1;
}

UniqueFd connected_socket(const ServerAddress& to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* raw = nullptr;
  std::string host = to.host;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (::getaddrinfo(host.c_str(), std::to_string(to.port).c_str(), &hints, &raw) != 0) return {};
  const std::unique_ptr<addrinfo, FreeAddresses> list(raw);
  for (const addrinfo* a = list.get(); a != nullptr; a = a->ai_next) {
    UniqueFd fd(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) continue;
    const int rc = ::connect(fd.get(), a->ai_addr, a->ai_addrlen);
    if (rc != 0 && !ready(fd.get(), POLLOUT)) continue;
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) return fd;
  }
  return {};
}

// What it says after `question`, up to its first line end or to the end of the connection.
std::string answer_of(const ServerAddress& to, const std::string& question, bool one_line) {
  const UniqueFd fd = connected_socket(to);
  if (!fd) return {};
  if (!question.empty() && ::send(fd.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0)
    return {};
  std::string out;
  std::array<char, 4096> buffer{};
  while (out.size() < kAnswerMax && ready(fd.get(), POLLIN)) {
    const ssize_t n = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    out.append(buffer.data(), static_cast<std::size_t>(n));
    if (one_line && out.find('\n') != std::string::npos) break;
  }
  return out;
}

std::optional<std::string> text_at(const Json& json, const char* pointer) {
  const Json::json_pointer at(pointer);
  if (!json.is_object() || !json.contains(at) || !json[at].is_string()) return std::nullopt;
  return json[at].get<std::string>();
}

}  // namespace

std::string config_argument(const std::vector<std::string>& arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    for (const std::string_view name : {"-c", "--c", "-config", "--config"}) {
      if (a == name && i + 1 < arguments.size()) return arguments[i + 1];
      if (a.starts_with(name) && a.substr(name.size()).starts_with('='))
        return a.substr(name.size() + 1);
    }
  }
  return {};
}

LocalServer server_from(const std::vector<std::string>& arguments, const std::string& file,
                        const std::string& temporary) {
  NatsFile said = read_nats_file(file);
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    std::string name = arguments[i].substr(0, equals);
    if (name.starts_with("--")) name.erase(0, 1);
    const std::string value = equals != std::string::npos ? arguments[i].substr(equals + 1)
                              : i + 1 < arguments.size()  ? arguments[i + 1]
                                                          : std::string();
    if (name == "-js" || name == "-jetstream") said.jetstream = value != "false";
    if (name == "-sd" || name == "-store_dir") said.store_dir = value;
    std::uint16_t port = 0;
    std::from_chars(value.data(), value.data() + value.size(), port);
    if (name == "-m" || name == "-http_port") said.http_port = port;
  }
  LocalServer out{.jetstream = said.jetstream, .http_port = said.http_port.value_or(0)};
  if (said.unclear && (!said.store_dir || said.store_dir->starts_with('$'))) return out;
  if (said.jetstream)  // as nats-server does it: os.TempDir(), "nats", "jetstream"
    out.store_dir = said.store_dir.value_or(temporary + "/nats") + "/jetstream";
  return out;
}

std::vector<std::string> proc_addresses(const std::string& host) {
  std::string_view name = host;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(std::string(name).c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  std::vector<std::string> out;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    std::array<std::uint32_t, 4> words{};
    std::size_t count = 0;
    if (at->ai_family == AF_INET) {
      sockaddr_in v4{};
      std::memcpy(&v4, at->ai_addr, sizeof v4);
      words[count++] = v4.sin_addr.s_addr;
    } else if (at->ai_family == AF_INET6) {
      sockaddr_in6 v6{};
      std::memcpy(&v6, at->ai_addr, sizeof v6);
      std::memcpy(words.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
      count = words.size();
    }
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      std::array<char, 9> hex{};
      std::snprintf(hex.data(), hex.size(), "%08X", words.at(i));
      text += hex.data();
    }
    if (count > 0) out.push_back(std::move(text));
  }
  return out;
}

std::set<std::string> listeners_in(const std::string& table,
                                   const std::vector<std::string>& addresses, std::uint16_t port) {
  constexpr std::string_view kListen = "0A";
  constexpr std::size_t kInode = 9;
  std::set<std::string> there;       // on the very address
  std::set<std::string> everywhere;  // on all of this machine
  std::istringstream in(table);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    const std::vector<std::string> w{std::istream_iterator<std::string>(words), {}};
    if (w.size() <= kInode || w[3] != kListen) continue;
    const std::size_t colon = w[1].rfind(':');
    const std::string hex = w[1].substr(colon + 1);
    std::uint16_t at = 0;
    std::from_chars(hex.data(), hex.data() + hex.size(), at, 16);
    if (at != port) continue;
    const std::string address = w[1].substr(0, colon);
    const std::string socket = "socket:[" + w[kInode] + "]";
    if (address.find_first_not_of('0') == std::string::npos) everywhere.insert(socket);
    if (std::ranges::find(addresses, address) != addresses.end()) there.insert(socket);
  }
  return there.empty() ? everywhere : there;
}

std::optional<LocalServer> find_local_server(const ServerAddress& server) {
  const std::set<std::string> sockets = listening(server);
  std::vector<fs::path> unseen;
  for (const fs::path& process : nats_processes()) {
    switch (owns(process, sockets)) {
      case Owns::yes:
        return look_at(process);
      case Owns::unseen:
        unseen.push_back(process);
        break;
      case Owns::no:
        break;
    }
  }
  if (unseen.size() != 1 || sockets.empty()) return std::nullopt;
  return look_at(unseen.front());
}

bool ServerAddress::is_local() const {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

std::optional<ServerAddress> server_address(std::string_view url) {
  if (const auto scheme = url.find("://"); scheme != url.npos) url.remove_prefix(scheme + 3);
  const std::size_t colon = url.rfind(':');
  ServerAddress out;
  if (colon == url.npos) return std::nullopt;
  const std::string_view digits = url.substr(colon + 1);
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (end.ec != std::errc{} || colon == 0) return std::nullopt;
  out.host = std::string(url.substr(0, colon));
  return out;
}

std::optional<ServerGreeting> greeting_of(const ServerAddress& server) {
  constexpr std::string_view kInfo = "INFO ";
  const std::string line = answer_of(server, {}, true);
  if (!line.starts_with(kInfo)) return std::nullopt;
  const Json info = Json::parse(line.substr(kInfo.size()), nullptr, false);
  if (!info.is_object()) return std::nullopt;
  return ServerGreeting{.id = text_at(info, "/server_id").value_or(""),
                        .version = text_at(info, "/version").value_or(""),
                        .jetstream = info.contains("jetstream") && info["jetstream"] == true};
}

std::optional<std::string> monitored_store(std::uint16_t port, const std::string& id) {
  const std::string answer =
      answer_of({.host = "127.0.0.1", .port = port},
                "GET /varz HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n", false);
  const std::size_t body = answer.find("\r\n\r\n");
  if (body == std::string::npos) return std::nullopt;
  const Json varz = Json::parse(answer.substr(body + 4), nullptr, false);
  if (text_at(varz, "/server_id") != id) return std::nullopt;
  return text_at(varz, "/jetstream/config/store_dir");
}

std::optional<std::string> store_in_jsz(const std::string& json) {
  return text_at(Json::parse(json, nullptr, false), "/data/config/store_dir");
}

}  // namespace sendonce::cli
