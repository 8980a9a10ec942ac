// The library through its C interface: what start, reload and open refuse, and with which code.
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "ledger/lmdb/open.hpp"
#include "plugin/core/unique_fd.hpp"
#include "plugin/module/admin/admin_client.hpp"
#include "sendonce/abi/host.h"
#include "tests/contract/ledger_rig.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/fake_provider.hpp"

namespace sendonce::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A configuration, a ledger that remembers one delivery, and no NATS server to be seen.
class EntryTest : public testing::Test {
 protected:
  EntryTest() {
    put_account("shop-one");
    put_config();
    std::filesystem::create_directory(dir_.path() + "/state");
    const auto made = create_ledger(ledger_options());
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().text);
  }
  ~EntryTest() override { close(); }

  void put_account(const std::string& project) {
    credentials_.project = project;
    std::ofstream(account_) << service_account_for(credentials_, "https://localhost/token");
    ASSERT_EQ(::chmod(account_.c_str(), 0600), 0);
  }

  // `more` belongs to [class.otp].
  void put_config(const std::string& more = {}) const {
    std::ofstream(file_) << "config_version = 1\n[instance]\nname = \"edge\"\nstate_dir = \""
                         << dir_.path() << "/state\"\nsocket = \"" << dir_.path()
                         << "/admin.sock\"\n[nats]\nservers = [\"nats://127.0.0.1:1\"]\n"
                         << "[ledger]\nmap_size = \"64MiB\"\n[provider.fcm]\nkind = \"fcm\"\n"
                         << "auth = { service_account = \"file:" << account_ << "\" }\n"
                         << "[class.otp]\nsubject = \"notify.otp.>\"\nexpires = \"3m\"\n"
                         << "retention = \"2d\"\nambiguous = { default = \"give-up\" }\n"
                         << "route = { push = [\"fcm\"] }\n"
                         << more;
  }

  LedgerOptions ledger_options() const {
    LedgerOptions o;
    o.directory = dir_.path() + "/state/ledger";
    o.scopes = {"otp"};
    o.map_bytes = std::uint64_t{64} << 20U;
    return o;
  }

  void remember_a_delivery() const {
    auto ledger = open_ledger(ledger_options());
    ASSERT_TRUE(ledger.has_value()) << ledger.error().text;
    ClaimRequest claim = claim_of(1);
    static_cast<void>(reply_as<Claimed>(run(**ledger, Ticket(1), claim, kNoon)));
  }

  sendonce_rc start(int admin_fd = -1) {
    sendonce_host host{};
    host.struct_size = sizeof host;
    host.abi_minor = SENDONCE_ABI_MINOR;
    host.admin_fd = admin_fd;
    host.name = "test";
    host.ctx = this;
    host.log = [](void* self, const sendonce_log_event* event) {
      static_cast<EntryTest*>(self)->logged_.emplace_back(event->event.data, event->event.size);
    };
    const sendonce_rc opened = api_->open(&host, file_.c_str(), &instance_, error());
    return opened == SENDONCE_OK ? api_->start(instance_, error()) : opened;
  }
  void close() {
    if (instance_ != nullptr) api_->close(instance_);
    instance_ = nullptr;
  }
  // Starts and stops.
  sendonce_rc live_once() {
    const sendonce_rc rc = start();
    close();
    return rc;
  }

  sendonce_text* error() {
    text_ = {buffer_.data(), buffer_.size(), 0};
    buffer_[0] = '\0';
    return &text_;
  }
  std::string why() const { return buffer_.data(); }

  // Of the events logged so far.
  std::size_t logged(std::string_view event) {
    static_cast<void>(api_->pump(instance_, 1000));
    return static_cast<std::size_t>(std::ranges::count(logged_, event));
  }
  std::string metrics() {
    std::vector<char> text(std::size_t{1} << 20U);
    sendonce_text out{text.data(), text.size(), 0};
    EXPECT_EQ(api_->metrics(instance_, &out), SENDONCE_OK);
    return std::string(text.data(), out.size);
  }

  LedgerDir dir_{};
  std::string account_ = dir_.path() + "/account.json";
  std::string file_ = dir_.path() + "/sendonce.toml";
  TestCredentials credentials_ = make_test_credentials();
  const sendonce_module_api* api_ = sendonce_module_v1(SENDONCE_ABI_MINOR);
  sendonce_instance* instance_ = nullptr;
  std::array<char, 4096> buffer_{};
  sendonce_text text_{};
  std::vector<std::string> logged_{};
};

TEST_F(EntryTest, AChangedKeyRecipeIsRefusedAtTheNextStart) {
  ASSERT_EQ(live_once(), SENDONCE_OK) << why();
  remember_a_delivery();
  ASSERT_EQ(live_once(), SENDONCE_OK) << why();
  put_config("key = [\"event_id\", \"recipient\"]\n");
  EXPECT_EQ(live_once(), SENDONCE_E_INVALID);
  EXPECT_THAT(why(), AllOf(HasSubstr("1:event_id,recipient,channel,template"),
                           HasSubstr("key_previous"), HasSubstr("--accept-keys")));
  const std::string usual = "[\"event_id\", \"recipient\", \"channel\", \"template\"]\n";
  put_config("key = [\"event_id\", \"recipient\"]\nkey_previous = " + usual);
  EXPECT_EQ(live_once(), SENDONCE_OK) << why();
  put_config("key = [\"event_id\", \"recipient\"]\n");
  EXPECT_EQ(live_once(), SENDONCE_E_INVALID);  // too early
}

TEST_F(EntryTest, AnotherProjectIsRefusedAtTheNextStart) {
  ASSERT_EQ(live_once(), SENDONCE_OK) << why();
  remember_a_delivery();
  put_account("shop-two");
  EXPECT_EQ(live_once(), SENDONCE_E_INVALID);
  EXPECT_THAT(why(), AllOf(HasSubstr("fcm:shop-one"), HasSubstr("fcm:shop-two")));
}

TEST_F(EntryTest, AnotherProjectIsRefusedByAReload) {
  ASSERT_EQ(start(), SENDONCE_OK) << why();
  EXPECT_EQ(api_->reload(instance_, error()), SENDONCE_OK) << why();
  put_account("shop-two");
  EXPECT_EQ(api_->reload(instance_, error()), SENDONCE_E_INVALID);
  EXPECT_THAT(why(), AllOf(HasSubstr("provider.fcm"), HasSubstr("restart")));
  put_account("shop-one");
  EXPECT_EQ(api_->reload(instance_, error()), SENDONCE_OK) << why();
}

TEST_F(EntryTest, AnotherOwnerIsBusy) {
  const auto owner = open_ledger(ledger_options());
  ASSERT_TRUE(owner.has_value()) << owner.error().text;
  EXPECT_EQ(live_once(), SENDONCE_E_BUSY);
  EXPECT_THAT(why(), HasSubstr("has the ledger open already"));
}

TEST_F(EntryTest, ACredentialOpenToOthersIsDenied) {
  ASSERT_EQ(::chmod(account_.c_str(), 0644), 0);
  EXPECT_EQ(live_once(), SENDONCE_E_DENIED);
  EXPECT_THAT(why(), HasSubstr("open to group or others"));
}

// What is wrong besides is for the operator, and a service manager must not try again.
TEST_F(EntryTest, ADeniedCredentialInAWrongConfigurationIsInvalid) {
  ASSERT_EQ(::chmod(account_.c_str(), 0644), 0);
  put_config("claim = \"1s\"\n");
  EXPECT_EQ(live_once(), SENDONCE_E_INVALID);
}

TEST_F(EntryTest, ACertificateThatEndsSoonIsSaidAtTheStartAndByEachReload) {
  const Authority authority;
  const std::string ca = dir_.path() + "/ca.pem";
  const auto put_ca = [&](int days) {
    std::ofstream(ca) << authority.issue({.not_after = std::chrono::days(days)}).certificate;
  };
  const auto days_left = [&]() -> double {
    const std::string text = metrics();
    const std::string name =
        "sendonce_credential_expiry_timestamp_seconds{field=\"provider.fcm.tls.ca\",";
    const std::size_t at = text.find(name);
    if (at == std::string::npos) return -1;
    const std::size_t value = text.find("} ", at) + 2;
    const double end = std::stod(text.substr(value, text.find('\n', value) - value));
    return (end - static_cast<double>(std::time(nullptr))) / 86'400;
  };
  put_ca(5);
  put_config("[provider.fcm.tls]\nca = \"" + ca + "\"\n");
  ASSERT_EQ(start(), SENDONCE_OK) << why();
  EXPECT_EQ(logged("credential.expires_soon"), 1U);
  EXPECT_NEAR(days_left(), 5, 0.1);
  EXPECT_EQ(api_->reload(instance_, error()), SENDONCE_OK) << why();
  EXPECT_EQ(logged("credential.expires_soon"), 2U);
  put_ca(90);
  EXPECT_EQ(api_->reload(instance_, error()), SENDONCE_OK) << why();
  EXPECT_EQ(logged("credential.expires_soon"), 2U);
  EXPECT_EQ(logged("credential.expired"), 0U);
  EXPECT_NEAR(days_left(), 90, 0.1);
}

TEST_F(EntryTest, AListeningSocketOfTheHostIsServed) {
  const std::string path = dir_.path() + "/host.sock";
  const UniqueFd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  ASSERT_EQ(::listen(listening.get(), 4), 0);
  ASSERT_EQ(start(listening.get()), SENDONCE_OK) << why();
  auto client = AdminClient::connect(path, std::chrono::seconds(20));
  ASSERT_TRUE(client.has_value()) << client.error().text;
  const auto status = client->call({.verb = "status"});
  ASSERT_TRUE(status.has_value()) << status.error().text;
  EXPECT_THAT(*status, HasSubstr("\"edge\""));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/admin.sock"));
  close();
  EXPECT_NE(::fcntl(listening.get(), F_GETFD), -1) << "it is the host's";
  EXPECT_EQ(start(98765), SENDONCE_E_INVALID);
  EXPECT_THAT(why(), HasSubstr("admin_fd"));
}

}  // namespace
}  // namespace sendonce::test
