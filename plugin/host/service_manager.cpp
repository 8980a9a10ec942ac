#include "plugin/host/service_manager.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace sendonce {
namespace {

std::string from_env(const char* variable) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<std::int64_t> number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
  ServiceManager manager;
  manager.socket_ = from_env("NOTIFY_SOCKET");
  const auto usec = number(from_env("WATCHDOG_USEC"));
  const auto pid = number(from_env("WATCHDOG_PID"));
  if (usec && *usec > 0 && (!pid || *pid == ::getpid()))
    manager.watchdog_ = std::chrono::microseconds(*usec) / 2;
  return manager;
}

void ServiceManager::reloading(MonoTime now) const {
  const auto usec = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  say("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(usec.count()));
}

void ServiceManager::stopping(Duration patience) const {
  const auto usec = std::chrono::duration_cast<std::chrono::microseconds>(patience);
  say("STOPPING=1\nEXTEND_TIMEOUT_USEC=" + std::to_string(usec.count()));
}

void ServiceManager::say(const std::string& message) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // abstract
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  // A manager that does not listen is none of our business.
  (void)::sendto(fd, message.data(), message.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), size);
  ::close(fd);
}

}  // namespace sendonce
