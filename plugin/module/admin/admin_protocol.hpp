// The admin interface: HTTP/1.1 with JSON on a Unix socket. Each verb is a method and a path, its
// arguments are the query; config/schema/admin-api.json (OpenAPI 3.1) describes every answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "plugin/core/error.hpp"
#include "plugin/module/http/http_server.hpp"

namespace sendonce {

// An argument as it travels: a text, "true" or "false", digits.
struct AdminValue {
  std::string text{};

  AdminValue(std::string t) : text(std::move(t)) {}
  AdminValue(const char* t) : text(t) {}
  AdminValue(bool value) : text(value ? "true" : "false") {}
  AdminValue(std::int64_t value) : text(std::to_string(value)) {}
  friend bool operator==(const AdminValue&, const AdminValue&) = default;
};

struct AdminRequest {
  std::string verb{};
  std::vector<std::pair<std::string, AdminValue>> arguments{};
  std::optional<uid_t> peer{};  // who asks, in the daemon: by the kernel's word

  // Errors are `invalid` and name verb and argument: what is missing, or of another type.
  [[nodiscard]] Result<std::string> text(std::string_view argument) const;
  [[nodiscard]] Result<std::string> text_or(std::string_view argument, std::string other) const;
  [[nodiscard]] Result<bool> flag_or(std::string_view argument, bool other) const;
  [[nodiscard]] Result<std::int64_t> number_or(std::string_view argument, std::int64_t other) const;
  // Refuses an argument that is none of these: a typo must not be ignored.
  [[nodiscard]] Result<void> only(std::span<const std::string_view> known) const;
  [[nodiscard]] Result<void> only(std::initializer_list<std::string_view> known) const {
    return only(std::span(known.begin(), known.size()));
  }
};

// Who may ask: whoever may open the socket, or root and the service's own user alone.
enum class AdminAccess : std::uint8_t { read, operate };

struct AdminRoute {
  std::string_view verb{};
  std::string_view method{};
  std::string_view path{};
  AdminAccess access = AdminAccess::read;
  std::span<const std::string_view> arguments{};
  bool items = false;  // the answer is a list
};
[[nodiscard]] std::span<const AdminRoute> admin_routes();
// GET, for everybody, in texts of their own; served on a TCP listener, too.
inline constexpr std::array<std::string_view, 3> kPublicPaths{"/metrics", "/livez", "/readyz"};

[[nodiscard]] bool may(AdminAccess access, uid_t peer, uid_t service);

// Collects the body of one answer: items first, then the result's members.
class AdminReply {
 public:
  // `room`: bytes of items; none: the answer is no list.
  explicit AdminReply(std::optional<std::size_t> room = std::nullopt) : room_(room) {}
  // A JSON object. False: it would be too much for one answer; stop and say so in the result.
  [[nodiscard]] bool item(std::string_view json);
  // A JSON object; {} when never called. Where there may be items, it becomes "items" and its own.
  void result(std::string json);

  [[nodiscard]] HttpReply finish(const Result<void>& outcome) &&;

 private:
  std::optional<std::size_t> room_;
  std::string items_{};
  std::string result_ = "{}";
};

// Must not throw.
using AdminHandler = std::function<Result<void>(const AdminRequest&, AdminReply&)>;

// One question, from its path to its answer. `service`: the user that this process runs as.
[[nodiscard]] HttpReply answer_admin(const HttpQuestion& question, uid_t service,
                                     std::size_t reply_bytes, const AdminHandler& handler);
// RFC 9457, with our `code`.
[[nodiscard]] HttpReply problem(int status, std::string_view code, std::string_view detail);

// ---- the client's side

// A question as it travels; `path` is one of ours, without anything to encode. No body.
[[nodiscard]] std::string format_question(const HttpQuestion& question);
// A whole answer, whatever its status. corrupt: it makes no sense, or its end is missing.
[[nodiscard]] Result<HttpReply> parse_reply(std::string_view bytes);

// "POST /v1/reload HTTP/1.1…" with all that belongs to it. invalid: there is no such verb.
[[nodiscard]] Result<std::string> format_admin_request(const AdminRequest& request);
// A whole answer, from its first byte to the end of the connection. Hands each item to `item`,
// returns the result. The error that the daemon reports comes back as it is; corrupt: it makes no
// sense, or its end is missing.
[[nodiscard]] Result<std::string> parse_admin_answer(
    std::string_view bytes, const std::function<void(std::string_view json)>& item);

}  // namespace sendonce
