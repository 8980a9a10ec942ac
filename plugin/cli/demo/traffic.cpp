#include "plugin/cli/demo/traffic.hpp"

#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"

namespace sendonce::cli {

std::string Traffic::token(bool apns) {
  const bool doomed = random_.chance(shares_.doomed);
  if (!apns)
    return (doomed ? "dead-fcm-" : "demo-fcm-") + std::to_string(random_.next()) + "-" +
           std::to_string(deliveries_);
  std::string token = doomed ? "dead" : "";
  while (token.size() < 64) {
    const std::uint64_t word = random_.next();
    append_hex(token, {reinterpret_cast<const char*>(&word), sizeof word});
  }
  token.resize(64);
  if (!doomed && token.starts_with("dead")) token[0] = 'b';
  return token;
}

Outgoing Traffic::next(WallTime now) {
  const TrafficClass& c = classes_[messages_ % classes_.size()];
  const std::string number = std::to_string(messages_++);
  Outgoing out{.subject = c.subject + ".u" + number};
  if (random_.chance(shares_.undecodable)) {
    out.body = "{\"event_id\":" + number;
    if (tally_ != nullptr)
      tally_->add_published(c.name, {.ref = out.subject, .at = now, .undecodable = true});
    return out;
  }
  out.repeated = random_.chance(shares_.repeated);
  auto targets = nlohmann::json::array();
  const int wanted = random_.chance(shares_.wide) ? 2 : 1;
  for (int i = 0; i < wanted; ++i) {
    const bool apns = random_.chance(0.5);
    Published delivery{.token = token(apns),
                       .ref = "d" + std::to_string(deliveries_++),
                       .copies = out.repeated ? 2U : 1U,
                       .at = now};
    targets.push_back(
        {{"provider", apns ? "apns" : "fcm"}, {"token", delivery.token}, {"ref", delivery.ref}});
    out.refs.push_back(delivery.ref);
    if (tally_ != nullptr) tally_->add_published(c.name, std::move(delivery));
  }
  out.body =
      nlohmann::json{
          {"event_id", c.name + "-" + number},
          {"recipient", "user_" + number},
          {"channel", "push"},
          {"template", c.name},
          {"targets", std::move(targets)},
          {"notification",
           {{"title", "Number " + number},
            {"body", "The code is " + std::to_string(100'000 + random_.below(900'000))}}}}
          .dump();
  return out;
}

}  // namespace sendonce::cli
