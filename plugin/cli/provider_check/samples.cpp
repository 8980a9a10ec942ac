#include "plugin/cli/provider_check/samples.hpp"

#include <array>

namespace sendonce::cli {
namespace {

constexpr std::size_t kLong = std::size_t{100} * 1024;
constexpr std::size_t kHuge = std::size_t{1} << 20U;
constexpr std::size_t kDeep = 100'000;

std::string repeated(std::string_view what, std::size_t times) {
  std::string out;
  out.reserve(what.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += what;
  return out;
}

SampleDelivery ordinary(Channel channel) {
  SampleDelivery d;
  d.name = "ordinary";
  d.target = sample_target(channel);
  d.collapse = "order-8812";
  Notification& n = d.notification;
  n.event_id = "ord-8812-shipped";
  n.recipient = "user_42";
  n.channel = channel;
  n.template_id = "order_shipped";
  n.content.title = "On its way";
  n.content.body = "Parcel 8812 left.";
  n.content.data = {{"order", "\"8812\""}, {"items", "[1,{\"a\":null}]"}};
  for (std::size_t i = 0; i < d.key.bytes.size(); ++i) {
    d.key.bytes[i] = static_cast<std::uint8_t>(i);
    d.nid.bytes[i] = static_cast<std::uint8_t>(0xF0U + i);
  }
  return d;
}

SampleDelivery with(SampleDelivery d, const char* name, std::string title, std::string body) {
  d.name = name;
  d.notification.content.title = std::move(title);
  d.notification.content.body = std::move(body);
  return d;
}

}  // namespace

Target sample_target(Channel channel) {
  Target t;
  t.ref = "dev-1";
  t.registered_at = kSampleNow - std::chrono::hours(24);
  if (channel == Channel::sms)
    t.destination = Destination("+4917012345678");
  else if (channel == Channel::email)
    t.destination = Destination("some.person@example.com");
  else
    t.destination = Destination("https://hooks.example.com/in?x=1");
  return t;
}

std::vector<SampleDelivery> sample_deliveries(Channel channel) {
  const SampleDelivery first = ordinary(channel);
  std::vector<SampleDelivery> out{first};
  out.push_back(with(first, "texts of every alphabet",
                     "Gr\xC3\xBC\xC3\x9F"
                     "e \xE2\x9C\x93",
                     "\xF0\x9F\x93\xA6 \xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D"));
  out.push_back(with(first, "quotes and escapes", R"("\/<>&%+=?#{{}})", R"("},"to":"x\)"));
  out.push_back(with(first, "line breaks and controls", "a\tb", "a\r\nb\x01\x1f\x7f"));
  out.push_back(with(first, "a NUL", "t", std::string("a\0b", 3)));
  out.push_back(with(first, "100 KiB of text", "t", repeated("x", kLong)));
  out.push_back(with(first, "nothing to say", "", ""));
  out.back().notification.content.data.clear();
  out.back().target.ref.clear();
  out.back().target.registered_at.reset();
  out.back().collapse.clear();
  return out;
}

std::vector<SampleBody> sample_bodies() {
  return {{"an empty body", ""},
          {"spaces", " \r\n\t "},
          {"an empty object", "{}"},
          {"an empty array", "[]"},
          {"null", "null"},
          {"a number", "12345"},
          {"a cut object", R"({"id":"msg-1","err)"},
          {"a cut string", R"({"id":")"},
          {"a page", "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>"},
          {"plain words", "upstream connect error or disconnect/reset before headers"},
          {"no UTF-8", "\xff\xfe\x80\xc0{\"id\":\"\xff\"}"},
          {"NULs", std::string(64, '\0')},
          {"deep arrays", std::string(kDeep, '[')},
          {"deep objects", repeated("{\"error\":", kDeep)},
          {"a mebibyte of spaces", std::string(kHuge, ' ')},
          {"a mebibyte of letters", std::string(kHuge, 'x')}};
}

std::vector<CallFailure> sample_failures() {
  constexpr std::array kCauses{Cause::connect,    Cause::tls,       Cause::client_auth,
                               Cause::refused,    Cause::reset,     Cause::connection_lost,
                               Cause::timed_out,  Cause::cancelled, Cause::oversized,
                               Cause::not_started};
  std::vector<CallFailure> out;
  for (const Cause cause : kCauses) {
    for (const Effect effect : {Effect::not_sent, Effect::maybe_sent}) {
      CallFailure f;
      f.cause = cause;
      f.effect = effect;
      out.push_back(f);
      for (const int status : {200, 400, 401, 404, 410, 422, 429, 500, 503}) {
        HttpAnswer partial;
        partial.status = status;
        partial.body = R"({"id":"msg-1")";
        f.partial = partial;
        out.push_back(f);
      }
    }
  }
  return out;
}

}  // namespace sendonce::cli
