// What each shipped profile asks its vendor, byte by byte: requests/NAME.http. Whoever changes one
// compares the new form with the vendor's reference, which the profile names.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "classifiers/http/http_provider.hpp"
#include "tests/corpus/profiles.hpp"

namespace sendonce::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRequests = SENDONCE_SOURCE_DIR "/tests/corpus/requests";

// Whatever has to be escaped somewhere stands in it.
Notification notification_on(Channel channel) {
  Notification n{.event_id = "order/8812 shipped", .recipient = "u&42", .channel = channel};
  n.template_id = "shipped";
  n.content.title = "On its way: 50% <faster>";
  n.content.body =
      "Parcel \"8812\" left\nB\xC3\xBC"
      "nde & Co.\\";
  n.content.html = "<p>Parcel &quot;8812&quot; left</p>";
  n.content.data = {{"order", "\"8812\""}};
  return n;
}

std::string text_of(const ProviderConfig& config, const HttpRequest& request) {
  std::string out = request.method + ' ';
  out += request.url.empty() ? config.endpoint + request.path : request.url;
  out += '\n';
  for (const auto& field : request.headers) {
    out += std::string(field.name) + ": " + std::string(field.value);
    out += field.never_index ? "   (secret or unique)\n" : "\n";
  }
  return out + '\n' + request.body + '\n';
}

void hand_over_a_token(Provider& provider, const ProviderConfig& config, std::string& out) {
  const auto asked = provider.needs_auth(kNow);
  if (!asked) return;
  out += "## credential\n" + text_of(config, *asked);
  HttpAnswer token;
  token.status = 200;
  token.body = R"({"access_token":"the-token","expires_in":3600})";
  EXPECT_EQ(provider.accept_auth(token, kNow).name, VerdictClass::accepted);
}

Result<std::string> requests_of(const ProviderConfig& config) {
  auto provider = make_http_provider({.spec = config.http,
                                      .endpoint = config.endpoint,
                                      .token_endpoint = config.token_endpoint,
                                      .secret = Credential("user:secret")});
  if (!provider) return std::unexpected(provider.error());
  std::string out;
  hand_over_a_token(**provider, config, out);
  const Notification note = notification_on(config.http.channel);
  const Target target{.destination = Destination(destination_on(config.http.channel))};
  Key key{};
  NidDigest nid{};
  key.bytes.fill(0xA1);
  nid.bytes.fill(0x5E);
  const Attempt attempt{note, target, key, nid, "order-8812", kNow + std::chrono::hours(6)};
  auto request = (*provider)->prepare(attempt, kNow);
  if (!request) return std::unexpected(request.error());
  out += "## delivery\n" + text_of(config, *request);
  if (!(*provider)->capabilities().lookup) return out;
  auto question = (*provider)->prepare_lookup(attempt, kNow);
  if (!question) return std::unexpected(question.error());
  return out + "## lookup\n" + text_of(config, *question);
}

TEST(ProfileRequests, are_as_written_down) {
  const Profiles all = profiles();
  for (const auto& [name, config] : all) {
    const auto now = requests_of(config);
    ASSERT_TRUE(now.has_value()) << name << ": " << now.error().text;
    std::ifstream file(kRequests / (name + ".http"), std::ios::binary);
    const std::string written{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(*now, written) << "---- " << name << ".http\n" << *now << "----";
  }
  for (const auto& file : fs::directory_iterator(kRequests))
    EXPECT_TRUE(all.contains(file.path().stem().string())) << file.path();
}

}  // namespace
}  // namespace sendonce::test
