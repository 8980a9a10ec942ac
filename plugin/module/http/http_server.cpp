#include "plugin/module/http/http_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>

#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/core/ascii.hpp"
#include "plugin/core/assert.hpp"
#include "plugin/core/thread.hpp"

namespace sendonce {
namespace {

constexpr unsigned kContentTooLarge = 413;  // RFC 9110; older headers call it otherwise

struct DaemonCloser {
  void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};
struct ResponseCloser {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};

// What the thread runs: libmicrohttpd's own epoll, our wake-up, and an eye on the clock.
class Loop {
 public:
  Loop(const Clock& clock, HttpLimits limits, HttpHandler handler, int wake)
      : clock_(clock), limits_(limits), handler_(std::move(handler)), wake_(wake) {}

  // The socket is closed with the daemon, and at once if there is none.
  [[nodiscard]] Result<void> open(UniqueFd listening) {
    const auto idle = std::chrono::duration_cast<std::chrono::seconds>(limits_.idle).count();
    const std::array options{
        MHD_OptionItem{MHD_OPTION_LISTEN_SOCKET, listening.get(), nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(limits_.connections),
                       nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                       static_cast<intptr_t>(limits_.head_bytes), nullptr},
        MHD_OptionItem{MHD_OPTION_CONNECTION_TIMEOUT, static_cast<intptr_t>(idle), nullptr},
        MHD_OptionItem{MHD_OPTION_STRICT_FOR_CLIENT, 1, nullptr},
        MHD_OptionItem{MHD_OPTION_END, 0, nullptr}};
    daemon_.reset(MHD_start_daemon(MHD_USE_EPOLL, 0, nullptr, nullptr, &Loop::on_request, this,
                                   MHD_OPTION_ARRAY, options.data(), MHD_OPTION_NOTIFY_CONNECTION,
                                   &Loop::on_connection, this, MHD_OPTION_END));
    if (daemon_ == nullptr) return fail(Errc::exhausted, "cannot serve HTTP: no memory or epoll");
    (void)listening.release();
    const auto* info = MHD_get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_EPOLL_FD);
    SO_ASSERT(info != nullptr);
    epoll_ = info->epoll_fd;
    return {};
  }

  void run() {
    for (;;) {
      std::array ready{pollfd{.fd = wake_, .events = POLLIN, .revents = 0},
                       pollfd{.fd = epoll_, .events = POLLIN, .revents = 0}};
      ::poll(ready.data(), ready.size(), wait_ms());
      if (ready[0].revents != 0) break;
      gone_ = false;
      MHD_run(daemon_.get());
      end_the_old();
    }
    daemon_.reset();
  }

 private:
  struct Client {
    int fd = -1;
    MonoTime since{};
    std::string peer{};  // empty: without a limit of its own
  };

  [[nodiscard]] Duration life() const {
    return clients_.size() >= limits_.connections ? std::min(limits_.life, limits_.crowded_life)
                                                  : limits_.life;
  }

  [[nodiscard]] int wait_ms() const {
    // There is room again: only its next turn makes libmicrohttpd look at the listening socket.
    if (gone_) return 0;
    constexpr MHD_UNSIGNED_LONG_LONG kLongest = 60'000;
    MHD_UNSIGNED_LONG_LONG wait = kLongest;
    if (MHD_get_timeout(daemon_.get(), &wait) == MHD_NO) wait = kLongest;
    if (clients_.empty()) return static_cast<int>(std::min(wait, kLongest));
    const Duration left = clients_.front().since + life() - clock_.mono();
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<int>(std::min<std::int64_t>(
        std::max<std::int64_t>(ms, 0), static_cast<std::int64_t>(std::min(wait, kLongest))));
  }

  // Those that trickle byte by byte are never idle. libmicrohttpd sees the end and closes.
  void end_the_old() {
    const MonoTime now = clock_.mono();
    const auto young = std::ranges::find_if(
        clients_, [&, longest = life()](const Client& c) { return now - c.since < longest; });
    for (auto client = clients_.begin(); client != young; ++client) {
      ::shutdown(client->fd, SHUT_RDWR);
      client->since = now;  // once is enough; it stays in the list until it is closed
    }
    std::ranges::rotate(clients_, young);  // the longest there stay in front
  }

  static void on_connection(void* self, MHD_Connection* connection, void** /*unused*/,
                            MHD_ConnectionNotificationCode what) {
    auto& loop = *static_cast<Loop*>(self);
    const int fd = descriptor(connection);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      loop.welcome({.fd = fd, .since = loop.clock_.mono(), .peer = peer_name(fd)});
    } else {
      std::erase_if(loop.clients_, [&](const Client& c) { return c.fd == fd; });
      loop.gone_ = true;
    }
  }

  void welcome(Client client) {
    const auto places = std::ranges::count(clients_, client.peer, &Client::peer);
    if (!client.peer.empty() && static_cast<std::size_t>(places) >= limits_.per_peer)
      ::shutdown(client.fd, SHUT_RDWR);
    clients_.push_back(std::move(client));
  }

  static std::string peer_name(int fd) {
    if (const auto uid = peer_of(fd))
      return *uid == 0 || *uid == ::geteuid() ? std::string() : "uid " + std::to_string(*uid);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    std::array<char, NI_MAXHOST> host{};
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::getpeername(fd, generic, &size) != 0 ||
        ::getnameinfo(generic, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
      return "unknown";
    return host.data();
  }

  static int descriptor(MHD_Connection* connection) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    SO_ASSERT(info != nullptr);
    return info->connect_fd;
  }

  static std::optional<uid_t> peer_of(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    int family = 0;
    socklen_t family_size = sizeof family;
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_size) != 0 || family != AF_UNIX)
      return std::nullopt;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
    return peer.uid;
  }

  static MHD_Result add_argument(void* to, MHD_ValueKind /*kind*/, const char* name,
                                 std::size_t name_size, const char* value, std::size_t value_size) {
    static_cast<HttpQuestion*>(to)->query.emplace_back(
        std::string(name, name_size), value == nullptr ? "" : std::string(value, value_size));
    return MHD_YES;
  }

  static MHD_Result add_field(void* to, MHD_ValueKind /*kind*/, const char* name,
                              std::size_t name_size, const char* value, std::size_t value_size) {
    static_cast<HttpQuestion*>(to)->fields.emplace_back(
        lower_ascii({name, name_size}), value == nullptr ? "" : std::string(value, value_size));
    return MHD_YES;
  }

  // Called once with the header fields, then for the body, of which there must be none.
  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url,
                               const char* method, const char* /*version*/, const char* /*upload*/,
                               std::size_t* upload_size, void** request) {
    auto& loop = *static_cast<Loop*>(self);
    if (*request == nullptr) {
      *request = self;
      const char* length =
          MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
      const bool chunked =
          MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                      MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr;
      if (!chunked && (length == nullptr || std::string_view(length) == "0")) return MHD_YES;
      return queue(connection, {.status = static_cast<int>(kContentTooLarge),
                                .type = "text/plain",
                                .body = "a request has no body here\n"});
    }
    if (*upload_size != 0) return MHD_NO;
    HttpQuestion question{.method = method, .path = url, .peer = peer_of(descriptor(connection))};
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, &Loop::add_argument, &question);
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, &Loop::add_field, &question);
    return queue(connection, loop.handled(question));
  }

  // Nothing may leave through the library's own frames.
  HttpReply handled(const HttpQuestion& question) const noexcept {
    try {
      return handler_(question);
    } catch (...) {
      return {.status = 500, .type = "text/plain", .body = "this is a bug of ours\n"};
    }
  }

  static MHD_Result queue(MHD_Connection* connection, const HttpReply& reply) {
    // MUST_COPY: it is not written to.
    auto* bytes = const_cast<char*>(reply.body.data());
    const std::unique_ptr<MHD_Response, ResponseCloser> response(
        MHD_create_response_from_buffer(reply.body.size(), bytes, MHD_RESPMEM_MUST_COPY));
    if (response == nullptr) return MHD_NO;
    const auto add = [&](const char* name, const std::string& value) {
      return value.empty() ||
             MHD_add_response_header(response.get(), name, value.c_str()) == MHD_YES;
    };
    bool whole =
        add(MHD_HTTP_HEADER_CONTENT_TYPE, reply.type) && add(MHD_HTTP_HEADER_ALLOW, reply.allow) &&
        add(MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") &&
        add("X-Content-Type-Options", "nosniff") && add(MHD_HTTP_HEADER_CONNECTION, "close");
    for (const auto& [name, value] : reply.fields) whole = whole && add(name.c_str(), value);
    return whole
               ? MHD_queue_response(connection, static_cast<unsigned>(reply.status), response.get())
               : MHD_NO;
  }

  const Clock& clock_;
  HttpLimits limits_;
  HttpHandler handler_;
  int wake_;
  int epoll_ = -1;
  std::vector<Client> clients_{};  // the oldest first
  bool gone_ = false;              // one of them, in this turn
  std::unique_ptr<MHD_Daemon, DaemonCloser> daemon_{};
};

}  // namespace

std::optional<std::string_view> HttpQuestion::field(std::string_view name) const {
  std::optional<std::string_view> found;
  for (const auto& [field_name, value] : fields) {
    if (field_name != name) continue;
    if (found) return std::nullopt;
    found = value;
  }
  return found;
}

Result<void> HttpServer::start(UniqueFd listening, const char* thread_name, HttpHandler handler) {
  SO_ASSERT(!thread_.joinable());
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return fail(Errc::exhausted, "cannot make an eventfd for an HTTP server");
  auto loop = std::make_unique<Loop>(clock_, limits_, std::move(handler), wake_.get());
  SO_CHECK(loop->open(std::move(listening)));
  // The loop lives and dies with the thread: nothing is open once it has been joined.
  thread_ = start_thread(thread_name, [loop = std::move(loop)] { loop->run(); });
  return {};
}

void HttpServer::stop() {
  if (!thread_.joinable()) return;
  SO_ASSERT(thread_.get_id() != std::this_thread::get_id());
  const std::uint64_t one = 1;
  SO_ASSERT(::write(wake_.get(), &one, sizeof one) == sizeof one);
  thread_.join();
  thread_ = {};
  wake_.reset();
}

}  // namespace sendonce
