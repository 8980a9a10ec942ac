#include "plugin/module/admin/admin_server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "plugin/core/assert.hpp"
#include "plugin/core/thread.hpp"
#include "plugin/module/admin/admin_connection.hpp"

namespace sendonce {
namespace {

constexpr Duration kAcceptPause = std::chrono::seconds(1);

// What the thread runs: one poll(2) loop over the listener, the wake-up and the clients.
class Loop {
 public:
  Loop(const Clock& clock, Log& log, const AdminLimits& limits, UnixListener listener,
       AdminHandler handler, int wake)
      : clock_(clock),
        log_(log),
        limits_(limits),
        listener_(std::move(listener)),
        handler_(std::move(handler)),
        wake_(wake) {}

  void run() {
    while (!turn()) {
    }
    for (AdminConnection& client : clients_) client.move(clock_.mono());
  }

 private:
  // Waits once and serves what is ready. True: asked to end.
  bool turn() {
    const MonoTime before = clock_.mono();
    const bool accepting = before >= accept_from_;
    ready_.clear();
    ready_.push_back({.fd = wake_, .events = POLLIN, .revents = 0});
    ready_.push_back({.fd = accepting ? listener_.fd() : -1, .events = POLLIN, .revents = 0});
    for (const AdminConnection& client : clients_) {
      ready_.push_back({.fd = client.fd(), .events = client.interest(), .revents = 0});
    }
    ::poll(ready_.data(), ready_.size(), wait_ms(before, accepting));
    if (ready_[0].revents != 0) return true;
    const MonoTime now = clock_.mono();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (ready_[i + 2].revents != 0) serve(clients_[i], now);
    }
    std::erase_if(clients_, [&](const AdminConnection& client) {
      return client.over() || now - client.last_moved() >= limits_.idle;
    });
    if (ready_[1].revents != 0) accept_one(now);
    return false;
  }

  [[nodiscard]] int wait_ms(MonoTime now, bool accepting) const {
    std::optional<MonoTime> until;
    const auto sooner = [&](MonoTime t) { until = until ? std::min(*until, t) : t; };
    if (!accepting) sooner(accept_from_);
    for (const AdminConnection& client : clients_) sooner(client.last_moved() + limits_.idle);
    if (!until) return -1;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*until - now);
    return static_cast<int>(std::clamp<std::int64_t>(wait.count(), 0, 60'000));
  }

  void accept_one(MonoTime now) {
    UniqueFd fd(::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      // Out of descriptors or memory: the waiting client stays readable, so do not spin.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        log_.warn("admin.accept_failed", {{"errno", errno}});
        accept_from_ = now + kAcceptPause;
      }
      return;
    }
    AdminConnection client(std::move(fd), now);
    if (clients_.size() >= limits_.connections) {
      refuse(client, {Errc::exhausted, "too many admin connections, try again later"}, now);
      return;
    }
    clients_.push_back(std::move(client));
  }

  void serve(AdminConnection& client, MonoTime now) {
    client.move(now);
    while (const auto line = client.next_line()) {
      if (line->size() > limits_.request_bytes) return refuse_long(client, now);
      client.answer(answer(*line), clock_.mono());
    }
    if (client.unfinished_bytes() > limits_.request_bytes) refuse_long(client, now);
  }

  std::string answer(const std::string& line) {
    AdminReply reply(limits_.reply_bytes);
    const Result<AdminRequest> request = parse_admin_request(line);
    if (!request) return std::move(reply).finish(std::unexpected(request.error()));
    const Result<void> outcome = handler_(*request, reply);
    return std::move(reply).finish(outcome);
  }

  void refuse_long(AdminConnection& client, MonoTime now) {
    refuse(client,
           {Errc::invalid,
            "a request has at most " + std::to_string(limits_.request_bytes) + " bytes"},
           now);
  }

  static void refuse(AdminConnection& client, Error error, MonoTime now) {
    client.close_after_answer();
    client.answer(AdminReply(0).finish(std::unexpected(std::move(error))), now);
    static_cast<void>(client.next_line());  // over at once when all of it has left
  }

  const Clock& clock_;
  Log& log_;
  AdminLimits limits_;
  UnixListener listener_;
  AdminHandler handler_;
  int wake_;
  std::vector<AdminConnection> clients_{};
  std::vector<pollfd> ready_{};
  MonoTime accept_from_{};
};

}  // namespace

AdminServer::AdminServer(const Clock& clock, Log& log, AdminLimits limits)
    : clock_(clock), log_(log), limits_(limits) {}

Result<void> AdminServer::start(const std::string& path, AdminHandler handler) {
  SO_TRY(UnixListener listener, UnixListener::bind(path));
  SO_CHECK(run(std::move(listener), std::move(handler)));
  log_.info("admin.listening", {{"socket", std::string_view(path)}});
  return {};
}

Result<void> AdminServer::adopt(UniqueFd listening, AdminHandler handler) {
  SO_TRY(UnixListener listener, UnixListener::adopt(std::move(listening)));
  return run(std::move(listener), std::move(handler));
}

Result<void> AdminServer::run(UnixListener listener, AdminHandler handler) {
  SO_ASSERT(!thread_.joinable());
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return fail(Errc::exhausted, "cannot make an eventfd for the admin socket");
  // The loop lives and dies with the thread: nothing is open once it has been joined.
  auto loop = std::make_unique<Loop>(clock_, log_, limits_, std::move(listener), std::move(handler),
                                     wake_.get());
  thread_ = start_thread("so-admin", [loop = std::move(loop)] { loop->run(); });
  return {};
}

void AdminServer::stop() {
  if (!thread_.joinable()) return;
  SO_ASSERT(thread_.get_id() != std::this_thread::get_id());
  const std::uint64_t one = 1;
  SO_ASSERT(::write(wake_.get(), &one, sizeof one) == sizeof one);
  thread_.join();
  thread_ = {};
  wake_.reset();
}

}  // namespace sendonce
