// One client of the admin socket: bytes in, requests out, answers in, bytes out. Never blocks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "plugin/core/clock.hpp"
#include "plugin/core/unique_fd.hpp"
#include "plugin/module/admin/admin_protocol.hpp"

namespace sendonce {

class AdminConnection {
 public:
  AdminConnection(UniqueFd fd, MonoTime now);

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] MonoTime last_moved() const noexcept { return last_moved_; }
  // For poll(2). A client is not read from while it owes us the reading of an answer.
  [[nodiscard]] short interest() const noexcept;
  [[nodiscard]] bool over() const noexcept { return over_; }

  // Sends what is left of the answer, or else reads.
  void move(MonoTime now);
  // The next whole line, without its end, once the last answer is out.
  [[nodiscard]] std::optional<std::string> next_line();
  [[nodiscard]] std::size_t unfinished_bytes() const noexcept { return input_.size(); }

  // Sends as much as goes at once and keeps the rest.
  void answer(std::string text, MonoTime now);
  // The answer that is under way is the last.
  void close_after_answer() noexcept;

 private:
  void read(MonoTime now);
  void write(MonoTime now);
  [[nodiscard]] bool sending() const noexcept { return sent_ < output_.size(); }

  UniqueFd fd_;
  MonoTime last_moved_;
  std::string input_{};
  std::string output_{};
  std::size_t sent_ = 0;
  bool ending_ = false;  // closed by the peer, or to be closed by us
  bool over_ = false;
};

}  // namespace sendonce
