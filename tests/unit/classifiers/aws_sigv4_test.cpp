// The signatures of Amazon's own test suite (aws-sig-v4-test-suite), and what must not be signed.
#include "classifiers/http/aws_sigv4.hpp"

#include <gmock/gmock.h>

#include "plugin/core/text.hpp"

namespace sendonce::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr AwsScope kScope{"us-east-1", "service"};
const WallTime kThen = *parse_rfc3339("2015-08-30T12:36:00.750Z");

struct Vector {
  const char* name = "";
  const char* method = "GET";
  const char* target = "/";
  const char* content_type = "";
  const char* body = "";
  const char* token = "";
  const char* signature = "";
};

constexpr const char* kToken =
    "AQoDYXdzEPT//////////"
    "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx"
    "7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8"
    "Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
    "scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

constexpr Vector kVectors[] = {
    {.name = "get-vanilla",
     .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {.name = "get-vanilla-query-order-key-case",
     .target = "/?Param2=value2&Param1=value1",
     .signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {.name = "get-vanilla-query-order-value",
     .target = "/?Param1=value2&Param1=value1",
     .signature = "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
    {.name = "post-vanilla",
     .method = "POST",
     .signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {.name = "post-x-www-form-urlencoded",
     .method = "POST",
     .content_type = "application/x-www-form-urlencoded",
     .body = "Param1=value1",
     .signature = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
    {.name = "post-sts-header-before",
     .method = "POST",
     .token = kToken,
     .signature = "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
};

HttpRequest signed_one(const Vector& v) {
  HttpRequest request;
  request.method = v.method;
  request.body = v.body;
  if (*v.content_type != '\0') request.headers.add("content-type", v.content_type);
  const AwsCredential credential{
      .key_id = "AKIDEXAMPLE", .secret = Credential(kSecret), .session_token = Credential(v.token)};
  sign_aws(request, "example.amazonaws.com", v.target, credential, kScope, kThen);
  return request;
}

std::string authorization_of(const HttpRequest& request) {
  return std::string(request.headers.find("authorization").value_or(""));
}

TEST(AwsSigV4, signs_as_the_published_suite_does) {
  for (const Vector& v : kVectors) {
    const HttpRequest request = signed_one(v);
    const std::string authorization = authorization_of(request);
    EXPECT_THAT(authorization,
                testing::StartsWith("AWS4-HMAC-SHA256 "
                                    "Credential=AKIDEXAMPLE/20150830/us-east-1/service/"
                                    "aws4_request, SignedHeaders="))
        << v.name;
    EXPECT_THAT(authorization, EndsWith(std::string(", Signature=") + v.signature)) << v.name;
    EXPECT_EQ(request.headers.find("x-amz-date"), "20150830T123600Z") << v.name;
    EXPECT_EQ(request.headers.find("x-amz-security-token").value_or(""), v.token) << v.name;
  }
}

// An independent implementation has made this one: a path is encoded once more than it is sent.
TEST(AwsSigV4, encodes_the_path_once_more) {
  EXPECT_THAT(
      authorization_of(signed_one({.method = "POST", .target = "/a/%20b"})),
      EndsWith("Signature=1429b5563de82e52f651828a430235a40ed39ad7171845949b7971208fde1b1e"));
}

TEST(AwsSigV4, signs_nothing_that_a_proxy_may_change) {
  HttpRequest request;
  request.headers.add("user-agent", "x");
  request.headers.add("accept", "application/json");
  request.headers.add("x-amz-meta", "  two   words ");
  sign_aws(request, "h.example", "/", {.key_id = "A", .secret = Credential("s")}, kScope, kThen);
  EXPECT_THAT(authorization_of(request), HasSubstr("SignedHeaders=host;x-amz-date;x-amz-meta,"));
}

TEST(AwsSigV4, a_credential_is_never_indexed) {
  const HttpRequest request = signed_one({.token = "token"});
  int seen = 0;
  for (const auto field : request.headers) {
    EXPECT_TRUE(field.never_index) << field.name;
    ++seen;
  }
  EXPECT_EQ(seen, 3);
  EXPECT_THAT(authorization_of(request), testing::Not(HasSubstr(kSecret)));
}

TEST(AwsCredential, comes_in_three_forms) {
  const auto alone = AwsCredential::read("AKIDEXAMPLE", Credential(kSecret));
  ASSERT_TRUE(alone.has_value());
  EXPECT_EQ(alone->key_id, "AKIDEXAMPLE");
  EXPECT_EQ(alone->secret.expose(), kSecret);
  EXPECT_TRUE(alone->session_token.empty());
  const auto both = AwsCredential::read("", Credential(std::string("AKID:") + kSecret));
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->key_id, "AKID");
  EXPECT_EQ(both->secret.expose(), kSecret);
  const auto temporary = AwsCredential::read("", Credential("ASIA:secret+/=:token//==:"));
  ASSERT_TRUE(temporary.has_value());
  EXPECT_EQ(temporary->secret.expose(), "secret+/=");
  EXPECT_EQ(temporary->session_token.expose(), "token//==:");
}

TEST(AwsCredential, that_is_none_is_refused_and_not_quoted) {
  for (const char* text : {"s3cret", ":s3cret", "AKID:", "AK ID:s3cret", "AK/ID:s3cret",
                           "AKID:s3cret\r\nx: y", "AKID:s3cret:to\nken"}) {
    const auto read = AwsCredential::read("", Credential(text));
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_THAT(read.error().text, testing::Not(HasSubstr("s3cret")));
  }
  EXPECT_FALSE(AwsCredential::read("AKID", Credential("")).has_value());
}

}  // namespace
}  // namespace sendonce::test
