// Who is let in, and what must not get in.
#include <gtest/gtest.h>

#include "plugin/cli/page/gate.hpp"

namespace sendonce::cli {
namespace {

constexpr std::uint16_t kPort = 8228;
constexpr MonoTime kBegin{std::chrono::hours(1)};
constexpr MonoTime kSoon = kBegin + std::chrono::minutes(1);
constexpr const char* kHost = "127.0.0.1:8228";
constexpr const char* kOrigin = "http://127.0.0.1:8228";
constexpr const char* kCookie = "sendonce-8228=the-session";

using Fields = std::vector<std::pair<std::string, std::string>>;

Gate gate() {
  return {kPort, {.token = "the-token", .session = "the-session", .proof = "the-proof"}, kBegin};
}

HttpQuestion get(std::string path, Fields fields, Fields query = {}) {
  return {.method = "GET",
          .path = std::move(path),
          .query = std::move(query),
          .fields = std::move(fields)};
}

HttpQuestion open_with(std::string token, Fields more = {}) {
  more.emplace_back("host", kHost);
  return get("/", std::move(more), {{"token", std::move(token)}});
}

HttpQuestion post(Fields fields) {
  HttpQuestion question = get("/v1/pause", std::move(fields));
  question.method = "POST";
  return question;
}

Admission of(const HttpQuestion& question) {
  Gate one = gate();
  return one.admit(question, kSoon);
}

TEST(PageGate, TheAddressHasTheTokenAndTheCookieHasNotIt) {
  EXPECT_EQ(gate().address(), "http://127.0.0.1:8228/?token=the-token");
  EXPECT_EQ(gate().cookie(), "sendonce-8228=the-session; Path=/; HttpOnly; SameSite=Strict");
}

TEST(PageGate, TheTokenWorksOnce) {
  Gate one = gate();
  EXPECT_EQ(one.admit(open_with("the-token"), kSoon), Admission::exchange);
  EXPECT_EQ(one.admit(open_with("the-token"), kSoon), Admission::wrong_token);
  EXPECT_EQ(one.admit(open_with("the-token", {{"cookie", kCookie}}), kSoon), Admission::enter)
      << "who has the cookie only loses the token from his address";
}

TEST(PageGate, AnUnusedTokenEnds) {
  Gate one = gate();
  const MonoTime end = kBegin + kTokenLife;
  EXPECT_EQ(one.admit(open_with("the-token"), end), Admission::wrong_token);
  EXPECT_EQ(one.admit(open_with("the-token"), end - Duration(1)), Admission::exchange);
}

TEST(PageGate, AWrongTokenOpensNothingAndUsesNothingUp) {
  Gate one = gate();
  for (const char* wrong : {"", "the-toke", "the-tokem", "the-token ", "the-session"})
    EXPECT_EQ(one.admit(open_with(wrong), kSoon), Admission::wrong_token) << wrong;
  EXPECT_EQ(one.admit(open_with("the-token"), kSoon), Admission::exchange);
}

TEST(PageGate, TheTokenIsTakenAtItsPlaceAlone) {
  const Fields token{{"token", "the-token"}};
  EXPECT_EQ(of(get("/v1/status", {{"host", kHost}}, token)), Admission::no_session);
  EXPECT_EQ(of(get("/", {{"host", kHost}}, {{"token", "the-token"}, {"x", ""}})),
            Admission::no_session);
  Gate one = gate();
  HttpQuestion look = open_with("the-token");
  look.method = "HEAD";
  EXPECT_EQ(one.admit(look, kSoon), Admission::enter) << "without the cookie";
  look.method = "POST";
  EXPECT_EQ(one.admit(look, kSoon), Admission::no_session);
  EXPECT_EQ(one.admit(open_with("the-token"), kSoon), Admission::exchange) << "it is still there";
}

TEST(PageGate, TheSessionOpensTheRest) {
  EXPECT_EQ(of(get("/v1/status", {{"host", "localhost:8228"},
                                  {"cookie", "a=b; sendonce-8228=the-session;c=d"},
                                  {"sendonce-request", "the-proof"}})),
            Admission::welcome);
}

// Another user's server on 127.0.0.1 is sent the cookie by the same browser, and nothing more.
TEST(PageGate, AStolenCookieOpensNothingButTheFiles) {
  for (const char* proof : {"", "1", "the-proo", "the-proof2", "the-session", "the-token"}) {
    const Fields stolen{
        {"host", kHost}, {"cookie", kCookie}, {"origin", kOrigin}, {"sendonce-request", proof}};
    EXPECT_EQ(of(get("/v1/status", stolen)), Admission::assets_only) << proof;
    EXPECT_EQ(of(post(stolen)), Admission::foreign) << proof;
  }
  EXPECT_EQ(of(get("/v1/status", {{"host", kHost}, {"cookie", kCookie}})), Admission::assets_only);
  EXPECT_EQ(gate().entrance(), "/#proof=the-proof");
}

TEST(PageGate, NothingElseIsASession) {
  for (const char* cookie :
       {"", "sendonce-8228=", "sendonce-8228=the-sessio", "sendonce-8228=the-session2",
        "sendonce-8229=the-session", "xsendonce-8228=the-session", "the-session",
        "sendonce-8228=the-token", "sendonce-8228 =the-session", "a=sendonce-8228=the-session"})
    EXPECT_EQ(of(get("/", {{"host", kHost}, {"cookie", cookie}})), Admission::no_session) << cookie;
  EXPECT_EQ(of(get("/", {{"host", kHost}, {"cookie", kCookie}, {"cookie", kCookie}})),
            Admission::no_session)
      << "a browser sends one";
  EXPECT_EQ(of(get("/", {{"host", kHost}})), Admission::no_session);
}

// DNS rebinding: a name of a stranger that leads to 127.0.0.1.
TEST(PageGate, OnlyOurOwnNamesAreAnswered) {
  for (const char* host :
       {"evil.example:8228", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:82288", "localhost",
        "localhost.evil.example:8228", "[::1]:8228", "", "127.0.0.1:8228:8228", "0.0.0.0:8228"}) {
    EXPECT_EQ(of(get("/", {{"host", host}, {"cookie", kCookie}})), Admission::wrong_host) << host;
    EXPECT_EQ(of(get("/", {{"host", host}}, {{"token", "the-token"}})), Admission::wrong_host);
  }
  EXPECT_EQ(of(get("/", {{"cookie", kCookie}})), Admission::wrong_host);
  EXPECT_EQ(of(get("/", {{"host", kHost}, {"host", "evil.example"}, {"cookie", kCookie}})),
            Admission::wrong_host);
}

TEST(PageGate, ThePageItselfMayPost) {
  EXPECT_EQ(of(post({{"host", kHost},
                     {"cookie", kCookie},
                     {"origin", kOrigin},
                     {"sendonce-request", "the-proof"}})),
            Admission::welcome);
}

TEST(PageGate, NobodyElseMayPost) {
  const Fields session{{"host", kHost}, {"cookie", kCookie}};
  const auto with = [&](Fields more) {
    more.insert(more.end(), session.begin(), session.end());
    return of(post(std::move(more)));
  };
  EXPECT_EQ(with({}), Admission::foreign);
  EXPECT_EQ(with({{"origin", kOrigin}}), Admission::foreign) << "a form can send that much";
  EXPECT_EQ(with({{"sendonce-request", "the-proof"}}), Admission::foreign);
  for (const char* origin :
       {"null", "", "http://evil.example", "http://127.0.0.1:8229", "https://127.0.0.1:8228",
        "http://localhost:8228", "http://127.0.0.1:8228.evil.example"})
    EXPECT_EQ(with({{"origin", origin}, {"sendonce-request", "the-proof"}}), Admission::foreign)
        << origin;
  EXPECT_EQ(with({{"origin", kOrigin}, {"origin", "null"}, {"sendonce-request", "the-proof"}}),
            Admission::foreign);
  EXPECT_EQ(of(post({{"host", kHost}, {"origin", kOrigin}, {"sendonce-request", "the-proof"}})),
            Admission::no_session);
}

}  // namespace
}  // namespace sendonce::cli
