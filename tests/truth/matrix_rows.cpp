#include "tests/truth/matrix_rows.hpp"

#include <utility>

namespace sendonce::truth {
namespace {

// To the first so many requests of every message.
std::string first(const std::string& nth, const std::string& what) {
  return "[[rule]]\nprovider = \"apns\"\nper_token = true\nnth = " + nth + "\n" + what + "\n";
}

constexpr const char* kOnce = "[1]";
constexpr const char* kTwice = "[1, 2]";
// To have many in flight.
constexpr const char* kSlow = "[[rule]]\nprovider = \"apns\"\ndelay = \"20ms\"\n";

std::vector<Row> streams_and_connections() {
  return {
      {.fault = "none", .script = ""},
      {.fault = "taken, connection closed before the answer, twice",
       .script = first(kTwice, "close = \"fin\"\nprocessed = true"),
       .messages = 1,
       .loses_answers = true},
      {.fault = "taken, connection reset before the answer, twice",
       .script = first(kTwice, "close = \"rst\"\nprocessed = true"),
       .messages = 1,
       .loses_answers = true},
      {.fault = "taken, RST_STREAM INTERNAL_ERROR, twice",
       .script = first(kTwice, "reset = \"INTERNAL_ERROR\"\nprocessed = true"),
       .loses_answers = true},
      {.fault = "RST_STREAM REFUSED_STREAM, twice",
       .script = first(kTwice, "reset = \"REFUSED_STREAM\"\nprocessed = false")},
      {.fault = "GOAWAY in a burst of 2,000 with 200 in flight",
       .script = std::string("[[rule]]\nprovider = \"apns\"\nnth = [900]\n"
                             "goaway = { last = \"below\", reason = \"Shutdown\" }\n") +
                 kSlow,
       .messages = 1'000},
      {.fault = "MAX_CONCURRENT_STREAMS lowered to 1 with 100 in flight",
       .script = std::string("[[rule]]\nprovider = \"apns\"\nnth = [100]\n"
                             "settings = { max_concurrent_streams = 1 }\n"
                             "[[rule]]\nprovider = \"apns\"\nnth = [150]\n"
                             "settings = { max_concurrent_streams = 1000 }\n") +
                 kSlow,
       .messages = 100},
      {.fault = "taken, never answered",
       .script = first(kOnce, "stall = \"stream\"\nprocessed = true"),
       .loses_answers = true},
      {.fault = "not taken, never answered",
       .script = first(kOnce, "stall = \"stream\"\nprocessed = false")},
      {.fault = "reads and writes nothing any more",
       .script = "[[rule]]\nprovider = \"apns\"\nnth = [1]\nstall = \"connection\"\n"
                 "processed = false\n",
       .messages = 1},
  };
}

std::vector<Row> answers() {
  using std::chrono::milliseconds;
  return {
      {.fault = "429 with Retry-After: 2, twice",
       .script = first(kTwice,
                       "status = 429\nreason = \"TooManyRequests\"\n"
                       "headers = { retry-after = \"2\" }"),
       .at_least = milliseconds(3'900)},
      {.fault = "503 with Retry-After: 2, twice",
       .script = first(kTwice,
                       "status = 503\nreason = \"ServiceUnavailable\"\n"
                       "headers = { retry-after = \"2\" }"),
       .at_least = milliseconds(3'900)},
      {.fault = "taken, answered 500",
       .script = first(kOnce, "status = 500\nreason = \"InternalServerError\"\nprocessed = true"),
       .loses_answers = true},
      {.fault = "not taken, answered 500, then 410",
       .script = first("[1]", "status = 500\nreason = \"InternalServerError\"") +
                 first("[1]", "status = 410\nreason = \"Unregistered\""),
       .refuses = true},
      {.fault = "410, the device is gone",
       .script = first(kOnce, "status = 410\nreason = \"Unregistered\""),
       .refuses = true},
      {.fault = "400, the message is refused",
       .script = first(kOnce, "status = 400\nreason = \"BadCollapseId\""),
       .refuses = true},
      {.fault = "taken, answer cut in its header",
       .script = first(kOnce, "cut = \"headers\""),
       .messages = 1,
       .loses_answers = true},
      {.fault = "not taken, 503 cut in its body",
       .script = first(kOnce,
                       "status = 503\nreason = \"ServiceUnavailable\"\n"
                       "cut = \"body\"\ncut_at = 3"),
       .messages = 1},
  };
}

std::vector<Row> places() {
  return {
      {.fault = "the provider is away", .place = Place::away},
      {.fault = "its name does not resolve", .place = Place::no_name},
      {.fault = "TLS alert in the handshake", .place = Place::tls_alert},
      {.fault = "certificate of a foreign CA", .place = Place::foreign_ca},
      {.fault = "proxy answers CONNECT with 503", .place = Place::proxy_refuses},
      {.fault = "proxy closes at CONNECT", .place = Place::proxy_closes},
  };
}

}  // namespace

std::vector<Row> matrix_rows() {
  std::vector<Row> all;
  for (auto* const part : {streams_and_connections, answers, places}) {
    for (Row& row : part()) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace sendonce::truth
