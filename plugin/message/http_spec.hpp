// A provider that is described by configuration alone (kind = "http"): what its request looks like,
// and what each of its answers means. Read by config/keys_http.cpp, obeyed by classifiers/http/.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/core/clock.hpp"
#include "plugin/core/look.hpp"
#include "plugin/core/verdict.hpp"
#include "plugin/message/notification.hpp"
#include "plugin/message/text_template.hpp"

namespace sendonce {

enum class HttpMethod : std::uint8_t { post, put, patch, get };
enum class HttpVersion : std::uint8_t { two, one_one };
enum class HttpAuth : std::uint8_t { none, bearer, basic, header, form, hmac, oauth2, aws_sigv4 };
enum class HmacEncoding : std::uint8_t { hex, base64 };
enum class KeyStyle : std::uint8_t { bare, sf_string };  // sf-string: in double quotes, RFC 8941

struct NamedTemplate {
  std::string name{};
  TextTemplate value{};
  friend bool operator==(const NamedTemplate&, const NamedTemplate&) = default;
};
using NamedTemplates = std::vector<NamedTemplate>;  // in the order of the file

struct JsonTemplate {
  enum class Type : std::uint8_t { object, array, text, literal };
  Type type = Type::object;
  TextTemplate text{};
  std::string literal{};  // true, 5, 2.5
  std::vector<std::string> names{};
  std::vector<JsonTemplate> children{};
  friend bool operator==(const JsonTemplate&, const JsonTemplate&) = default;
};

struct StatusRange {
  int first = 0;
  int last = 0;
  friend bool operator==(const StatusRange&, const StatusRange&) = default;
};

// What an answer looks like. Every condition that is named must hold; of several texts, one.
struct AnswerMatch {
  std::vector<StatusRange> status{};
  std::string pointer{};                     // RFC 6901, into the JSON body
  std::vector<std::string> equals{};         // what stands there, numbers as text
  std::vector<std::string> contains{};       // none of both: that it is there
  std::string header{};                      // a lower-case name
  std::vector<std::string> header_equals{};  // none of both: that it is there
  std::vector<std::string> header_contains{};
  std::vector<std::string> text{};  // somewhere in the body
  friend bool operator==(const AnswerMatch&, const AnswerMatch&) = default;
};

// A line of the table of answers.
struct AnswerRule : AnswerMatch {
  VerdictClass verdict = VerdictClass::ambiguous;
  std::optional<Effect> effect{};     // default: by class
  std::optional<FaultScope> scope{};  // default: by class
  std::string reason{};               // default: what stands at the pointer, or the status
  Duration retry_after{0};
  std::string retry_pointer{};  // seconds, in the JSON body
  std::string retry_header{};   // seconds, or seconds since 1970; a lower-case name
  friend bool operator==(const AnswerRule&, const AnswerRule&) = default;
};

struct HttpAuthSpec {
  HttpAuth type = HttpAuth::none;
  std::string user{};    // basic; aws_sigv4: the access key's id
  std::string header{};  // header, hmac: where it goes
  std::string field{};   // form
  std::string prefix{};  // header, hmac
  TextTemplate sign{};   // hmac: what is signed
  HmacEncoding encoding = HmacEncoding::hex;
  std::string timestamp_header{};  // hmac
  std::string client_id{};         // oauth2
  std::string scope{};             // oauth2
  std::string region{};            // aws_sigv4
  std::string service{};           // aws_sigv4
  friend bool operator==(const HttpAuthSpec&, const HttpAuthSpec&) = default;
};

struct IdempotencySpec {
  std::string header{};  // empty: the provider suppresses no repeat
  KeyStyle style = KeyStyle::bare;
  Duration window{0};
  bool replays_errors = false;
  friend bool operator==(const IdempotencySpec&, const IdempotencySpec&) = default;
};

// A line of the table of a lookup's answers.
struct LookupRule : AnswerMatch {
  Look look = Look::undecided;
  friend bool operator==(const LookupRule&, const LookupRule&) = default;
};

// The GET by which the endpoint is asked what became of a delivery.
struct LookupSpec {
  TextTemplate path{};  // empty: it cannot be asked
  NamedTemplates query{};
  std::string receipt_pointer{};  // into the answer of a lookup
  Duration lag{0};                // until what was sent is found
  Duration window{0};             // for so long after it was sent
  std::vector<LookupRule> answers{};
  friend bool operator==(const LookupSpec&, const LookupSpec&) = default;
};

struct HttpSpec {
  Channel channel = Channel::webhook;
  std::string app{};  // push: behind the credential
  HttpMethod method = HttpMethod::post;
  HttpVersion version = HttpVersion::two;
  TextTemplate path{};               // empty: the target's own URL
  std::vector<std::string> hosts{};  // that a target's URL may name
  NamedTemplates query{};
  NamedTemplates headers{};
  NamedTemplates form{};
  std::optional<JsonTemplate> json{};
  Duration ttl_max{0};  // of {ttl}; 0: none
  HttpAuthSpec auth{};
  IdempotencySpec idempotency{};
  LookupSpec lookup{};
  std::string receipt_pointer{};
  std::string receipt_header{};
  std::vector<AnswerRule> answers{};
  friend bool operator==(const HttpSpec&, const HttpSpec&) = default;
};

}  // namespace sendonce
