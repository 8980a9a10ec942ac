// One request on its way through the h2 transport. Pooled and never moved: nghttp2 reads header
// fields and body where they lie, and the lists and the deadline wheel link calls in place, so that
// a request costs no allocation here and no search.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plugin/core/assert.hpp"
#include "plugin/transport/transport.hpp"

namespace sendonce {

class H2Pool;
class H2Session;

struct Call {
  Ticket ticket{};
  HttpRequest request{};
  MonoTime submitted{};
  MonoTime deadline{};
  H2Pool* pool = nullptr;
  H2Session* session = nullptr;  // null: not started, waits in the pool's queue

  // How far it got; written by the session alone.
  std::int32_t stream = 0;
  bool offered = false;       // a byte of it has gone, or is about to go, into a write call
  bool complete = false;      // and so has its END_STREAM
  bool answer_begun = false;  // the peer has begun to answer, if only with a 1xx
  bool answer_final = false;
  bool answer_complete = false;
  std::size_t body_read = 0;
  std::size_t answer_header_bytes = 0;
  HttpAnswer answer{};
  std::array<char, 20> length{};  // the text of content-length

  // Links of CallList and DeadlineWheel.
  Call* prev = nullptr;
  Call* next = nullptr;
  Call* due_prev = nullptr;
  Call* due_next = nullptr;
  std::uint32_t due_slot = 0;
  bool armed = false;
};

// An intrusive list; a call is in at most one at a time.
class CallList {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Call* front() const noexcept { return head_; }

  void push_back(Call& call) noexcept {
    call.prev = tail_;
    call.next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = &call;
    tail_ = &call;
    ++size_;
  }
  void push_front(Call& call) noexcept {
    call.prev = nullptr;
    call.next = head_;
    (head_ != nullptr ? head_->prev : tail_) = &call;
    head_ = &call;
    ++size_;
  }
  void remove(Call& call) noexcept {
    (call.prev != nullptr ? call.prev->next : head_) = call.next;
    (call.next != nullptr ? call.next->prev : tail_) = call.prev;
    call.prev = nullptr;
    call.next = nullptr;
    --size_;
  }
  [[nodiscard]] Call* find(Ticket ticket) const noexcept {
    Call* call = head_;
    while (call != nullptr && call->ticket != ticket) call = call->next;
    return call;
  }

 private:
  Call* head_ = nullptr;
  Call* tail_ = nullptr;
  std::size_t size_ = 0;
};

// Hands out calls in blocks that are kept for the transport's life: as many as were ever open at
// once.
class CallStore {
 public:
  [[nodiscard]] Call& take() {
    if (free_.empty()) grow();
    Call* call = free_.back();
    free_.pop_back();
    return *call;
  }
  void give_back(Call& call) {
    // Recipients and credentials live no longer than their call.
    call.request = HttpRequest{};
    call.pool = nullptr;
    call.session = nullptr;
    call.stream = 0;
    call.offered = call.complete = false;
    call.answer_begun = call.answer_final = call.answer_complete = false;
    call.body_read = 0;
    call.answer_header_bytes = 0;
    call.answer.status = 0;
    call.answer.headers.clear();
    call.answer.body.clear();
    free_.push_back(&call);
  }

 private:
  static constexpr std::size_t kBlock = 64;
  void grow() {
    blocks_.push_back(std::make_unique<Call[]>(kBlock));
    free_.reserve(blocks_.size() * kBlock);
    for (std::size_t i = kBlock; i > 0; --i) free_.push_back(&blocks_.back()[i - 1]);
  }
  std::vector<std::unique_ptr<Call[]>> blocks_{};
  std::vector<Call*> free_{};
};

}  // namespace sendonce
