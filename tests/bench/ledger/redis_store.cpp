#include "tests/bench/ledger/bench_store.hpp"

// Redis with appendfsync always, spoken to in RESP over a Unix socket, pipelined.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/cli/bench/measure.hpp"
#include "plugin/core/unique_fd.hpp"

extern char** environ;

namespace sendonce::bench {
namespace {

class RedisStore final : public BenchStore {
 public:
  static Result<std::unique_ptr<BenchStore>> make(const std::string& directory) {
    auto store = std::unique_ptr<RedisStore>(new RedisStore);
    SO_CHECK(store->start(directory));
    SO_CHECK(store->connect(directory + "/redis.sock"));
    return store;
  }
  ~RedisStore() override {
    if (server_ <= 0) return;
    ::kill(server_, SIGTERM);
    ::waitpid(server_, nullptr, 0);
  }

  std::string_view name() const override { return "Redis appendfsync always"; }

  Result<void> batch(std::uint64_t first, std::uint64_t count, std::int64_t settle_from) override {
    std::string commands;
    std::size_t replies = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      add_set(commands, first + i, 'c', "NX");
      ++replies;
      if (settle_from < 0) continue;
      add_set(commands, static_cast<std::uint64_t>(settle_from) + i, 'd', "XX");
      ++replies;
    }
    return exchange(commands, replies);
  }

  Result<void> preload(std::uint64_t rows) override {
    constexpr std::uint64_t kChunk = 2000;
    SO_CHECK(exchange("CONFIG SET appendfsync no\r\n", 1));
    for (std::uint64_t i = 0; i < rows; i += kChunk)
      SO_CHECK(batch(i, std::min(kChunk, rows - i), -1));
    return exchange("CONFIG SET appendfsync always\r\n", 1);
  }

  double server_cpu_seconds() const override {
    return std::chrono::duration<double>(cli::cpu_of(server_).value_or(Duration{})).count();
  }

 private:
  Result<void> start(const std::string& directory) {
    const std::string socket = directory + "/redis.sock";
    std::array<std::string, 14> words{"redis-server",
                                      "--port",
                                      "0",
                                      "--unixsocket",
                                      socket,
                                      "--dir",
                                      directory,
                                      "--appendonly",
                                      "yes",
                                      "--appendfsync",
                                      "always",
                                      "--save",
                                      "",
                                      "--logfile"};
    std::array<char*, 16> arguments{};
    std::string log = directory + "/redis.log";
    for (std::size_t i = 0; i < words.size(); ++i) arguments.at(i) = words.at(i).data();
    arguments[14] = log.data();
    if (::posix_spawnp(&server_, "redis-server", nullptr, nullptr, arguments.data(), environ) !=
        0) {
      server_ = 0;
      return fail(Errc::unavailable, "Redis: no redis-server here");
    }
    return {};
  }

  Result<void> connect(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return fail(Errc::invalid, "path too long");
    std::memcpy(address.sun_path, path.data(), path.size());
    for (int attempt = 0; attempt < 200; ++attempt) {
      UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        socket_ = std::move(fd);
        return {};
      }
      ::usleep(20'000);
    }
    return fail(Errc::unavailable, "Redis: its server does not answer");
  }

  void add_set(std::string& to, std::uint64_t number, char fill, const char* condition) {
    std::array<char, 32> key{};
    fill_key(number, key.data());
    to += "*4\r\n$3\r\nSET\r\n$32\r\n";
    to.append(key.data(), key.size());
    to += "\r\n$160\r\n";
    to.append(kValueBytes, fill);
    to += "\r\n$2\r\n";
    to += condition;
    to += "\r\n";
  }

  // Every reply is one line: +OK, or $-1 when the condition did not hold.
  Result<void> exchange(std::string_view commands, std::size_t replies) {
    std::size_t lines = 0;
    std::array<char, 65536> in{};
    while (lines < replies || !commands.empty()) {
      if (!commands.empty()) {
        const ssize_t sent =
            ::send(socket_.get(), commands.data(), commands.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) commands.remove_prefix(static_cast<std::size_t>(sent));
        if (sent < 0 && errno != EAGAIN) return fail(Errc::internal, "send to Redis");
      }
      const ssize_t got =
          ::recv(socket_.get(), in.data(), in.size(), commands.empty() ? 0 : MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return fail(Errc::internal, "Redis hung up");
      for (ssize_t i = 0; i < got; ++i) {
        const char c = in.at(static_cast<std::size_t>(i));
        if (c == '\n') ++lines;
        if (c == '$' || (c == '-' && i == 0)) return fail(Errc::internal, "Redis refused");
      }
    }
    return {};
  }

  pid_t server_ = 0;
  UniqueFd socket_{};
};

}  // namespace

Result<std::unique_ptr<BenchStore>> make_redis(const std::string& directory) {
  return RedisStore::make(directory);
}

}  // namespace sendonce::bench
