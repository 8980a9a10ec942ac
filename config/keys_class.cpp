// The keys of [class.NAME] and [defaults.class].
#include <array>

#include "config/key_spec.hpp"

namespace sendonce {
namespace {

using namespace std::chrono_literals;
using C = ClassConfig;
using R = RetryConfig;

constexpr Duration kDay = 24h;
constexpr Duration kYear = 365 * kDay;

template <Channel Of>
constexpr KeySpec<C> policy_key(std::string_view path, std::string_view doc) {
  return {
      {.path = path, .doc = doc, .reload = OnReload::now, .default_words = "`ambiguous.default`"},
      KeyType::choice,
      {},
      names_of(AmbiguityPolicy{}),
      [](C& out, const TomlNode& node, const Bounds&) {
        return keys::read_enum(out.ambiguous[Of], node);
      },
      [](const C& from) {
        const auto found = from.ambiguous.find(Of);
        return found == from.ambiguous.end() ? std::string{}
                                             : toml_text(choice_text(found->second));
      }};
}

template <Channel Of>
constexpr KeySpec<C> route_key(std::string_view path, std::string_view doc,
                               std::string_view default_words = {}) {
  return {
      {.path = path, .doc = doc, .reload = OnReload::now, .default_words = default_words},
      KeyType::texts,
      {},
      {},
      [](C& out, const TomlNode& node, const Bounds&) { return read_texts(out.route[Of], node); },
      [](const C& from) {
        const auto found = from.route.find(Of);
        return found == from.route.end() ? std::string{} : toml_texts(found->second);
      }};
}

constexpr std::array kKeys{
    keys::text<keys::Path<&C::stream>>(
        {.path = "stream", .doc = "The JetStream stream that holds the messages."}),
    keys::text<keys::Path<&C::subject>>(
        {.path = "subject",
         .doc = "The messages of this class: a subject, with wildcards if need be. No two classes "
                "may share one.",
         .choose = "name the class's subject, for example notify.otp.>"}),
    keys::text<keys::Path<&C::key_scope>>(
        {.path = "key_scope",
         .doc = "Names the class's table in the ledger and its consumer `sendonce_<scope>`. To "
                "rename a class, set it to the old name.",
         .default_words = "the class's name"}),
    keys::texts<keys::Path<&C::key>>(
        {.path = "key",
         .doc = "The fields that make two messages the same notification. The destination is "
                "always part of the key. Campaigns: `[\"campaign_id\", \"template\"]`."}),
    keys::texts<keys::Path<&C::key_previous>>(
        {.path = "key_previous",
         .doc =
             "After a change of `key`: the old recipe, for `expires` and `retention` after it. A "
             "hit on either counts.",
         .default_words = "none"}),
    keys::choice<keys::Path<&C::priority>>(
        {.path = "priority",
         .doc = "`high` may use the last quarter of queues, streams and rates.",
         .reload = OnReload::now}),
    keys::duration<keys::Path<&C::expires>>(
        {.path = "expires",
         .doc = "No attempt starts later than this after the message was stored.",
         .reload = OnReload::now,
         .choose = "choose how old a message may be when it is sent, for example \"24h\""},
        between(1s, kYear)),
    keys::duration<keys::Path<&C::claim>>(
        {.path = "claim",
         .doc = "How long one attempt may own a delivery. At least the longest `call.total` and "
                "7 s.",
         .reload = OnReload::now},
        between(1s, 1h)),
    keys::duration<keys::Path<&C::retention>>(
        {.path = "retention",
         .doc = "How long the ledger remembers how a delivery ended: longer than anything could "
                "bring the message back.",
         .reload = OnReload::now,
         .choose = "choose how long a repeat must be recognised, for example \"11d\""},
        between(1min, 10 * kYear)),
    keys::duration<keys::Path<&C::replay>>(
        {.path = "replay",
         .doc = "The longest time after which somebody may publish messages again, say after an "
                "incident.",
         .reload = OnReload::now},
        between(0s, 10 * kYear)),
    keys::duration<keys::Path<&C::ack_wait>>(
        {.path = "ack_wait",
         .doc = "The consumer's ack deadline; extended every third of it while a message is "
                "held."},
        between(3s, 1h)),
    keys::integer<keys::Path<&C::in_flight>>(
        {.path = "in_flight",
         .doc = "Messages of this class that are worked on at a time.",
         .reload = OnReload::now},
        {1, 100'000}),
    keys::integer<keys::Path<&C::max_ack_pending>>(
        {.path = "max_ack_pending",
         .doc = "The consumer's limit of messages delivered and not acked, waiting ones "
                "included."},
        {1, 10'000'000}),
    keys::duration<keys::Path<&C::retry, &R::first>>(
        {.path = "retry.first",
         .doc = "Longest wait before the first repeat. Every wait is drawn at random from 0 to "
                "its longest.",
         .reload = OnReload::now},
        between(10ms, 1h)),
    keys::number<keys::Path<&C::retry, &R::factor>>(
        {.path = "retry.factor",
         .doc = "Growth of the wait from one repeat to the next.",
         .reload = OnReload::now},
        {1000, 10'000}),
    keys::duration<keys::Path<&C::retry, &R::cap>>(
        {.path = "retry.cap", .doc = "The longest wait of all.", .reload = OnReload::now},
        between(10ms, kDay)),
    keys::integer<keys::Path<&C::retry, &R::attempts>>(
        {.path = "retry.attempts",
         .doc = "Attempts in all. Those that fail for our credentials, our configuration or a "
                "rate limit are not counted.",
         .reload = OnReload::now},
        {1, 1000}),
    keys::duration<keys::Path<&C::retry, &R::horizon>>(
        {.path = "retry.horizon",
         .doc = "No repeat starts later than this after the message was stored.",
         .reload = OnReload::now},
        between(1s, kYear)),
    keys::choice<keys::Path<&C::ambiguous_default>>(
        {.path = "ambiguous.default",
         .doc = "What to do when nobody knows whether an attempt reached the person. `resend`: "
                "try again, a person may get it twice. `give-up`: end as unknown, a person may "
                "not get it at all. `resend-with-key` and `lookup` need a provider that can.",
         .reload = OnReload::now,
         .choose = "choose resend (a person may get it twice) or give-up (a person may not get "
                   "it)"}),
    policy_key<Channel::push>("ambiguous.push", "The same for push alone."),
    policy_key<Channel::sms>("ambiguous.sms", "The same for SMS alone."),
    policy_key<Channel::email>("ambiguous.email", "The same for e-mail alone."),
    policy_key<Channel::webhook>("ambiguous.webhook", "The same for webhooks alone."),
    route_key<Channel::push>("route.push",
                             "The providers that push messages of this class may use. The kind of "
                             "the device token chooses among them.",
                             "**mandatory**: one channel at least"),
    route_key<Channel::sms>(
        "route.sms", "The providers that SMS of this class may use, in the order of failover."),
    route_key<Channel::email>(
        "route.email",
        "The providers that e-mails of this class may use, in the order of failover."),
    route_key<Channel::webhook>("route.webhook",
                                "The providers that webhooks of this class may use."),
    keys::text<keys::Path<&C::collapse>>(
        {.path = "collapse",
         .doc = "A later notification with the same text replaces an earlier one on the device. "
                "Fields in braces: `{event_id}`, `{recipient}`, `{channel}`, `{template}`, "
                "`{campaign_id}`.",
         .reload = OnReload::now,
         .default_words = "one of its own for each notification"}),
    keys::choice<keys::Path<&C::events>>(
        {.path = "events",
         .doc = "`all`: an event for every outcome. `exceptions`: none for accepted ones.",
         .reload = OnReload::now}),
    keys::rate<keys::Path<&C::rate_per_second>>({.path = "rate",
                                                 .doc = "The most that is sent of this class.",
                                                 .reload = OnReload::now,
                                                 .default_words = "no limit"}),
};

}  // namespace

std::span<const KeySpec<ClassConfig>> class_keys() {
  return kKeys;
}

}  // namespace sendonce
