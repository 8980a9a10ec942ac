// What a module is given: our values as the structs of sendonce/abi/provider.h, borrowed from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "classifiers/provider.hpp"
#include "sendonce/abi/provider.h"

namespace sendonce {

[[nodiscard]] std::int32_t abi_channel(Channel channel);
[[nodiscard]] std::int64_t abi_time(std::optional<WallTime> time);  // 0: none

[[nodiscard]] sendonce_target view_of(const Target& target, Channel channel);

// Borrows the attempt; stays where it is.
class DeliveryView {
 public:
  DeliveryView(const Attempt& attempt, Channel channel, WallTime now);
  DeliveryView(const DeliveryView&) = delete;
  DeliveryView& operator=(const DeliveryView&) = delete;
  ~DeliveryView() = default;
  [[nodiscard]] const sendonce_delivery* get() const noexcept { return &view_; }

 private:
  std::string key_;
  std::string nid_;
  std::vector<sendonce_kv> data_{};
  sendonce_target target_;
  sendonce_delivery view_{};
};

// Borrows the result; stays where it is.
class AnswerView {
 public:
  AnswerView(const CallResult& result, WallTime now);
  // The same without headers and body.
  [[nodiscard]] static sendonce_answer bare(int status, WallTime now);
  AnswerView(const AnswerView&) = delete;
  AnswerView& operator=(const AnswerView&) = delete;
  ~AnswerView() = default;
  [[nodiscard]] const sendonce_answer* get() const noexcept { return &view_; }

 private:
  void add(const HttpAnswer& answer);
  std::vector<sendonce_header> headers_{};
  sendonce_answer view_;
};

}  // namespace sendonce
