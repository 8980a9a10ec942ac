// What the fake server hands to its handler and gets back: one request, one reply, and how the
// reply travels. All of it lives on the server's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"

namespace sendonce::test {

// Header fields in the order of arrival. One buffer, reused from request to request.
class Headers {
 public:
  struct Field {
    std::string_view name{};  // lower case
    std::string_view value{};
  };

  void clear() {
    text_.clear();
    spans_.clear();
  }
  void add(std::string_view name, std::string_view value);
  [[nodiscard]] std::size_t size() const { return spans_.size(); }
  [[nodiscard]] Field operator[](std::size_t i) const;  // views until the next add() or clear()
  // Empty when absent; the first of several.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;

 private:
  struct Span {
    std::uint32_t offset = 0;
    std::uint32_t name = 0;
    std::uint32_t value = 0;
  };
  std::string text_{};
  std::vector<Span> spans_{};
};

struct Request {
  std::uint64_t connection = 0;  // counted from 1
  std::int32_t stream = 0;       // HTTP/1.1: the number of the request on its connection
  bool h2 = true;
  WallTime arrived{};  // of the header block
  std::string method{};
  std::string path{};  // with its query
  Headers headers{};
  std::string body{};

  void clear();
};

// How the answer ends.
enum class Ending : std::uint8_t {
  answer,       // whole
  stall,        // no answer ever; the stream stays open
  deaf,         // no answer, and the connection is neither read nor written any more
  close,        // the connection is closed (close_notify, FIN) without an answer
  abort,        // the connection is reset (TCP RST) without an answer
  reset,        // RST_STREAM with `code`, without an answer; on HTTP/1.1 like abort
  cut_headers,  // the header block is cut in the middle, then the connection is closed
  cut_body,     // the answer is cut after `cut_at` bytes of its body, then closed or, with `code`,
                // reset
};

struct SettingsEntry {
  std::uint16_t id = 0;  // RFC 9113 6.5.2
  std::uint32_t value = 0;
};

enum class LastStream : std::uint8_t {
  below,   // the stream before this one: this one and all above it were not processed
  covers,  // this one
  all,     // 2^31-1, the notice of a graceful shutdown
};

struct GoAway {
  LastStream last = LastStream::covers;
  std::uint32_t code = 0;
  std::string debug{};  // APNs puts {"reason":"Shutdown"} there
  bool close = false;   // close the connection right after
};

// Everything beside the answer itself. Nothing of it is set for an ordinary answer.
struct Play {
  Ending ending = Ending::answer;
  std::optional<std::uint32_t> code{};  // of RST_STREAM
  std::size_t cut_at = 0;
  Duration delay{0};
  int interim = 0;  // a 1xx status that is sent first
  std::vector<SettingsEntry> settings{};
  std::optional<GoAway> goaway{};
};

// With all other requests on it.
[[nodiscard]] bool ends_connection(const Play& how);

struct Reply {
  int status = 200;
  Headers headers{};
  std::string body{};
  Play play{};

  void clear();
};

class Handler {
 public:
  virtual ~Handler() = default;
  // The header block of `request` is there, its body is not. True: `reply` is the answer, and the
  // rest of the request is not looked at.
  virtual bool on_headers(const Request& request, Reply& reply) = 0;
  virtual void on_request(const Request& request, Reply& reply) = 0;
  virtual void on_connection_closed(std::uint64_t connection) = 0;
  // All that could be read has been handled; called before the server waits.
  virtual void on_idle() = 0;
};

}  // namespace sendonce::test
