// Who goes next at one provider: a queue per class, served round by round. High priority goes first
// three times out of four, and alone uses the last quarter of the room.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "plugin/core/ids.hpp"
#include "plugin/pipeline/policy.hpp"

namespace sendonce {

class Dispatcher {
 public:
  explicit Dispatcher(const std::vector<ClassPolicy>& classes);
  void set_priorities(const std::vector<ClassPolicy>& classes);  // the same classes

  void push(ClassIndex message_class, Ticket ticket);
  // `high_only`: normal classes must leave what is left.
  [[nodiscard]] std::optional<Ticket> pop(bool high_only);
  // Back to the front of its queue: it could not start after all.
  void put_back(ClassIndex message_class, Ticket ticket);
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Queue {
    Priority priority = Priority::normal;
    std::deque<Ticket> tickets{};
  };
  [[nodiscard]] std::optional<Ticket> pop_from(Priority priority);

  std::vector<Queue> queues_{};  // by class
  std::size_t cursor_ = 0;
  std::uint32_t turn_ = 0;
  std::size_t size_ = 0;
};

}  // namespace sendonce
