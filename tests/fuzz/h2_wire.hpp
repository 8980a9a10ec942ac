// Both directions of an HTTP/2 connection as a bystander reads them: frame headers and little more,
// with no help from the library that is being watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sendonce::test {

inline constexpr std::uint8_t kDataFrame = 0;
inline constexpr std::uint8_t kHeadersFrame = 1;
inline constexpr std::uint8_t kResetFrame = 3;
inline constexpr std::uint8_t kSettingsFrame = 4;
inline constexpr std::uint8_t kPushFrame = 5;
inline constexpr std::uint8_t kPingFrame = 6;
inline constexpr std::uint8_t kGoAwayFrame = 7;
inline constexpr std::uint8_t kEndStream = 1;
inline constexpr std::uint8_t kEndHeaders = 4;
inline constexpr std::uint32_t kRefusedStream = 7;
inline constexpr std::size_t kFrameHeaderSize = 9;

[[nodiscard]] std::string make_frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream,
                                     std::span<const std::uint8_t> payload);
[[nodiscard]] std::string make_number(std::uint32_t value);  // four bytes, the greatest first

// What was said in one direction about each stream.
class Wire {
 public:
  explicit Wire(std::size_t preface) : skip_(preface) {}
  void feed(std::span<const std::uint8_t> bytes);

  [[nodiscard]] bool begun(std::int32_t stream) const { return has(stream, kBegun); }
  [[nodiscard]] bool ended(std::int32_t stream) const { return has(stream, kEnded); }
  // By REFUSED_STREAM, or for being above the last stream of a GOAWAY.
  [[nodiscard]] bool refused(std::int32_t stream) const {
    return has(stream, kRefused) || stream > lowest_last_;
  }

 private:
  static constexpr unsigned kBegun = 1;
  static constexpr unsigned kEnded = 2;
  static constexpr unsigned kRefused = 4;

  [[nodiscard]] bool has(std::int32_t stream, unsigned what) const;
  void read_frame(const std::uint8_t* header, std::size_t payload);

  std::size_t skip_;
  std::vector<std::uint8_t> unread_{};
  std::map<std::int32_t, unsigned> streams_{};
  std::int32_t lowest_last_ = INT32_MAX;
};

}  // namespace sendonce::test
