#include "classifiers/apns/apns_provider.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/core/text.hpp"
#include "plugin/message/key.hpp"
#include "tests/unit/classifiers/fixtures.hpp"

namespace sendonce::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ApnsProviderTest : public ::testing::Test {
 protected:
  std::unique_ptr<Provider> provider(const ApnsOptions& options) {
    auto made = make_apns_provider(options, *tokens_);
    EXPECT_TRUE(made) << made.error().text;
    EXPECT_FALSE((*made)->needs_auth(kNow));
    return std::move(*made);
  }
  std::unique_ptr<Provider> provider() { return provider({.topic = "com.example.app"}); }

  HttpRequest prepared(Provider& of, const Sample& sample, WallTime now = kNow) {
    auto request = of.prepare(sample.attempt(), now);
    EXPECT_TRUE(request) << request.error().text;
    return request ? *request : HttpRequest{};
  }
  std::string error(Provider& of, const Sample& sample) {
    const auto request = of.prepare(sample.attempt(), kNow);
    return request ? "no error" : request.error().text;
  }

  std::unique_ptr<ApnsTokenSource> tokens_ = ApnsTokenSource::make(apns_token_options()).value();
  Sample sample_{"00ffaabb"};
};

TEST_F(ApnsProviderTest, golden_request) {
  const auto apns = provider();
  const HttpRequest request = prepared(*apns, sample_);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "");
  EXPECT_EQ(request.path, "/3/device/00ffaabb");
  EXPECT_EQ(text_of(request.headers), "authorization: " + tokens_->authorization() +
                                          "\n"
                                          "apns-topic: com.example.app\n"
                                          "apns-push-type: alert\n"
                                          "apns-priority: 10\n"
                                          "apns-expiration: 1795975200\n"
                                          "apns-collapse-id: order-8812\n"
                                          "apns-id: 00010203-0405-8607-8809-0a0b0c0d0e0f\n");
  EXPECT_EQ(request.body,
            R"({"aps":{"alert":{"title":"On its way","body":"Parcel \"8812\" left."}},)"
            R"("nid":"f0f1f2f3-f4f5-86f7-b8f9-fafbfcfdfeff","order":"8812"})");
}

TEST_F(ApnsProviderTest, repeated_headers_are_indexed_and_unique_ones_are_not) {
  const auto apns = provider();
  const HttpRequest request = prepared(*apns, sample_);
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    const Headers::View h = request.headers[i];
    const bool unique =
        h.name == "apns-id" || h.name == "apns-expiration" || h.name == "apns-collapse-id";
    EXPECT_EQ(h.never_index, unique) << h.name;
  }
}

TEST_F(ApnsProviderTest, every_attempt_has_the_same_bytes_but_for_the_credential) {
  const auto apns = provider();
  const HttpRequest first = prepared(*apns, sample_);
  EXPECT_FALSE(apns->needs_auth(kNow + minutes(50)));  // a new token
  const HttpRequest second = prepared(*apns, sample_, kNow + minutes(50));
  EXPECT_EQ(first.path, second.path);
  EXPECT_EQ(first.body, second.body);
  ASSERT_EQ(first.headers.size(), second.headers.size());
  for (std::size_t i = 0; i < first.headers.size(); ++i) {
    EXPECT_EQ(first.headers[i].name, second.headers[i].name);
    if (first.headers[i].name == "authorization") {
      EXPECT_NE(first.headers[i].value, second.headers[i].value);
    } else {
      EXPECT_EQ(first.headers[i].value, second.headers[i].value);
    }
  }
}

TEST_F(ApnsProviderTest, the_nid_is_the_one_of_events) {
  const auto apns = provider();
  EXPECT_THAT(prepared(*apns, sample_).body, HasSubstr(uuid_text(nid_from(sample_.nid).bytes)));
}

TEST_F(ApnsProviderTest, expiration_is_never_past_the_deadline) {
  const auto apns = provider();
  const auto expiration = [&](WallTime deadline) {
    sample_.deadline = deadline;
    return std::string(*prepared(*apns, sample_).headers.find("apns-expiration"));
  };
  EXPECT_EQ(expiration(kNow + std::chrono::milliseconds(10'999)), "1795953610");
  EXPECT_EQ(expiration(kNow + std::chrono::milliseconds(999)), "0");
  EXPECT_EQ(expiration(kNow), "0");
  EXPECT_EQ(expiration(kNow - hours(1)), "0");
  EXPECT_EQ(expiration(WallTime{}), "0");
}

TEST_F(ApnsProviderTest, collapse_has_at_most_64_bytes_and_may_be_missing) {
  const auto apns = provider();
  sample_.collapse = std::string(64, 'c');
  EXPECT_EQ(prepared(*apns, sample_).headers.find("apns-collapse-id"), sample_.collapse);
  sample_.collapse.push_back('c');
  EXPECT_THAT(error(*apns, sample_), HasSubstr("collapse has 65 bytes"));
  sample_.collapse = "a\r\nb: c";
  EXPECT_THAT(error(*apns, sample_), HasSubstr("control characters"));
  sample_.collapse = " a";
  EXPECT_THAT(error(*apns, sample_), HasSubstr("space"));
  sample_.collapse.clear();
  EXPECT_FALSE(prepared(*apns, sample_).headers.find("apns-collapse-id"));
}

TEST_F(ApnsProviderTest, background_has_priority_5) {
  const auto apns = provider();
  sample_.notification.content.title.clear();
  sample_.notification.content.body.clear();
  const HttpRequest request = prepared(*apns, sample_);
  EXPECT_EQ(request.headers.find("apns-push-type"), "background");
  EXPECT_EQ(request.headers.find("apns-priority"), "5");
}

TEST_F(ApnsProviderTest, push_type_by_topic_or_option) {
  const auto type = [&](const ApnsOptions& options) {
    const auto apns = provider(options);
    return std::string(*prepared(*apns, sample_).headers.find("apns-push-type"));
  };
  EXPECT_EQ(type({.topic = "com.example.voip"}), "voip");
  EXPECT_EQ(type({.topic = "com.example.app.voip-ptt"}), "pushtotalk");
  EXPECT_EQ(type({.topic = "com.example.app.push-type.liveactivity"}), "liveactivity");
  EXPECT_EQ(type({.topic = "com.example.app.complication"}), "complication");
  EXPECT_EQ(type({.topic = "com.example.app", .push_type = "mdm"}), "mdm");
  EXPECT_EQ(type({.topic = "com.example.app", .push_type = "background"}), "background");
}

TEST_F(ApnsProviderTest, the_payload_has_4096_bytes_and_5120_for_voip) {
  const auto fits = [&](Provider& of, std::size_t size) {
    sample_.notification.content.body.clear();
    const std::size_t rest =
        prepared(of, sample_).body.size() + std::string(R"(,"body":"")").size();
    sample_.notification.content.body.assign(size - rest, 'x');
    const auto request = of.prepare(sample_.attempt(), kNow);
    if (request) {
      EXPECT_EQ(request->body.size(), size);
    }
    return request.has_value();
  };
  const auto alert = provider();
  EXPECT_TRUE(fits(*alert, 4096));
  EXPECT_FALSE(fits(*alert, 4097));
  const auto voip = provider({.topic = "com.example.app.voip"});
  EXPECT_TRUE(fits(*voip, 5120));
  EXPECT_FALSE(fits(*voip, 5121));
}

TEST_F(ApnsProviderTest, tokens_are_hex_in_lower_case) {
  const auto apns = provider();
  const auto normal = [&](std::string token) {
    Target target;
    target.destination = Destination(std::move(token));
    return apns->normal_form(target);
  };
  EXPECT_EQ(normal("ABcd09")->expose(), "abcd09");
  EXPECT_TRUE(normal(std::string(4096, 'a')));  // Apple promises no size
  for (const std::string& bad :
       {std::string(), std::string("abc"), std::string("zz"), std::string("ab/cd?"),
        std::string("ab cd "), std::string(4098, 'a')}) {
    const auto result = normal(bad);
    ASSERT_FALSE(result) << bad;
    if (bad.size() > 2) {
      EXPECT_THAT(result.error().text, Not(HasSubstr(bad)));
    }
  }
  for (const std::string& not_normal :
       {std::string("../../x"), std::string("00FF"), std::string(2, '\0'), std::string()}) {
    sample_.target.destination = Destination(not_normal);
    EXPECT_THAT(error(*apns, sample_), HasSubstr("token")) << not_normal;
  }
}

TEST_F(ApnsProviderTest, scope_and_capabilities) {
  EXPECT_EQ(provider()->app_scope(), "apns:com.example.app:production");
  EXPECT_EQ(provider({.topic = "a.b", .sandbox = true})->app_scope(), "apns:a.b:sandbox");
  const auto apns = provider();
  const Capabilities& c = apns->capabilities();
  EXPECT_EQ(c.kind, ProviderKind::apns);
  EXPECT_TRUE(c.one_stream_first);
  EXPECT_FALSE(c.idempotency_key);
  EXPECT_FALSE(c.lookup);
  EXPECT_EQ(c.collapse_bytes_max, 64U);
}

TEST_F(ApnsProviderTest, options_are_checked) {
  const auto reason = [&](const ApnsOptions& options) {
    const auto made = make_apns_provider(options, *tokens_);
    return made ? std::string() : made.error().text;
  };
  EXPECT_THAT(reason({}), HasSubstr("topic is missing"));
  EXPECT_THAT(reason({.topic = "a\nb"}), HasSubstr("topic"));
  EXPECT_THAT(reason({.topic = "a.b", .push_type = "loud"}), HasSubstr("push_type is none of"));
  EXPECT_THAT(reason({.topic = "a.b", .push_type = "voip"}), HasSubstr("ends in .voip"));
}

TEST_F(ApnsProviderTest, two_providers_share_one_token) {
  const auto one = provider({.topic = "com.example.app"});
  const auto two = provider({.topic = "com.example.app.voip"});
  EXPECT_EQ(prepared(*one, sample_).headers.find("authorization"),
            prepared(*two, sample_).headers.find("authorization"));
  const std::string before = tokens_->authorization();
  EXPECT_TRUE(one->credential_refused(kNow + minutes(1)));
  EXPECT_FALSE(two->credential_refused(kNow + minutes(1)));
  EXPECT_NE(tokens_->authorization(), before);
  EXPECT_EQ(prepared(*one, sample_).headers.find("authorization"), tokens_->authorization());
}

TEST_F(ApnsProviderTest, a_429_mints_no_token) {
  const auto apns = provider();
  const std::string before = tokens_->authorization();
  const Verdict v = apns->classify(
      sample_.target, answer(429, R"({"reason":"TooManyProviderTokenUpdates"})"), kNow);
  EXPECT_FALSE(v.refresh_credential);
  EXPECT_FALSE(apns->needs_auth(kNow + minutes(30)));
  EXPECT_EQ(tokens_->authorization(), before);
}

TEST_F(ApnsProviderTest, a_second_expired_is_the_clock) {
  const auto apns = provider();
  const CallResult expired = answer(403, R"({"reason":"ExpiredProviderToken"})");
  EXPECT_TRUE(apns->classify(sample_.target, expired, kNow).refresh_credential);
  apns->credential_refused(kNow);
  const Verdict again = apns->classify(sample_.target, expired, kNow + minutes(2));
  EXPECT_EQ(again.name, VerdictClass::provider_auth);
  EXPECT_FALSE(again.refresh_credential);
  EXPECT_THAT(again.reason, HasSubstr("check this machine's clock"));
}

// Found by the simulator: once suspected, the token was refused until its regular refresh.
TEST_F(ApnsProviderTest, a_suspected_token_is_minted_anew_as_soon_as_apple_allows) {
  const auto apns = provider();
  const CallResult expired = answer(403, R"({"reason":"ExpiredProviderToken"})");
  apns->credential_refused(kNow);
  EXPECT_FALSE(apns->classify(sample_.target, expired, kNow + minutes(19)).refresh_credential);
  EXPECT_TRUE(apns->classify(sample_.target, expired, kNow + minutes(20)).refresh_credential);
  const WallTime put_right = kNow - minutes(2);
  EXPECT_TRUE(apns->classify(sample_.target, expired, put_right).refresh_credential);
}

TEST_F(ApnsProviderTest, ready_follows_the_token) {
  auto made = make_apns_provider({.topic = "a.b"}, *tokens_).value();
  EXPECT_FALSE(made->ready(kNow));
  EXPECT_FALSE(made->needs_auth(kNow));
  EXPECT_TRUE(made->ready(kNow));
  EXPECT_FALSE(made->ready(kNow + hours(1)));
}

}  // namespace
}  // namespace sendonce::test
