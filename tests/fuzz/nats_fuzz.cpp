// Any text that a NATS server may send: API answers, the reply subject of a message, the status of
// a pull. A value or nothing, and never a crash.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/broker/nats/ack_reply.hpp"
#include "plugin/broker/nats/api_json.hpp"
#include "plugin/broker/nats/pull_status.hpp"
#include "plugin/core/assert.hpp"
#include "tests/fuzz/program.hpp"

namespace sendonce {
namespace {

bool is_within(std::string_view part, std::string_view whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

void read_answers(std::string_view text) {
  const auto error = parse_api_error(text);
  const auto ack = parse_pub_ack(text);
  SO_ASSERT(!(ack && error));
  static_cast<void>(parse_consumer_info(text));
  if (const auto stream = parse_stream_info(text)) {
    const auto name = json_text(stream->name);
    SO_ASSERT(!patch_object(stream->config, {{"name", name}, {"sealed", std::nullopt}}).empty());
  }
}

}  // namespace
}  // namespace sendonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sendonce::test::Program program(data, size);
  const std::uint8_t kind = program.byte();
  const int code = program.byte() * 4;
  const std::string_view text = program.rest();
  switch (kind % 3U) {
    case 0:
      sendonce::read_answers(text);
      break;
    case 1:
      if (const auto reply = sendonce::parse_ack_reply(text)) {
        SO_ASSERT(!reply->stream.empty() && sendonce::is_within(reply->stream, text));
        SO_ASSERT(!reply->consumer.empty() && sendonce::is_within(reply->consumer, text));
      }
      break;
    default:
      static_cast<void>(sendonce::pull_status(code, text));
      static_cast<void>(sendonce::parse_go_duration(text));
      break;
  }
  return 0;
}
