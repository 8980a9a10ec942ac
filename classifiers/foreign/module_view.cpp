#include "classifiers/foreign/module_view.hpp"

#include "classifiers/foreign/module_table.hpp"
#include "plugin/core/text.hpp"
#include "plugin/message/key.hpp"

namespace sendonce {
namespace {

std::int32_t abi_cause(Cause cause) {
  switch (cause) {
    case Cause::connect:
      return SENDONCE_CAUSE_CONNECT;
    case Cause::tls:
      return SENDONCE_CAUSE_TLS;
    case Cause::client_auth:
      return SENDONCE_CAUSE_CLIENT_AUTH;
    case Cause::refused:
      return SENDONCE_CAUSE_REFUSED;
    case Cause::reset:
      return SENDONCE_CAUSE_RESET;
    case Cause::connection_lost:
      return SENDONCE_CAUSE_CONNECTION_LOST;
    case Cause::timed_out:
      return SENDONCE_CAUSE_TIMED_OUT;
    case Cause::cancelled:
      return SENDONCE_CAUSE_CANCELLED;
    case Cause::oversized:
      return SENDONCE_CAUSE_OVERSIZED;
    case Cause::not_started:
      return SENDONCE_CAUSE_NOT_STARTED;
  }
  SO_ASSERT(false);
}

}  // namespace

std::int32_t abi_channel(Channel channel) {
  switch (channel) {
    case Channel::sms:
      return SENDONCE_CHANNEL_SMS;
    case Channel::email:
      return SENDONCE_CHANNEL_EMAIL;
    case Channel::webhook:
      return SENDONCE_CHANNEL_WEBHOOK;
    case Channel::push:
    case Channel::in_app:
      break;
  }
  return 0;
}

std::int64_t abi_time(std::optional<WallTime> time) {
  if (!time) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time->time_since_epoch()).count();
}

sendonce_target view_of(const Target& target, Channel channel) {
  return {.struct_size = sizeof(sendonce_target),
          .channel = abi_channel(channel),
          .registered_at_ns = abi_time(target.registered_at),
          .destination = lent(target.destination.expose()),
          .ref = lent(target.ref)};
}

DeliveryView::DeliveryView(const Attempt& attempt, Channel channel, WallTime now)
    : key_(hex(attempt.key.view())),
      nid_(uuid_text(nid_from(attempt.nid).bytes)),
      target_(view_of(attempt.target, channel)) {
  const Notification& note = attempt.notification;
  for (const auto& [name, value] : note.content.data) data_.push_back({lent(name), lent(value)});
  view_ = {.struct_size = sizeof view_,
           .reserved0 = 0,
           .now_ns = abi_time(now),
           .deadline_ns = abi_time(attempt.deadline),
           .target = &target_,
           .key = lent(key_),
           .nid = lent(nid_),
           .collapse = lent(attempt.collapse),
           .event_id = lent(note.event_id),
           .recipient = lent(note.recipient),
           .template_id = lent(note.template_id),
           .campaign_id = lent(note.campaign_id),
           .title = lent(note.content.title),
           .body = lent(note.content.body),
           .html = lent(note.content.html),
           .data = data_.data(),
           .data_count = data_.size()};
}

AnswerView::AnswerView(const CallResult& result, WallTime now) : view_(bare(0, now)) {
  if (const auto* answer = std::get_if<HttpAnswer>(&result)) {
    add(*answer);
    return;
  }
  const auto& failure = std::get<CallFailure>(result);
  view_.cause = abi_cause(failure.cause);
  view_.effect =
      failure.effect == Effect::not_sent ? SENDONCE_EFFECT_NOT_SENT : SENDONCE_EFFECT_MAYBE_SENT;
  if (failure.partial) add(*failure.partial);
}

sendonce_answer AnswerView::bare(int status, WallTime now) {
  sendonce_answer out{};
  out.struct_size = sizeof out;
  out.status = status;
  out.now_ns = abi_time(now);
  return out;
}

void AnswerView::add(const HttpAnswer& answer) {
  view_.status = answer.status;
  for (const auto header : answer.headers)
    headers_.push_back({lent(header.name), lent(header.value), 0, 0});
  view_.headers = headers_.data();
  view_.header_count = headers_.size();
  view_.body = lent(answer.body);
}

}  // namespace sendonce
