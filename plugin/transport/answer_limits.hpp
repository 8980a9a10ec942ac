// How much of an answer is taken; the rest of it ends the call as `oversized`.
#pragma once

#include <cstddef>

namespace sendonce {

struct AnswerLimits {
  std::size_t header_bytes = 16 * 1024;  // names and values, interim answers included
  std::size_t header_count = 128;
  std::size_t body_bytes = 64 * 1024;

  friend bool operator==(const AnswerLimits&, const AnswerLimits&) = default;
};

}  // namespace sendonce
