#include "plugin/broker/nats/publisher.hpp"

#include <optional>
#include <utility>

#include "plugin/broker/nats/publications.hpp"

namespace sendonce {

Result<std::unique_ptr<Publisher>> Publisher::connect(ConnectionOptions options, Duration timeout) {
  std::unique_ptr<Publisher> publisher(new Publisher(timeout));
  if (options.inbox_prefix.empty()) options.inbox_prefix = make_inbox_prefix(options.name);
  options.send_asap = true;  // one call at a time, and each is waited for
  SO_TRY(publisher->connection_, Connection::open(options, *publisher));
  return publisher;
}

Publisher::~Publisher() {
  if (connection_ != nullptr) connection_->close();
}

Result<PubAck> Publisher::publish(const Publication& publication) {
  MessageHeaders headers = publication.headers;
  if (!publication.message_id.empty()) headers.emplace_back("Nats-Msg-Id", publication.message_id);
  SO_TRY(const std::optional<RawMessage> answer,
         connection_->request(publication.subject, headers, publication.body, timeout_));
  if (!answer) return std::unexpected(no_stream_error(publication.subject));
  auto ack = parse_pub_ack(answer->body);
  SO_CHECK(publish_result(publication.subject, ack));
  return *std::move(ack);
}

Result<std::string> Publisher::request(const std::string& subject, std::string_view body) {
  SO_TRY(std::optional<RawMessage> answer, connection_->request(subject, {}, body, timeout_));
  if (!answer)
    return fail(Errc::unavailable, "no answer from " + subject + ": nobody listens there");
  return std::move(answer->body);
}

Result<void> Publisher::subscribe(const std::string& subject) {
  SO_CHECK(connection_->subscribe(subject));
  return connection_->flush(timeout_);
}

Result<std::vector<RawMessage>> Publisher::next(Duration wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return !arrived_.empty() || !ended_.text.empty(); });
  if (arrived_.empty() && !ended_.text.empty()) return std::unexpected(ended_);
  return std::exchange(arrived_, {});
}

void Publisher::on_message(RawMessage message) {
  {
    const std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(message));
  }
  changed_.notify_one();
}

void Publisher::on_event(ConnectionEvent event, std::string text) {
  if (event != ConnectionEvent::closed && event != ConnectionEvent::denied) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = event == ConnectionEvent::denied
                 ? Error{Errc::denied, std::move(text)}
                 : Error{Errc::unavailable, "the NATS connection was closed"};
  }
  changed_.notify_one();
}

}  // namespace sendonce
