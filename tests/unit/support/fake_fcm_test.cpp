#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/support/provider_rig.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;

constexpr const char* kScope = "https://www.googleapis.com/auth/firebase.messaging";
constexpr const char* kGrant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer";

class FakeFcmTest : public ProviderRig {
 protected:
  void SetUp() override { start(); }

  Json claims() const {
    return {{"iss", credentials().email},
            {"scope", kScope},
            {"aud", provider->token_uri()},
            {"iat", now_seconds()},
            {"exp", now_seconds() + 3600}};
  }
  static std::string signed_by(const std::string& key, const Json& claims) {
    return sign_jwt(JwtAlgorithm::rs256, key, R"({"alg":"RS256","typ":"JWT"})", claims.dump());
  }
  RawAnswer token_request(const std::string& form) const {
    return connect()->request("POST", "/token",
                              {{"content-type", "application/x-www-form-urlencoded"}}, form);
  }
  RawAnswer exchange(const Json& claims) const {
    return token_request(std::string(kGrant) +
                         "&assertion=" + signed_by(credentials().service.private_pem, claims));
  }
  std::string access_token() const {
    const RawAnswer answer = exchange(claims());
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body).value("access_token", "");
  }
  static Json message() {
    return {{"message",
             {{"token", "device:token"},
              {"notification", {{"title", "t"}, {"body", "b"}}},
              {"data", {{"nid", "n-1"}, {"order", "8812"}}},
              {"android", {{"priority", "high"}, {"ttl", "3600s"}, {"collapse_key", "c"}}},
              {"apns",
               {{"headers", {{"apns-priority", "10"}}}, {"payload", {{"aps", Json::object()}}}}}}}};
  }
  RawAnswer send(const std::string& body, const std::string& token,
                 const std::string& project = "demo-project") const {
    RawHeaders headers{{"content-type", "application/json"}};
    if (!token.empty()) headers.emplace_back("authorization", "Bearer " + token);
    return connect()->request("POST", "/v1/projects/" + project + "/messages:send", headers, body);
  }
  // The error of a request whose message was changed.
  Json refused(const Json& body, int status = 400) const {
    const RawAnswer answer = send(body.dump(), access_token());
    EXPECT_EQ(answer.status, status) << answer.body;
    return Json::parse(answer.body)["error"];
  }
};

TEST_F(FakeFcmTest, takes_a_message_and_names_it) {
  const RawAnswer answer = send(message().dump(), access_token());
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(Json::parse(answer.body)["name"].get<std::string>().starts_with(
      "projects/demo-project/messages/"));
  EXPECT_EQ(provider->witness().copies(ProviderKind::fcm, "device:token", "n-1").accepted, 1U);
}

TEST_F(FakeFcmTest, a_dry_run_is_not_accepted) {
  Json body = message();
  body["validate_only"] = true;
  EXPECT_EQ(send(body.dump(), access_token()).status, 200);
  EXPECT_EQ(seen().accepted, 0U);
  EXPECT_EQ(seen().received, 1U);
}

TEST_F(FakeFcmTest, wants_its_own_access_token) {
  const RawAnswer none = send(message().dump(), "");
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(Json::parse(none.body)["error"]["status"], "UNAUTHENTICATED");
  EXPECT_EQ(none.body.find("FcmError"), std::string::npos);
  EXPECT_EQ(send(message().dump(), "ya29.forged").status, 401);
  const RawAnswer other = send(message().dump(), access_token(), "other-project");
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(other.body.find("FcmError"), std::string::npos);
  EXPECT_EQ(seen().accepted, 0U);
}

TEST_F(FakeFcmTest, access_tokens_expire) {
  FakeProviderOptions options = options_for(credentials());
  options.oauth->lifetime = std::chrono::seconds(0);
  start(std::move(options));
  const RawAnswer answer = send(message().dump(), access_token());
  EXPECT_EQ(answer.status, 401);
  EXPECT_NE(answer.body.find("ACCESS_TOKEN_EXPIRED"), std::string::npos);
}

TEST_F(FakeFcmTest, another_path_is_a_page) {
  const RawAnswer answer = connect()->request("POST", "/v1/projects/p/batch", {}, "{}");
  EXPECT_EQ(answer.status, 404);
  EXPECT_TRUE(answer.header("content-type").starts_with("text/html"));
}

TEST_F(FakeFcmTest, unknown_fields_are_refused) {
  Json body = message();
  body["message"]["android"]["colour"] = "red";
  const Json error = refused(body);
  EXPECT_EQ(error["message"],
            "Invalid JSON payload received. Unknown name \"colour\" at 'message.android': Cannot "
            "find field.");
  EXPECT_EQ(error["details"][0]["@type"], "type.googleapis.com/google.rpc.BadRequest");
  EXPECT_EQ(error["details"][0]["fieldViolations"][0]["field"], "message.android");
  Json top = message();
  top["expiration_time"] = 1;
  EXPECT_EQ(refused(top)["message"],
            "Invalid JSON payload received. Unknown name \"expiration_time\": Cannot find field.");
}

TEST_F(FakeFcmTest, camel_case_names_are_known) {
  Json body = message();
  body["message"]["android"] = {{"collapseKey", "c"}, {"directBootOk", true}};
  EXPECT_EQ(send(body.dump(), access_token()).status, 200);
}

TEST_F(FakeFcmTest, data_values_are_strings) {
  Json body = message();
  body["message"]["data"] = {{"count", 5}};
  const Json error = refused(body);
  EXPECT_EQ(error["message"], "Invalid value at 'message.data[0].value' (TYPE_STRING), 5");
  EXPECT_EQ(error["details"][0]["fieldViolations"][0]["field"], "message.data[0].value");
}

TEST_F(FakeFcmTest, exactly_one_target) {
  Json none = message();
  none["message"].erase("token");
  EXPECT_EQ(refused(none)["message"], "Recipient of the message is not set.");
  Json two = message();
  two["message"]["topic"] = "news";
  EXPECT_EQ(refused(two)["details"][0]["fieldViolations"][0]["field"], "message");
  Json bad = message();
  bad["message"]["token"] = "";
  const Json error = refused(bad);
  EXPECT_EQ(error["message"], "The registration token is not a valid FCM registration token");
  EXPECT_EQ(error["details"][0]["errorCode"], "INVALID_ARGUMENT");
}

TEST_F(FakeFcmTest, limits_and_types) {
  Json large = message();
  large["message"]["data"]["x"] = std::string(4096, 'x');
  EXPECT_EQ(refused(large)["message"], "Android message is too big");
  Json ttl = message();
  ttl["message"]["android"]["ttl"] = "2419201s";
  refused(ttl);
  ttl["message"]["android"]["ttl"] = 3600;
  refused(ttl);
  Json priority = message();
  priority["message"]["android"]["priority"] = "urgent";
  refused(priority);
  Json reserved = message();
  reserved["message"]["data"]["google.x"] = "1";
  EXPECT_EQ(refused(reserved)["message"], "Invalid data payload key: google.x");
  const RawAnswer broken = send("{\"message\":", access_token());
  EXPECT_EQ(broken.status, 400);
  EXPECT_EQ(seen().accepted, 0U);
}

TEST_F(FakeFcmTest, oauth_checks_the_assertion) {
  const auto error_of = [](const RawAnswer& answer) {
    EXPECT_EQ(answer.status, 400) << answer.body;
    const Json json = Json::parse(answer.body);
    return json.value("error", "") + ": " + json.value("error_description", "");
  };
  const auto changed = [&](const char* name, const Json& value) {
    Json c = claims();
    c[name] = value;
    return error_of(exchange(c));
  };
  EXPECT_EQ(changed("iss", "stranger@example.com"),
            "invalid_grant: Invalid grant: account not found");
  EXPECT_TRUE(changed("aud", "https://example.com/token").starts_with("invalid_grant: "));
  EXPECT_TRUE(changed("scope", "email").starts_with("invalid_scope: "));
  EXPECT_TRUE(changed("exp", now_seconds() + 3700)
                  .starts_with("invalid_grant: Invalid JWT: Token must be a short-lived token"));
  EXPECT_TRUE(changed("iat", now_seconds() + 600).starts_with("invalid_grant: Invalid JWT: "));
  EXPECT_EQ(error_of(token_request(std::string(kGrant) + "&assertion=" +
                                   signed_by(make_rsa_key().private_pem, claims()))),
            "invalid_grant: Invalid JWT Signature.");
  EXPECT_TRUE(error_of(token_request("grant_type=password")).starts_with("unsupported_grant_type"));
  EXPECT_TRUE(error_of(token_request("a=b")).starts_with("invalid_request"));
}

TEST_F(FakeFcmTest, oauth_is_spoken_over_http1_too) {
  const std::string form =
      std::string(kGrant) + "&assertion=" + signed_by(credentials().service.private_pem, claims());
  const auto client = connect(false);
  const std::string answer = client->exchange_h1(
      "POST /token HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/x-www-form-urlencoded\r\nContent-Length: " +
          std::to_string(form.size()) + "\r\n\r\n" + form,
      "Bearer\"}");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  const Json json = Json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  EXPECT_EQ(json["token_type"], "Bearer");
  EXPECT_EQ(send(message().dump(), json["access_token"]).status, 200);
}

TEST_F(FakeFcmTest, the_service_account_file_fits) {
  const Json file = Json::parse(service_account_for(credentials(), provider->token_uri()));
  Json c = claims();
  c["iss"] = file["client_email"];
  c["aud"] = file["token_uri"];
  EXPECT_EQ(
      token_request(std::string(kGrant) + "&assertion=" + signed_by(file["private_key"], c)).status,
      200);
}

}  // namespace
}  // namespace sendonce::test
