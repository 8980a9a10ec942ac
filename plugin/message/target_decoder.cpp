#include "plugin/message/target_decoder.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "plugin/core/text.hpp"
#include "plugin/message/members.hpp"
#include "plugin/message/text_rule.hpp"

namespace sendonce {
namespace {

enum Member : std::uint8_t {
  provider,
  kind,
  token,
  subscription,
  phone,
  email,
  url,
  registered_at,
  ref
};
constexpr std::array<std::string_view, 9> kMembers{
    "provider", "kind", "token", "subscription", "phone", "email", "url", "registered_at", "ref"};
static_assert(std::ranges::equal(kDestinationMembers, std::span(kMembers).first<7>()));

enum SubscriptionMember : std::uint8_t { endpoint, p256dh, auth };
constexpr std::array<std::string_view, 3> kSubscriptionMembers{"endpoint", "p256dh", "auth"};

constexpr std::array kForms{DestinationForm::token, DestinationForm::subscription,
                            DestinationForm::phone, DestinationForm::email, DestinationForm::url};

constexpr std::string_view kOneDestination =
    "must have exactly one of token, subscription, phone, email and url";
constexpr std::string_view kOneProvider = "must have exactly one of provider and kind";

Result<void> read_secret(JsonReader& reader, const JsonPath& path, const TextRule& rule,
                         Destination& out) {
  std::string text;
  SO_CHECK(read_text(reader, path, rule, text));
  out = Destination(std::move(text));
  return {};
}

Result<void> read_kind(JsonReader& reader, const JsonPath& path, Target& target) {
  std::string scratch;
  if (reader.type() == JsonType::string) target.kind = provider_kind_from(reader.string(scratch));
  if (!target.kind) return path.refuse("must be one of apns, fcm, webpush, sms, email, http, push");
  return {};
}

Result<void> read_subscription(JsonReader& reader, const JsonPath& path, Target& target) {
  if (reader.type() != JsonType::object)
    return path.refuse("must be an object with endpoint, p256dh and auth");
  MemberSet members(kSubscriptionMembers);
  reader.enter();
  while (reader.next_member()) {
    SO_TRY(const std::size_t member, members.meet(reader.name(), path));
    const JsonPath at(path, kSubscriptionMembers.at(member));
    switch (static_cast<SubscriptionMember>(member)) {
      case endpoint:
        SO_CHECK(read_secret(reader, at, kUrlRule, target.destination));
        break;
      case p256dh:
        SO_CHECK(read_secret(reader, at, kSubscriptionKeyRule, target.p256dh));
        break;
      case auth:
        SO_CHECK(read_secret(reader, at, kSubscriptionKeyRule, target.auth));
        break;
    }
  }
  for (std::size_t i = 0; i < kSubscriptionMembers.size(); ++i)
    if (!members.has(i)) return JsonPath(path, kSubscriptionMembers.at(i)).refuse("is missing");
  return {};
}

Result<void> read_member(Member member, JsonReader& reader, const JsonPath& at, Target& target) {
  switch (member) {
    case provider:
      return read_text(reader, at, kProviderRule, target.provider);
    case kind:
      return read_kind(reader, at, target);
    case token:
      return read_secret(reader, at, kTokenRule, target.destination);
    case subscription:
      return read_subscription(reader, at, target);
    case phone:
      return read_secret(reader, at, kPhoneRule, target.destination);
    case email:
      return read_secret(reader, at, kAddressRule, target.destination);
    case url:
      return read_secret(reader, at, kUrlRule, target.destination);
    case registered_at: {
      SO_TRY(target.registered_at, read_time(reader, at));
      return {};
    }
    case ref:
      return read_text(reader, at, kShortIdRule, target.ref);
  }
  SO_ASSERT(false);
}

Result<DestinationForm> read_target(JsonReader& reader, const JsonPath& path, Target& target) {
  if (reader.type() != JsonType::object) return path.refuse("must be an object");
  MemberSet members(kMembers);
  std::optional<DestinationForm> form;
  reader.enter();
  while (reader.next_member()) {
    SO_TRY(const std::size_t member, members.meet(reader.name(), path));
    const auto given = form_of(member);
    if (given && form) return path.refuse(kOneDestination);
    if (given) form = given;
    SO_CHECK(read_member(static_cast<Member>(member), reader, JsonPath(path, kMembers.at(member)),
                         target));
  }
  if (!form) return path.refuse(kOneDestination);
  if (members.has(provider) == members.has(kind)) return path.refuse(kOneProvider);
  if (target.kind && form_for(*target.kind) != *form)
    return JsonPath(path, "kind").refuse("does not take the destination that the target gives");
  return *form;
}

bool belongs(DestinationForm form, Channel channel) {
  switch (form) {
    case DestinationForm::token:
    case DestinationForm::subscription:
      return channel == Channel::push;
    case DestinationForm::phone:
      return channel == Channel::sms;
    case DestinationForm::email:
      return channel == Channel::email;
    case DestinationForm::url:
      return channel == Channel::webhook;
  }
  SO_ASSERT(false);
}

std::string_view needs(Channel channel) {
  switch (channel) {
    case Channel::push:
      return "on channel push a target must have token or subscription";
    case Channel::sms:
      return "on channel sms a target must have phone";
    case Channel::email:
      return "on channel email a target must have email";
    case Channel::webhook:
      return "on channel webhook a target must have url";
    case Channel::in_app:
      break;  // refused before
  }
  SO_ASSERT(false);
}

}  // namespace

std::optional<DestinationForm> form_of(std::size_t member) {
  if (member < token || member > url) return std::nullopt;
  return static_cast<DestinationForm>(member - token);
}

DestinationForm form_for(ProviderKind provider_kind) {
  switch (provider_kind) {
    case ProviderKind::apns:
    case ProviderKind::fcm:
    case ProviderKind::push:
      return DestinationForm::token;
    case ProviderKind::webpush:
      return DestinationForm::subscription;
    case ProviderKind::sms:
      return DestinationForm::phone;
    case ProviderKind::email:
      return DestinationForm::email;
    case ProviderKind::http:
      return DestinationForm::url;
  }
  SO_ASSERT(false);
}

Result<void> read_destination(std::size_t member, JsonReader& reader, const JsonPath& at,
                              Target& target) {
  SO_ASSERT(member < kDestinationMembers.size());
  return read_member(static_cast<Member>(member), reader, at, target);
}

Result<WallTime> read_time(JsonReader& reader, const JsonPath& path) {
  std::optional<WallTime> time;
  if (reader.type() == JsonType::string) {
    std::string scratch;
    time = parse_rfc3339(reader.string(scratch));
  }
  if (!time) return path.refuse("must be an RFC 3339 time, such as 2026-11-01T08:00:00Z");
  return *time;
}

Result<void> read_targets(JsonReader& reader, const JsonPath& path, std::vector<Target>& targets,
                          FirstWith& first_with) {
  if (reader.type() != JsonType::array) return path.refuse("must be an array of 1 to 500 targets");
  reader.enter();
  while (reader.next_element()) {
    if (targets.size() == kMaxTargets) return path.refuse("must be an array of 1 to 500 targets");
    const std::size_t index = targets.size();
    SO_TRY(const DestinationForm form,
           read_target(reader, JsonPath(path, index), targets.emplace_back()));
    auto& first = first_with[static_cast<std::size_t>(form)];
    if (!first) first = index;
  }
  if (targets.empty()) return path.refuse("must be an array of 1 to 500 targets");
  return {};
}

Result<void> check_channel(const FirstWith& first_with, Channel channel, const JsonPath& path) {
  for (const DestinationForm form : kForms) {
    const auto first = first_with[static_cast<std::size_t>(form)];
    if (first && !belongs(form, channel)) return JsonPath(path, *first).refuse(needs(channel));
  }
  return {};
}

void remove_repeated(std::vector<Target>& targets) {
  if (targets.size() < 2) return;
  const auto identity = [&targets](std::size_t i) {
    const Target& t = targets[i];
    return std::tuple<std::string_view, std::string_view, int>(
        t.destination.expose(), t.provider, t.kind ? static_cast<int>(*t.kind) : -1);
  };
  std::vector<std::size_t> order(targets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&identity](std::size_t a, std::size_t b) {
    return std::pair(identity(a), a) < std::pair(identity(b), b);
  });
  std::vector<bool> repeated(targets.size());
  for (std::size_t i = 1; i < order.size(); ++i)
    repeated[order[i]] = identity(order[i - 1]) == identity(order[i]);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (repeated[i]) continue;
    if (kept != i) targets[kept] = std::move(targets[i]);
    ++kept;
  }
  targets.resize(kept);
}

}  // namespace sendonce
