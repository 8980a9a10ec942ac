// Between a browser and the daemon's admin socket: serves the page, passes the admin API's own
// routes on and nothing else, and has two routes of its own for dead letters, which lie in NATS.
// It has no rights of its own: the daemon sees the user who runs `sendonce page`, and so does NATS.
//
// One thread at a time, as HttpServer asks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "plugin/cli/page/gate.hpp"
#include "plugin/core/clock.hpp"
#include "plugin/core/error.hpp"
#include "plugin/module/http/http_server.hpp"

namespace sendonce::cli {

// What the page asks about dead letters; the answers are JSON objects.
struct LettersWanted {
  std::uint64_t from = 1;  // the first sequence that may be shown
  std::int64_t limit = 0;  // 0: only how many there are
};
struct ReplayWanted {
  std::uint64_t sequence = 0;
  bool force = false;
  std::string reason{};
};

struct BridgePorts {
  std::function<HttpReply(const HttpQuestion&)> daemon{};  // relay()
  std::function<Result<std::string>(const LettersWanted&)> letters{};
  std::function<Result<std::string>(const ReplayWanted&)> replay{};
};

// What the daemon on `socket` answers to a GET or POST, whatever it is; 502: it cannot be asked,
// 504: it does not answer within `timeout`, both as problems.
[[nodiscard]] HttpReply relay(const std::string& socket, Duration timeout,
                              const HttpQuestion& question);

class Bridge {
 public:
  // `user`: who decides, for the ledger and the log. The clock outlives the bridge.
  Bridge(const Clock& clock, Gate gate, std::string user, BridgePorts ports)
      : clock_(clock), gate_(std::move(gate)), user_(std::move(user)), ports_(std::move(ports)) {}

  [[nodiscard]] HttpReply answer(const HttpQuestion& question);

 private:
  [[nodiscard]] HttpReply admitted(const HttpQuestion& question) const;
  [[nodiscard]] HttpReply pass_on(HttpQuestion question, bool signs) const;
  [[nodiscard]] HttpReply letters(const HttpQuestion& question) const;
  [[nodiscard]] HttpReply replay(const HttpQuestion& question) const;

  const Clock& clock_;
  Gate gate_;
  std::string user_;
  BridgePorts ports_;
};

}  // namespace sendonce::cli
