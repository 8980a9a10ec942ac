#include "tests/support/staged_provider.hpp"

#include <filesystem>
#include <utility>

#include "plugin/core/text.hpp"
#include "plugin/crypto/aead.hpp"

namespace sendonce::test {

StagedProvider::StagedProvider() : identity_(authority_.issue()), made_(make_test_credentials()) {
  made_.topic = "com.example.demo";
  made_.project = "demo";
  browser_key_ = base64url(secret_bytes(32).value());
  browser_key_.replace(0, 4, "AAAA");  // below the order of the curve
  browser_auth_ = base64url(secret_bytes(16).value());
}

Result<void> StagedProvider::start() {
  const bool first = provider_ == nullptr;
  if (!first) gone_.push_back(std::move(provider_));
  FakeProviderOptions options = options_for(made_);
  options.server.identity = identity_;
  options.server.port = port_;
  options.webpush->browser_key = browser_key_;
  options.webpush->browser_auth = browser_auth_;
  SO_TRY(provider_, FakeProvider::start(std::move(options)));
  port_ = provider_->port();
  if (first) write_credentials();
  return {};
}

void StagedProvider::write_credentials() const {
  credentials_.write("ca.pem", authority_.pem());
  credentials_.write("apns.p8", made_.apns.private_pem);
  credentials_.write("vapid.pem", made_.vapid.private_pem);
  credentials_.write("service-account.json", service_account_for(made_, provider_->token_uri()));
  const VendorConfig vendors;
  credentials_.write(
      "aws", vendors.aws_key_id + ":" + vendors.aws_secret + ":" + vendors.aws_token + "\n");
  credentials_.write("huawei", vendors.client_secret);
  for (const char* secret : {"apns.p8", "service-account.json", "vapid.pem", "aws", "huawei"})
    std::filesystem::permissions(credentials_ / secret, std::filesystem::perms(0600));
}

Result<void> StagedProvider::script(const std::string& toml) {
  SO_TRY(Script parsed, Script::parse(toml, "script.toml"));
  provider_->set_script(std::move(parsed));
  return {};
}

std::string StagedProvider::subscription(const std::string& name) const {
  const PushReceiver& browser = provider_->webpush()->browser();
  return R"({"endpoint":")" + provider_->url() + "/push/" + name + R"(","p256dh":")" +
         browser.p256dh() + R"(","auth":")" + browser.auth() + R"("})";
}

Copies StagedProvider::seen(ProviderKind kind, std::string_view token) const {
  Copies sum = provider_->witness().destination(kind, token);
  for (const auto& life : gone_) {
    const Copies c = life->witness().destination(kind, token);
    sum.received += c.received;
    sum.accepted += c.accepted;
  }
  return sum;
}

std::uint64_t StagedProvider::received() const {
  std::uint64_t sum = provider_->witness().totals().copies.received;
  for (const auto& life : gone_) sum += life->witness().totals().copies.received;
  return sum;
}

}  // namespace sendonce::test
