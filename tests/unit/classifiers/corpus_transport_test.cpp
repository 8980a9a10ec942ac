#include "classifiers/corpus_transport.hpp"

#include <gtest/gtest.h>

namespace sendonce::test {
namespace {

struct Case {
  const char* json;
  Effect effect;
  Cause cause;
};

CallFailure failure_from(const char* json) {
  return failure_of(read_transport(parse_json_tree(json).value()));
}

TEST(CorpusTransport, cause_and_effect) {
  constexpr Effect kNo = Effect::not_sent;
  constexpr Effect kMaybe = Effect::maybe_sent;
  for (const Case& c : std::vector<Case>{
           {R"({"layer":"curl","code":6,"prereq_calls":0})", kNo, Cause::connect},
           {R"({"layer":"curl","code":28,"prereq_calls":0})", kNo, Cause::connect},
           {R"({"layer":"curl","code":28,"prereq_calls":1})", kMaybe, Cause::timed_out},
           {R"({"layer":"curl","code":28})", kMaybe, Cause::timed_out},
           {R"({"layer":"curl","code":60,"prereq_calls":0})", kNo, Cause::tls},
           {R"({"layer":"curl","code":56,"prereq_calls":0,"connect_code":502})", kNo,
            Cause::connect},
           {R"({"layer":"curl","code":56,"prereq_calls":0,"connect_code":407})", kNo, Cause::tls},
           {R"({"layer":"curl","code":35,"prereq_calls":0,"tls_alert":42})", kNo,
            Cause::client_auth},
           {R"({"layer":"curl","code":52,"prereq_calls":1})", kMaybe, Cause::connection_lost},
           {R"({"layer":"curl","code":42,"prereq_calls":2})", kMaybe, Cause::cancelled},
           {R"({"layer":"curl","code":92,"prereq_calls":1,"h2_error":7})", kNo, Cause::refused},
           {R"({"layer":"curl","code":92,"prereq_calls":1,"h2_error":2})", kMaybe, Cause::reset},
           {R"({"layer":"curl","code":[18,56],"prereq_calls":1})", kMaybe, Cause::connection_lost},
           {R"({"layer":"curl","code":9999})", kMaybe, Cause::connection_lost},
           {R"({"layer":"h2","event":"RST_STREAM","error_code":7})", kNo, Cause::refused},
           {R"({"layer":"h2","event":"RST_STREAM","error_code":8})", kMaybe, Cause::reset},
           {R"({"layer":"h2","event":"GOAWAY","error_code":7})", kMaybe, Cause::connection_lost},
           {R"({"layer":"h2","event":"GOAWAY","last_stream_below_ours":true})", kNo,
            Cause::refused},
           {R"({"layer":"h2","event":"GOAWAY","last_stream_below_ours":false})", kMaybe,
            Cause::connection_lost},
           {R"({"layer":"h2","event":"GOAWAY","in_flight":0})", kNo, Cause::connection_lost},
           {R"({"layer":"h2","event":"ping_timeout"})", kMaybe, Cause::timed_out},
           {R"({"layer":"tls","event":"alert_received","alert":46})", kNo, Cause::client_auth},
           {R"({"layer":"tls","event":"alert_received","alert":40})", kNo, Cause::tls},
           {R"({"layer":"tls","event":"alert_sent","alert":48})", kNo, Cause::tls},
           {R"({"layer":"tls","event":"handshake_timeout"})", kNo, Cause::connect},
           {R"({"layer":"tcp","event":"connect_timeout"})", kNo, Cause::connect},
           {R"({"layer":"tcp","event":"connection_refused"})", kNo, Cause::connect},
           {R"({"layer":"tcp","event":"fin_while_idle"})", kNo, Cause::connect},
           {R"({"layer":"tcp","event":"reset"})", kMaybe, Cause::connection_lost},
           {R"({"layer":"dns","event":"anything"})", kNo, Cause::connect},
           {R"({"layer":"app","event":"response_timeout"})", kMaybe, Cause::timed_out},
           {R"({"layer":"new","event":"new"})", kMaybe, Cause::connection_lost},
           {R"({})", kMaybe, Cause::connection_lost}}) {
    const CallFailure f = failure_from(c.json);
    EXPECT_EQ(f.effect, c.effect) << c.json;
    EXPECT_EQ(f.cause, c.cause) << c.json;
  }
}

TEST(CorpusTransport, a_whole_answer_is_no_failure) {
  const auto failed = [](const char* json) {
    return has_failed(read_transport(parse_json_tree(json).value()));
  };
  EXPECT_FALSE(failed(R"({"layer":"curl","code":0})"));
  EXPECT_TRUE(failed(R"({"layer":"curl","code":18})"));
  EXPECT_TRUE(failed(R"({"layer":"curl"})"));
  EXPECT_TRUE(failed(R"({"layer":"h2","event":"GOAWAY"})"));
}

}  // namespace
}  // namespace sendonce::test
