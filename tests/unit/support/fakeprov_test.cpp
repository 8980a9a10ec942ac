// The program as users run it.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>

#include "plugin/core/unique_fd.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/support/provider_rig.hpp"

namespace sendonce::test {
namespace {

using Json = nlohmann::json;

class FakeprovTest : public testing::Test {
 protected:
  Process run(std::vector<std::string> args, std::vector<std::string> environment = {}) {
    auto started = Process::start({.program = SENDONCE_FAKEPROV,
                                   .args = std::move(args),
                                   .environment = std::move(environment),
                                   .output = dir / "out",
                                   .errors = dir / "err"});
    EXPECT_TRUE(started) << started.error().text;
    return started ? std::move(*started) : Process{};
  }
  Json ready() {
    std::string line;
    EXPECT_TRUE(eventually([&] {
      line = read_file(dir / "out");
      return line.ends_with('\n');
    })) << read_file(dir / "err");
    return Json::parse(line);
  }
  int exit_code(std::vector<std::string> args) {
    Process process = run(std::move(args));
    const auto exit = process.wait();
    return exit ? exit->code : -1;
  }
  std::string errors() const { return read_file(dir / "err"); }

  TempDir dir{};
};

TEST_F(FakeprovTest, makes_credentials_that_it_accepts) {
  Process process = run({"--make-credentials", (dir / "creds").string(), "--apns-topic",
                         "com.example.shop", "--record", (dir / "record").string()});
  const Json said = ready();
  const std::string ca = read_file(said["ca"].get<std::string>());
  EXPECT_EQ(ca, read_file(dir / "creds" / "ca.pem"));
  const Json account = Json::parse(read_file(said["fcm"]["service_account"].get<std::string>()));
  EXPECT_EQ(account["token_uri"], said["fcm"]["token_uri"]);
  auto client = RawClient::connect(said["port"].get<std::uint16_t>(), {.ca_pem = ca});
  ASSERT_TRUE(client) << client.error().text;
  const std::string token = apns_jwt(read_file(said["apns"]["key"].get<std::string>()),
                                     said["apns"]["key_id"].get<std::string>(),
                                     said["apns"]["team"].get<std::string>(), now_seconds());
  const RawAnswer& answer = (*client)->request(
      "POST", "/3/device/" + std::string(kToken),
      {{"authorization", "bearer " + token}, {"apns-topic", "com.example.shop"}}, kPayload);
  EXPECT_EQ(answer.status, 200) << answer.body;
  const auto exit = process.terminate();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, EX_OK);
  EXPECT_EQ(exit->signal, 0);
  EXPECT_NE(errors().find("\"accepted\":1"), std::string::npos);
  EXPECT_NE(read_file(dir / "record").find("\"accepted\":true"), std::string::npos);
}

TEST_F(FakeprovTest, takes_credentials_of_others) {
  const KeyPair key = make_p256_key();
  const KeyPair service = make_rsa_key();
  Process process =
      run({"--apns-key", dir.write("key.p8", key.private_pem).string(), "--apns-team", "TTTTTTTTTT",
           "--apns-key-id", "KKKKKKKKKK", "--ca-out", (dir / "ca.pem").string(),
           "--fcm-service-account",
           dir.write("account.json", service_account_json("shop", "s@shop.iam.gserviceaccount.com",
                                                          "https://oauth2.googleapis.com/token",
                                                          service.private_pem))
               .string()});
  const Json said = ready();
  EXPECT_EQ(said["fcm"]["project"], "shop");
  EXPECT_EQ(said["apns"]["team"], "TTTTTTTTTT");
  EXPECT_FALSE(said["apns"].contains("key"));
  EXPECT_TRUE(
      RawClient::connect(said["port"].get<std::uint16_t>(), {.ca_pem = read_file(dir / "ca.pem")}));
}

// What is started after it under systemd finds its files: docs/operations.md, "First run".
TEST_F(FakeprovTest, a_service_manager_hears_that_its_files_are_there) {
  const std::string path = (dir / "notify").string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  Process process =
      run({"--make-credentials", (dir / "creds").string()}, {"NOTIFY_SOCKET=" + path});
  char said[256];
  const ssize_t size = ::recv(socket.get(), said, sizeof said, 0);
  ASSERT_GT(size, 0) << errors();
  EXPECT_TRUE(std::string_view(said, static_cast<std::size_t>(size)).starts_with("READY=1\n"));
  EXPECT_FALSE(read_file(dir / "creds" / "apns.p8").empty());
}

// Sends to each recipient by Python's smtplib, and prints how each went.
constexpr const char* kSendMails = R"(
import smtplib, ssl, sys
url, ca, password, *recipients = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
text = "Message-ID: <11111111-2222-8333-9444-555555555555@example.com>\r\nSubject: x\r\n\r\n.x\r\n"
for to in recipients:
    try:
        with smtplib.SMTP_SSL("localhost", int(url.rpartition(":")[2]), context=context) as server:
            server.login("shop", password)
            server.sendmail("a@example.com", to, text)
        print("taken")
    except smtplib.SMTPRecipientsRefused as e:
        print(e.recipients[to][0])
    except smtplib.SMTPServerDisconnected:
        print("lost")
    except smtplib.SMTPResponseException as e:
        print(e.smtp_code, e.smtp_error.decode())
)";

// As strict as those of others: what is said too early, or twice, is refused.
TEST_F(FakeprovTest, a_mail_server_minds_the_order) {
  const Process provider = run({"--make-credentials", (dir / "creds").string(), "--smtp-port", "0",
                                "--smtp-starttls", "--record", (dir / "record").string()});
  const Json said = ready();
  const std::string talk = R"(
import smtplib, ssl, sys
url, ca, password = sys.argv[1:]
s = smtplib.SMTP("localhost", int(url.rpartition(":")[2]))
s.sock.settimeout(20)
def tell(*lines):
    for line in lines:
        print(line.split()[0], s.docmd(line)[0])
s.ehlo()
tell("MAIL FROM:<a@x>", "AUTH PLAIN AGEAYg==")
s.starttls(context=ssl.create_default_context(cafile=ca))
s.ehlo()
tell("STARTTLS", "MAIL FROM:<a@x>")
s.login("shop", password)
tell("AUTH PLAIN AGEAYg==", "RCPT TO:<b@x>", "MAIL FROM:<a@x>", "MAIL FROM:<a@x>", "DATA")
tell("RCPT TO:<b@x>", "RSET", "DATA")
text = "Subject: x\r\nmessage-ID:\r\n <k1@x>\r\n\r\nMessage-ID: <k2@x>\r\n"
s.sendmail("a@x", "b@x", text)
tell("RCPT TO:<b@x>")
s.sendmail("a@x", "b@x", "Message-ID: k4\r\nFrom: <k5@x>\r\n\r\nMessage-ID: <k3@x>\r\n")
)";
  auto client = Process::start({.program = "/usr/bin/python3",
                                .args = {"-c", talk, said["smtp"]["url"], said["ca"],
                                         read_file(said["smtp"]["password"].get<std::string>())},
                                .output = dir / "talk",
                                .errors = dir / "talk.err"});
  ASSERT_TRUE(client) << client.error().text;
  ASSERT_TRUE(client->wait());
  EXPECT_EQ(read_file(dir / "talk") + read_file(dir / "talk.err"),
            "MAIL 530\nAUTH 530\nSTARTTLS 503\nMAIL 530\nAUTH 503\nRCPT 503\nMAIL 250\nMAIL 503\n"
            "DATA 503\nRCPT 250\nRSET 250\nDATA 503\nRCPT 503\n");
  const std::string record = read_file(dir / "record");
  EXPECT_NE(record.find(R"("id":"k1")"), std::string::npos) << record;
  EXPECT_NE(record.find(R"("id":"sha256:)"), std::string::npos) << record;
  EXPECT_EQ(record.find(R"("id":"k3")"), std::string::npos) << "that is its body";
  EXPECT_EQ(record.find(R"("id":"k5")"), std::string::npos) << "that is its sender";
}

TEST_F(FakeprovTest, takes_mail_and_fails_as_the_script_says) {
  const std::string script = R"(
[[rule]]
provider = "smtp"
at = "headers"
token = "gone@*"
status = 550
reason = "5.1.1 no such user"
[[rule]]
provider = "smtp"
token = "grey@*"
nth = 1
status = 451
reason = "4.7.1 greylisted"
[[rule]]
provider = "smtp"
token = "lost@*"
nth = 1
delay = "10ms"
close = "rst"
processed = true
)";
  Process provider =
      run({"--make-credentials", (dir / "creds").string(), "--smtp-port", "0", "--record",
           (dir / "record").string(), "--script", dir.write("script.toml", script).string()});
  const Json said = ready();
  const auto send = [&](const std::string& password, std::vector<std::string> to) {
    std::filesystem::remove(dir / "mails");
    std::vector<std::string> args{"-c", kSendMails, said["smtp"]["url"], said["ca"], password};
    args.insert(args.end(), to.begin(), to.end());
    auto client = Process::start({.program = "/usr/bin/python3",
                                  .args = args,
                                  .output = dir / "mails",
                                  .errors = dir / "mails.err"});
    EXPECT_TRUE(client) << client.error().text;
    EXPECT_TRUE(client->wait());
    return read_file(dir / "mails") + read_file(dir / "mails.err");
  };
  EXPECT_EQ(send("wrong", {"a@x"}), "535 5.7.8 bad credentials\n");
  EXPECT_EQ(send(read_file(said["smtp"]["password"].get<std::string>()),
                 {"a@x", "gone@x", "grey@x", "grey@x", "lost@x", "lost@x"}),
            "taken\n550\n451 4.7.1 greylisted\ntaken\nlost\ntaken\n");
  auto client = RawClient::connect(said["port"].get<std::uint16_t>(),
                                   {.ca_pem = read_file(said["ca"].get<std::string>())});
  ASSERT_TRUE(client) << client.error().text;
  const auto page = [&](const std::string& path) {
    return Json::parse((*client)->request("GET", path, {}, "").body);
  };
  const std::string id = "&id=11111111-2222-8333-9444-555555555555";
  EXPECT_EQ(page("/__copies?provider=smtp&destination=grey@x" + id),
            (Json{{"received", 2}, {"accepted", 1}}));
  EXPECT_EQ((*client)->request("GET", "/__copies?destination=grey@x" + id, {}, "").status, 400);
  EXPECT_EQ(page("/__duplicates")["duplicates"],
            Json::array({{{"provider", "smtp"},
                          {"destination", "lost@x"},
                          {"id", "11111111-2222-8333-9444-555555555555"},
                          {"received", 2},
                          {"accepted", 2}}}));
  provider.terminate();
  const std::string record = read_file(dir / "record");
  EXPECT_EQ(std::ranges::count(record, '\n'), 5);  // mails that came with their end
  EXPECT_NE(record.find(R"("destination":"lost@x")"), std::string::npos);
}

TEST_F(FakeprovTest, help_has_an_example) {
  EXPECT_EQ(exit_code({"--help"}), EX_OK);
  const std::string help = read_file(dir / "out");
  EXPECT_NE(help.find("Example:"), std::string::npos);
  EXPECT_NE(help.find("--make-credentials"), std::string::npos);
}

TEST_F(FakeprovTest, exit_codes_say_what_is_wrong) {
  const std::string creds = (dir / "creds").string();
  EXPECT_EQ(exit_code({"--no-such-option"}), EX_USAGE);
  EXPECT_EQ(exit_code({}), EX_CONFIG);
  EXPECT_NE(errors().find("--make-credentials DIR"), std::string::npos);
  EXPECT_EQ(exit_code({"--make-credentials", creds, "--script",
                       dir.write("bad.toml", "[[rule]]\nstatus = 1\n").string()}),
            EX_CONFIG);
  EXPECT_NE(errors().find("bad.toml:2: status must be"), std::string::npos);
  const std::string smtp = "[[rule]]\nprovider = \"smtp\"\nreset = 2\nprocessed = true\n";
  EXPECT_EQ(
      exit_code({"--make-credentials", creds, "--script", dir.write("smtp.toml", smtp).string()}),
      EX_CONFIG);
  EXPECT_NE(errors().find("smtp.toml:3: reset means nothing to a mail server"), std::string::npos);
  EXPECT_EQ(exit_code({"--make-credentials", creds, "--smtp-starttls"}), EX_USAGE);
  EXPECT_EQ(exit_code({"--apns-key", (dir / "missing.p8").string()}), EX_CONFIG);
  EXPECT_EQ(exit_code({"--make-credentials", dir.write("a-file", "").string()}), EX_CANTCREAT);
  EXPECT_EQ(exit_code({"--make-credentials", creds, "--listen", "256.0.0.1"}), EX_CONFIG);
  Process first = run({"--make-credentials", creds});
  const std::string port = std::to_string(ready()["port"].get<int>());
  EXPECT_EQ(exit_code({"--make-credentials", creds, "--port", port}), EX_UNAVAILABLE);
  EXPECT_EQ(exit_code({"--make-credentials", creds, "--smtp-port", port}), EX_UNAVAILABLE);
}

}  // namespace
}  // namespace sendonce::test
