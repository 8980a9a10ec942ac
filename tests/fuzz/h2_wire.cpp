#include "tests/fuzz/h2_wire.hpp"

#include <algorithm>

namespace sendonce::test {
namespace {

std::uint32_t number(const std::uint8_t* at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8U | at[i];
  return value;
}

std::int32_t stream_id(const std::uint8_t* at) {
  return static_cast<std::int32_t>(number(at, 4) & 0x7fffffffU);
}

}  // namespace

std::string make_number(std::uint32_t value) {
  std::string out;
  for (unsigned shift = 32; shift > 0; shift -= 8)
    out.push_back(static_cast<char>(value >> (shift - 8U) & 0xffU));
  return out;
}

std::string make_frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream,
                       std::span<const std::uint8_t> payload) {
  std::string frame = make_number(static_cast<std::uint32_t>(payload.size())).substr(1);
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  frame += make_number(static_cast<std::uint32_t>(stream));
  frame.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  return frame;
}

void Wire::feed(std::span<const std::uint8_t> bytes) {
  const std::size_t skipped = std::min(skip_, bytes.size());
  skip_ -= skipped;
  bytes = bytes.subspan(skipped);
  unread_.insert(unread_.end(), bytes.begin(), bytes.end());
  std::size_t at = 0;
  while (unread_.size() - at >= kFrameHeaderSize) {
    const std::size_t payload = number(unread_.data() + at, 3);
    if (unread_.size() - at - kFrameHeaderSize < payload) break;
    read_frame(unread_.data() + at, payload);
    at += kFrameHeaderSize + payload;
  }
  unread_.erase(unread_.begin(), unread_.begin() + static_cast<std::ptrdiff_t>(at));
}

bool Wire::has(std::int32_t stream, unsigned what) const {
  const auto it = streams_.find(stream);
  return it != streams_.end() && (it->second & what) != 0;
}

void Wire::read_frame(const std::uint8_t* header, std::size_t payload) {
  const std::uint8_t type = header[3];
  const std::int32_t stream = stream_id(header + 5);
  unsigned& known = streams_[stream];
  if (type == kHeadersFrame) known |= kBegun;
  if ((type == kHeadersFrame || type == kDataFrame) && (header[4] & kEndStream) != 0)
    known |= kEnded;
  const std::uint8_t* body = header + kFrameHeaderSize;
  if (type == kResetFrame && payload >= 4 && number(body, 4) == kRefusedStream) known |= kRefused;
  if (type == kGoAwayFrame && payload >= 8) lowest_last_ = std::min(lowest_last_, stream_id(body));
}

}  // namespace sendonce::test
