#include <algorithm>
#include <charconv>
#include <optional>

#include "plugin/core/ascii.hpp"
#include "tests/support/connection.hpp"

namespace sendonce::test {
namespace {

constexpr std::size_t kMaxHead = 64U << 10U;
constexpr std::size_t kMaxBody = 1U << 20U;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Takes one line with its CR LF from `rest`.
std::string_view line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 2));
  return out;
}

// RFC 9112 as far as our clients use it: no chunked request bodies, no trailers.
bool parse_head(std::string_view head, Request& request) {
  const std::string_view start = line(head);
  const std::size_t first = start.find(' ');
  const std::size_t second = start.rfind(' ');
  if (first == std::string_view::npos || first == second) return false;
  if (start.substr(second + 1) != "HTTP/1.1") return false;
  request.method = start.substr(0, first);
  request.path = start.substr(first + 1, second - first - 1);
  while (!head.empty()) {
    const std::string_view field = line(head);
    const std::size_t colon = field.find(':');
    if (colon == std::string_view::npos) return false;
    request.headers.add(lower_ascii(field.substr(0, colon)), trimmed(field.substr(colon + 1)));
  }
  return true;
}

std::optional<std::size_t> body_size(const Request& request) {
  if (request.headers.find("transfer-encoding")) return std::nullopt;
  const std::string_view text = request.headers.find("content-length").value_or("0");
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc{} || end != text.data() + text.size() || size > kMaxBody) {
    return std::nullopt;
  }
  return size;
}

class H1Protocol final : public Protocol {
 public:
  H1Protocol(std::uint64_t connection, Wire& wire, ServerContext& context)
      : connection_(connection), wire_(wire), context_(context) {}

  bool receive(std::string_view bytes) override {
    in_.append(bytes);
    return proceed();
  }
  void produce() override {}
  void release(std::int32_t stream) override {
    if (stream != count_ || phase_ != Phase::answering) return;
    play();
    static_cast<void>(proceed());
  }
  [[nodiscard]] bool finished() const override { return false; }

 private:
  enum class Phase : std::uint8_t { head, body, answering };

  bool proceed();
  bool take_head();
  void take_body();
  void answer();
  void play();
  void respond();

  std::uint64_t connection_;
  Wire& wire_;
  ServerContext& context_;
  std::string in_{};
  Phase phase_ = Phase::head;
  std::int32_t count_ = 0;
  std::size_t body_size_ = 0;
  Request request_{};
  Reply reply_{};
};

bool H1Protocol::proceed() {
  while (!wire_.closing && !wire_.deaf) {
    if (phase_ == Phase::answering) return in_.size() <= kMaxHead + kMaxBody;
    if (phase_ == Phase::head) {
      if (in_.find("\r\n\r\n") == std::string::npos) return in_.size() <= kMaxHead;
      if (!take_head()) return false;
    } else {
      if (in_.size() < body_size_) return true;
      take_body();
    }
  }
  return true;
}

bool H1Protocol::take_head() {
  const std::size_t end = in_.find("\r\n\r\n");
  request_.clear();
  reply_.clear();
  request_.connection = connection_;
  request_.stream = ++count_;
  request_.h2 = false;
  request_.arrived = context_.now;
  if (!parse_head(std::string_view(in_).substr(0, end + 2), request_)) return false;
  in_.erase(0, end + 4);
  const std::optional<std::size_t> size = body_size(request_);
  if (!size) return false;
  body_size_ = *size;
  phase_ = Phase::body;
  if (context_.handler.on_headers(request_, reply_)) {
    wire_.closing = reply_.play.ending == Ending::answer && reply_.play.delay == Duration::zero();
    answer();
  } else if (lower_ascii(request_.headers.find("expect").value_or("")) == "100-continue") {
    wire_.out += "HTTP/1.1 100 Continue\r\n\r\n";
  }
  return true;
}

void H1Protocol::take_body() {
  request_.body.assign(in_, 0, body_size_);
  in_.erase(0, body_size_);
  ++context_.totals.requests;
  context_.handler.on_request(request_, reply_);
  answer();
}

void H1Protocol::answer() {
  phase_ = Phase::answering;
  if (reply_.play.delay > Duration::zero()) {
    context_.release_later(reply_.play.delay, connection_, count_);
  } else {
    play();
  }
}

void H1Protocol::play() {
  const Play& how = reply_.play;
  if (how.interim != 0) wire_.out += "HTTP/1.1 " + std::to_string(how.interim) + " Interim\r\n\r\n";
  switch (how.ending) {
    case Ending::answer:
      respond();
      phase_ = Phase::head;
      if (how.goaway) wire_.closing = true;
      break;
    case Ending::stall:
      break;
    case Ending::deaf:
      wire_.deaf = true;
      break;
    case Ending::reset:
    case Ending::abort:
      wire_.aborting = true;
      wire_.closing = true;
      break;
    case Ending::close:
    case Ending::cut_headers:
    case Ending::cut_body:
      if (how.ending != Ending::close) respond();
      wire_.closing = true;
      break;
  }
}

void H1Protocol::respond() {
  std::string head = "HTTP/1.1 " + std::to_string(reply_.status) + " \r\n";
  for (std::size_t i = 0; i < reply_.headers.size(); ++i) {
    const Headers::Field f = reply_.headers[i];
    head.append(f.name).append(": ").append(f.value).append("\r\n");
  }
  head += "content-length: " + std::to_string(reply_.body.size()) + "\r\n\r\n";
  if (reply_.play.ending == Ending::cut_headers) {
    wire_.out += head.substr(0, head.size() / 2);
    return;
  }
  const bool cut = reply_.play.ending == Ending::cut_body;
  wire_.out += head + reply_.body.substr(0, cut ? reply_.play.cut_at : std::string::npos);
}

}  // namespace

std::unique_ptr<Protocol> make_h1_protocol(std::uint64_t connection, Wire& wire,
                                           ServerContext& context) {
  return std::make_unique<H1Protocol>(connection, wire, context);
}

}  // namespace sendonce::test
