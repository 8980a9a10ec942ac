#include "plugin/broker/nats/setup.hpp"

#include <optional>

#include "plugin/broker/nats/api_json.hpp"

namespace sendonce {
namespace {

std::string said(const ApiError& error) {
  return (error.err_code != 0 ? std::to_string(error.err_code) + " " : "") + error.description;
}

// What exists, nothing when it does not, or why nobody knows.
template <class T>
Result<std::optional<T>> existing(ApiAnswer<T> answer, const std::string& object) {
  if (answer) return std::optional<T>(*std::move(answer));
  const int code = answer.error().err_code;
  if (code == js_error::kStreamNotFound || code == js_error::kConsumerNotFound)
    return std::optional<T>();
  return fail(Errc::invalid, "cannot read " + object + ": " + said(answer.error()));
}

}  // namespace

Result<SetupPresent> Setup::read(const SetupRequest& request) {
  SetupPresent present;
  const auto read_stream = [&](const std::string& name) -> Result<void> {
    if (present.streams.contains(name)) return {};
    SO_TRY(const std::string body, client_.request(api_prefix_ + ".STREAM.INFO." + name, {}));
    SO_TRY(auto found, existing(parse_stream_info(body), "stream " + name));
    if (found) present.streams.emplace(name, *std::move(found));
    return {};
  };
  for (const DesiredStream& stream : request.streams) SO_CHECK(read_stream(stream.name));
  for (const DesiredConsumer& consumer : request.consumers) {
    SO_CHECK(read_stream(consumer.stream));
    // Of a stream that does not exist there is nothing to ask, and 2.9 would not answer.
    if (!present.streams.contains(consumer.stream)) continue;
    const std::string name = consumer.stream + "." + consumer.durable;
    SO_TRY(const std::string body, client_.request(api_prefix_ + ".CONSUMER.INFO." + name, {}));
    SO_TRY(auto found, existing(parse_consumer_info(body), "consumer " + name));
    if (found)
      present.consumers.emplace(std::pair(consumer.stream, consumer.durable), *std::move(found));
    else
      SO_CHECK(read_held(consumer.filter_subject, present.streams.at(consumer.stream)));
  }
  return present;
}

Result<void> Setup::read_held(const std::string& filter, StreamInfo& stream) {
  if (stream.messages == 0) return {};
  const std::string request = "{\"subjects_filter\":" + json_text(filter) + "}";
  SO_TRY(const std::string body,
         client_.request(api_prefix_ + ".STREAM.INFO." + stream.name, request));
  SO_TRY(const auto found, existing(parse_stream_info(body), "stream " + stream.name));
  if (found && !found->matching) stream.without.push_back(filter);
  return {};
}

Result<SetupPlan> Setup::plan(const SetupRequest& request) {
  SO_TRY(const SetupPresent present, read(request));
  return plan_setup(request, present);
}

Result<void> Setup::apply(const SetupRequest& request, const SetupPlan& plan) {
  for (const SetupChange& change : plan.changes)
    if (change.action == ChangeAction::refuse)
      return fail(Errc::invalid, change.object + ": " + change.text);
  for (const SetupCall& call : plan.calls) {
    SO_TRY(const std::string answer, client_.request(api_prefix_ + "." + call.api, call.body));
    if (const auto error = parse_api_error(answer))
      return fail(Errc::invalid, call.object + ": the server refuses: " + said(*error));
  }
  SO_TRY(const SetupPlan rest, this->plan(request));
  for (const SetupChange& change : rest.changes)
    if (change.action != ChangeAction::none)
      return fail(Errc::invalid, change.object + ": the server did not set " + change.field +
                                     " to " + change.to + "; it may be too old for it");
  return {};
}

}  // namespace sendonce
