#include "plugin/broker/nats/ack_reply.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>

namespace sendonce {
namespace {

constexpr std::size_t kShortForm = 9;
constexpr std::size_t kLongForm = 11;
constexpr std::size_t kMostTokens = 16;

std::optional<std::uint64_t> number(std::string_view token) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc{} || end != token.data() + token.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<AckReply> parse_ack_reply(std::string_view reply) {
  if (!reply.starts_with("$JS.ACK.")) return std::nullopt;
  std::array<std::string_view, kMostTokens> tokens{};
  std::size_t count = 0;
  for (std::size_t from = 0; from <= reply.size();) {
    if (count == kMostTokens) return std::nullopt;
    const std::size_t dot = std::min(reply.find('.', from), reply.size());
    if (dot == from) return std::nullopt;  // an empty token
    tokens[count++] = reply.substr(from, dot - from);
    from = dot + 1;
  }
  if (count != kShortForm && count < kLongForm) return std::nullopt;
  const std::size_t at = count == kShortForm ? 2 : 4;
  const auto delivered = number(tokens[at + 2]);
  const auto stream_seq = number(tokens[at + 3]);
  const auto consumer_seq = number(tokens[at + 4]);
  const auto stored = number(tokens[at + 5]);
  const auto pending = number(tokens[at + 6]);
  if (!delivered || !stream_seq || !consumer_seq || !stored || !pending) return std::nullopt;
  if (*delivered > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  if (*stored > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  return AckReply{.stream = tokens[at],
                  .consumer = tokens[at + 1],
                  .delivered = static_cast<std::uint32_t>(*delivered),
                  .stream_seq = *stream_seq,
                  .consumer_seq = *consumer_seq,
                  .stored_at = WallTime(Duration(static_cast<std::int64_t>(*stored))),
                  .pending = *pending};
}

}  // namespace sendonce
