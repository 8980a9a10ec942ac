#include "plugin/pipeline/dispatcher.hpp"

namespace sendonce {

Dispatcher::Dispatcher(const std::vector<ClassPolicy>& classes) {
  for (const ClassPolicy& c : classes) queues_.push_back({.priority = c.config.priority});
}

void Dispatcher::set_priorities(const std::vector<ClassPolicy>& classes) {
  for (std::size_t i = 0; i < queues_.size(); ++i) queues_[i].priority = classes[i].config.priority;
}

void Dispatcher::push(ClassIndex message_class, Ticket ticket) {
  queues_[message_class.get()].tickets.push_back(ticket);
  ++size_;
}

void Dispatcher::put_back(ClassIndex message_class, Ticket ticket) {
  queues_[message_class.get()].tickets.push_front(ticket);
  ++size_;
}

std::optional<Ticket> Dispatcher::pop_from(Priority priority) {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    cursor_ = (cursor_ + 1) % queues_.size();
    Queue& queue = queues_[cursor_];
    if (queue.priority != priority || queue.tickets.empty()) continue;
    const Ticket ticket = queue.tickets.front();
    queue.tickets.pop_front();
    --size_;
    return ticket;
  }
  return std::nullopt;
}

std::optional<Ticket> Dispatcher::pop(bool high_only) {
  if (high_only) return pop_from(Priority::high);
  constexpr std::uint32_t kTurns = 4;
  turn_ = (turn_ + 1) % kTurns;
  const Priority first = turn_ == 0 ? Priority::normal : Priority::high;
  const Priority second = turn_ == 0 ? Priority::high : Priority::normal;
  const auto ticket = pop_from(first);
  return ticket ? ticket : pop_from(second);
}

}  // namespace sendonce
