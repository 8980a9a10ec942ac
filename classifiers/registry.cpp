#include "classifiers/registry.hpp"

#include <array>

#include "classifiers/access_token.hpp"
#include "classifiers/apns/apns_answers.hpp"
#include "classifiers/fcm/fcm_answers.hpp"
#include "classifiers/smtp/smtp_answers.hpp"
#include "classifiers/twilio/twilio_callback.hpp"
#include "classifiers/webpush/webpush_answers.hpp"

namespace sendonce {
namespace {

struct Protocol {
  std::string_view name{};
  Verdict (*judge)(const CallResult& result, const JudgeContext& context) = nullptr;
};

template <PushService service>
Verdict judge_push(const CallResult& result, const JudgeContext& context) {
  return judge_webpush(result, service, context.now);
}

constexpr std::array<Protocol, 11> kProtocols{{
    {"apns",
     [](const CallResult& result, const JudgeContext& context) {
       return judge_apns(result, context.registered_at, context.now);
     }},
    {"fcm", [](const CallResult& result,
               const JudgeContext& context) { return judge_fcm(result, context.now); }},
    {"fcm-legacy",
     [](const CallResult& result, const JudgeContext& context) {
       return judge_fcm_legacy(result, context.index, context.now);
     }},
    {"fcm-oauth", [](const CallResult& result,
                     const JudgeContext& context) { return judge_oauth(result, context.now); }},
    {"smtp", [](const CallResult& result, const JudgeContext&) { return judge_smtp(result); }},
    {"twilio-callback",
     [](const CallResult& result, const JudgeContext&) { return judge_twilio_callback(result); }},
    {"webpush", judge_push<PushService::other>},
    {"webpush-apple", judge_push<PushService::apple>},
    {"webpush-fcm", judge_push<PushService::fcm>},
    {"webpush-mozilla", judge_push<PushService::mozilla>},
    {"webpush-wns", judge_push<PushService::wns>},
}};

}  // namespace

std::optional<Verdict> judge_answer(std::string_view protocol, const CallResult& result,
                                    const JudgeContext& context) {
  for (const Protocol& known : kProtocols)
    if (known.name == protocol) return known.judge(result, context);
  return std::nullopt;
}

bool is_report(std::string_view protocol) {
  return protocol == "twilio-callback";
}

std::string protocol_names() {
  std::string names;
  for (const Protocol& known : kProtocols)
    names.append(names.empty() ? "" : ", ").append(known.name);
  return names;
}

}  // namespace sendonce
