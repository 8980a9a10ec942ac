#include "plugin/cli/demo/streams.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

namespace sendonce::cli {
namespace {

using Json = nlohmann::json;
using Visitor = std::function<void(const RawMessage&)>;

// Without wildcards: nats-server 2.9 does not take one for interest in it (measured).
constexpr const char* kTo = "sendonce.demo.read";
constexpr auto kPatience = std::chrono::seconds(30);  // without a single message

Result<void> read_stream(Publisher& client, const std::string& stream, const Visitor& visit) {
  SO_TRY(const std::string text, client.request("$JS.API.STREAM.INFO." + stream, ""));
  const Json info = Json::parse(text, nullptr, false);
  if (!info.is_object() || !info.contains("state"))
    return fail(Errc::unavailable, "no stream " + stream + ": " + text);
  auto left = info.value("/state/messages"_json_pointer, std::uint64_t{0});
  // A consumer of our own that pushes everything, and goes when we do.
  const Json consumer{{"stream_name", stream},
                      {"config",
                       {{"deliver_subject", kTo},
                        {"deliver_policy", "all"},
                        {"ack_policy", "none"},
                        {"mem_storage", true}}}};
  SO_TRY(const std::string made,
         client.request("$JS.API.CONSUMER.CREATE." + stream, consumer.dump()));
  if (const Json answer = Json::parse(made, nullptr, false); answer.contains("error"))
    return fail(Errc::unavailable, "stream " + stream + " cannot be read: " + made);
  while (left > 0) {
    SO_TRY(const auto messages, client.next(kPatience));
    if (messages.empty())
      return fail(Errc::unavailable,
                  "stream " + stream + ": " + std::to_string(left) + " messages do not come");
    for (const RawMessage& m : messages) visit(m);
    left -= std::min<std::uint64_t>(left, messages.size());
  }
  return {};
}

std::string header(const RawMessage& message, std::string_view name) {
  for (const auto& [key, value] : message.headers) {
    if (key == name) return value;
  }
  return {};
}

}  // namespace

Result<void> read_streams(Publisher& client, Tally& tally) {
  SO_CHECK(client.subscribe(kTo));
  SO_CHECK(read_stream(client, "SENDONCE_OUTCOMES", [&](const RawMessage& m) {
    const Json events = Json::parse(m.body, nullptr, false);
    if (!events.is_array()) return tally.add_event("", 0, "no batch of events");
    for (const Json& e : events) {
      const Json data = e.value("data", Json::object());
      tally.add_event(data.value("ref", ""), data.value("revision", 0U), data.value("outcome", ""));
    }
  }));
  return read_stream(client, "SENDONCE_DLQ", [&](const RawMessage& m) {
    const std::string key = header(m, "Sendonce-Key");
    tally.add_dead_letter(key.empty() ? header(m, "Sendonce-Original-Subject") : key);
  });
}

}  // namespace sendonce::cli
