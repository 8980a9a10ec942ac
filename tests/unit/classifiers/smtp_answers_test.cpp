// What the replies of mail servers mean, at each command.
#include "classifiers/smtp/smtp_answers.hpp"

#include <gtest/gtest.h>

#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using V = VerdictClass;

HttpAnswer reply(const std::string& text, MailStep step = MailStep::recipient) {
  HttpAnswer a = answer(std::stoi(text.substr(0, 3)), text);
  a.step = step;
  return a;
}

Verdict judge(const std::string& text, MailStep step = MailStep::recipient) {
  return judge_smtp(CallResult(reply(text, step)));
}

struct Case {
  const char* text = "";
  MailStep step = MailStep::recipient;
  VerdictClass name = VerdictClass::ambiguous;
  FaultScope scope = FaultScope::delivery;
};

TEST(SmtpAnswers, each_has_its_verdict) {
  using M = MailStep;
  using S = FaultScope;
  const Case cases[] = {
      {"550 5.1.1 no such user", M::recipient, V::token_terminal, S::device},
      {"550-5.1.1 no such\n550 5.1.1 user", M::recipient, V::token_terminal, S::device},
      {"550 5.1.2 bad host", M::recipient, V::token_terminal, S::device},
      {"501 5.1.3 bad syntax", M::recipient, V::token_terminal, S::device},
      {"551 5.1.6 moved", M::recipient, V::token_terminal, S::device},
      {"556 5.1.10 null MX", M::recipient, V::token_terminal, S::device},
      {"550 5.2.1 account is disabled", M::recipient, V::token_terminal, S::device},
      {"550 5.2.1 disabled", M::message, V::payload_error, S::delivery},
      {"521 5.2.1 will not accept delivery", M::recipient, V::payload_error, S::delivery},
      {"550 5.1.2 bad host in a link", M::message, V::payload_error, S::delivery},
      {"550 5.4.5 Daily user sending limit exceeded", M::message, V::throttled, S::provider},
      {"550 Daily SMTP relay limit exceeded", M::recipient, V::throttled, S::provider},
      {"550 message size limit exceeded", M::message, V::payload_error, S::delivery},
      {"451 4.3.0 queue file write error", M::message, V::retryable, S::delivery},
      {"451 lookup failure", M::sender, V::retryable, S::delivery},
      {"521 no mail here", M::recipient, V::payload_error, S::delivery},
      // Not of a recipient, whatever its number.
      {"553 5.1.3 bad sender", M::sender, V::config_error, S::provider},
      {"550 5.1.1 no", M::sender, V::config_error, S::provider},
      {"521 no mail here", M::greeting, V::config_error, S::provider},
      {"550 5.1.8 sender's domain", M::recipient, V::config_error, S::provider},
      {"550 5.1.7 sender's mailbox", M::message, V::config_error, S::provider},
      {"554 no SMTP service here", M::greeting, V::config_error, S::provider},
      {"502 no EHLO", M::hello, V::config_error, S::provider},
      {"535 5.7.8 no", M::auth, V::provider_auth, S::provider},
      {"534 5.7.9 stronger", M::auth, V::provider_auth, S::provider},
      {"530 5.7.0 log in first", M::sender, V::provider_auth, S::provider},
      {"538 5.7.11 encrypt", M::auth, V::provider_auth, S::provider},
      {"454 4.7.0 temporary", M::auth, V::provider_auth, S::provider},
      {"550 5.7.1 Relay access denied", M::recipient, V::config_error, S::delivery},
      {"550 the from address does not match a verified Sender Identity", M::message,
       V::config_error, S::delivery},
      {"550 unauthenticated senders not allowed", M::message, V::provider_auth, S::provider},
      {"554 5.7.1 looks like spam", M::message, V::payload_error, S::delivery},
      {"552 5.3.4 too large", M::sender, V::payload_error, S::delivery},
      {"552 too large", M::message, V::payload_error, S::delivery},
      {"554 failed", M::message, V::payload_error, S::delivery},
      {"550 no", M::recipient, V::payload_error, S::delivery},
      {"550 5.4.1 access denied", M::recipient, V::payload_error, S::delivery},
      {"501 syntax", M::recipient, V::config_error, S::delivery},
      {"421 busy", M::greeting, V::retryable, S::delivery},
      {"454 4.7.0 no TLS now", M::hello, V::retryable, S::delivery},
      {"452 4.3.1 full", M::sender, V::throttled, S::provider},
      {"452 4.5.3 too many", M::recipient, V::throttled, S::provider},
      {"454 Throttling failure: Daily message quota exceeded", M::message, V::throttled,
       S::provider},
      {"451 Authentication failed: Maximum credits exceeded", M::auth, V::config_error,
       S::provider},
      {"450 mailbox busy", M::recipient, V::retryable, S::delivery},
      {"250 2.0.0 Ok", M::message, V::accepted, S::delivery},
  };
  for (const Case& c : cases) {
    const Verdict v = judge(c.text, c.step);
    EXPECT_EQ(name(v.name), name(c.name)) << c.text;
    EXPECT_EQ(name(v.scope), name(c.scope)) << c.text;
    EXPECT_EQ(v.effect, c.name == V::accepted ? Effect::sent : Effect::not_sent) << c.text;
  }
}

// A greylist is not the provider's trouble: a thousand of its answers open no breaker.
TEST(SmtpAnswers, a_recipient_that_says_later_waits_and_nothing_else) {
  for (const char* text : {"451 4.7.1 Greylisted", "450 4.2.0 greylisted", "451 try later",
                           "422 4.2.2 Greylisted, please try again in a few moments."}) {
    const Verdict v = judge(text);
    EXPECT_EQ(name(v.name), name(V::retryable)) << text;
    EXPECT_EQ(v.fault, Fault::none) << text;
    EXPECT_EQ(v.retry_after, minutes(5)) << text;
  }
  EXPECT_EQ(judge("452 4.2.2 mailbox full").retry_after, minutes(30));
  const Verdict full = judge("552 5.2.2 mailbox full");
  EXPECT_EQ(name(full.name), name(V::retryable));
  EXPECT_EQ(full.fault, Fault::none);
  EXPECT_EQ(judge("421 busy").fault, Fault::provider);
}

TEST(SmtpAnswers, the_receipt_is_the_queue_id) {
  const auto id = [](const char* text) { return judge(text, MailStep::message).message_id; };
  EXPECT_EQ(id("250 2.0.0 Ok: queued as 4XYZ123abc"), "4XYZ123abc");
  EXPECT_EQ(id("250 OK id=1rAbCd-000Xy1-2z"), "1rAbCd-000Xy1-2z");
  EXPECT_EQ(id("250 Ok 0100018f0a1b2c3d-abc-000000"), "0100018f0a1b2c3d-abc-000000");
  EXPECT_EQ(id("250 2.0.0 Ok: queued as <4XYZ123abc>"), "4XYZ123abc");
  EXPECT_EQ(id("250 OK"), "");
  EXPECT_EQ(id("250 Message for someone1@example.net taken"), "");
  EXPECT_EQ(name(judge("250 OK", MailStep::message).name), name(V::accepted));
}

// Without its command a 2xx is accepted only with an id in it.
TEST(SmtpAnswers, a_recorded_2xx_needs_an_id) {
  EXPECT_EQ(name(judge("250 OK", MailStep::none).name), name(V::ambiguous));
  EXPECT_TRUE(judge("250 OK", MailStep::none).receipt_missing);
  EXPECT_EQ(name(judge("250 2.0.0 Ok: queued as 4XYZ123abc", MailStep::none).name),
            name(V::accepted));
  HttpAnswer form = answer(200, "MessageSid=SM0123456789abcdef&MessageStatus=undelivered");
  EXPECT_EQ(name(judge_smtp(CallResult(form)).name), name(V::ambiguous)) << "no reply";
  EXPECT_EQ(name(judge("250 2.0.0 Ok: queued as 4XYZ123abc", MailStep::recipient).name),
            name(V::ambiguous));
}

// The text may quote the recipient.
TEST(SmtpAnswers, a_reason_never_quotes_the_server) {
  const Verdict v = judge("550 5.1.1 <someone@example.net> is unknown");
  EXPECT_EQ(v.reason, "smtp_550 5.1.1 to RCPT");
}

TEST(SmtpAnswers, a_status_of_another_class_than_the_code_counts_for_nothing) {
  EXPECT_EQ(name(judge("450 5.1.1 no such user").name), name(V::retryable));
  EXPECT_EQ(name(judge("550 4.1.1 no such user").name), name(V::payload_error));
}

// No system, no form, moved: a relay that is set up badly says so of any address.
TEST(SmtpAnswers, what_may_be_the_relays_own_trouble_needs_proof) {
  for (const char* text : {"550 5.1.2 bad system", "553 5.1.3 bad syntax", "551 5.1.6 moved"}) {
    const Verdict v = judge(text);
    EXPECT_EQ(name(v.name), name(V::token_terminal)) << text;
    EXPECT_TRUE(v.needs_proof) << text;
    EXPECT_EQ(name(in_light_of(v, false).name), name(V::token_mismatch)) << text;
  }
  for (const char* text : {"550 5.1.1 no such user", "556 5.1.10 null MX"})
    EXPECT_FALSE(judge(text).needs_proof) << text;
}

TEST(SmtpAnswers, no_damage_ends_an_address) {
  const std::string whole = "550 5.1.1 no such user";
  for (std::size_t cut = 0; cut < 9; ++cut)
    EXPECT_NE(judge_smtp(CallResult(reply(whole))).name, judge_smtp([&] {
                                                           HttpAnswer a = reply(whole);
                                                           a.body.resize(cut);
                                                           return CallResult(a);
                                                         }())
                                                             .name)
        << cut;
  for (const char* text : {"550 5.1.10000 x", "550 5.1.1x", "550 5.1", "550 5..1 x", "550  5.1.1 x",
                           "551 5.1.1", "550 15.1.1 x"}) {
    HttpAnswer a = reply(whole);
    a.body = text;
    EXPECT_NE(name(judge_smtp(CallResult(a)).name), name(V::token_terminal)) << text;
  }
}

TEST(SmtpAnswers, every_code_at_every_step_has_a_verdict) {
  for (int code = -1; code < 1000; ++code) {
    for (int step = 0; step <= static_cast<int>(MailStep::message); ++step) {
      for (const char* text : {"", "\xff", "2.0.0", "5.1.1"}) {
        HttpAnswer a = answer(code, text);
        a.step = static_cast<MailStep>(step);
        const Verdict v = judge_smtp(CallResult(a));
        EXPECT_EQ(v.effect == Effect::sent, v.name == V::accepted);
        EXPECT_FALSE(v.reason.empty());
        if (v.name == V::accepted) {
          EXPECT_EQ(code / 100, 2);
          EXPECT_EQ(a.step, MailStep::message);
        }
        if (v.name == V::token_terminal) {
          EXPECT_EQ(code, 556);
        }
      }
    }
  }
}

TEST(SmtpAnswers, no_answer_keeps_its_effect) {
  EXPECT_EQ(judge_smtp(failure(Effect::maybe_sent, Cause::connection_lost)).effect,
            Effect::maybe_sent);
  EXPECT_EQ(name(judge_smtp(failure(Effect::not_sent, Cause::tls)).name), name(V::config_error));
}

}  // namespace
}  // namespace sendonce::test
