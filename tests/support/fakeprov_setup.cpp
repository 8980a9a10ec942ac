#include "tests/support/fakeprov_setup.hpp"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "tests/support/temp_dir.hpp"

namespace sendonce::test {
namespace {

constexpr const char* kTopic = "com.example.app";

Result<void> write(const std::filesystem::path& file, std::string_view content, bool secret) {
  const mode_t before = ::umask(secret ? 0077 : 0022);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  ::umask(before);
  if (!out) return fail(Errc::unavailable, file.string() + ": cannot be written");
  return {};
}

Result<std::string> content_of(const std::string& option, const std::string& file) {
  std::string text = read_file(file);
  if (text.empty()) return fail(Errc::invalid, option + ": " + file + ": cannot be read, or empty");
  return text;
}

Result<void> add_fcm(const FakeprovArguments& a, FakeProviderOptions& out) {
  SO_TRY(const std::string text, content_of("--fcm-service-account", a.fcm_service_account));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("client_email") || !json.contains("private_key")) {
    return fail(Errc::invalid,
                "--fcm-service-account: " + a.fcm_service_account + ": not a service-account file");
  }
  std::string project = a.fcm_project;
  if (project.empty()) project = json.value("project_id", "");
  out.fcm = FcmConfig{.project = project};
  out.oauth = OauthConfig{.client_email = json.value("client_email", ""),
                          .key_pem = json.value("private_key", "")};
  if (const std::string uri = json.value("token_uri", ""); !uri.empty()) {
    out.oauth->audiences.push_back(uri);
  }
  return {};
}

Result<void> add_providers(const FakeprovArguments& a, FakeprovSetup& out) {
  const std::vector<std::string> topics =
      a.apns_topics.empty() ? std::vector<std::string>{kTopic} : a.apns_topics;
  if (!a.make_credentials.empty()) {
    out.made = make_test_credentials();
    out.made.team = a.apns_team;
    out.made.key_id = a.apns_key_id;
    out.made.topic = topics.front();
    if (!a.fcm_project.empty()) out.made.project = a.fcm_project;
    out.options = options_for(out.made);
    if (out.options.apns) out.options.apns->topics = topics;
  }
  if (!a.apns_key.empty()) {
    SO_TRY(const std::string pem, content_of("--apns-key", a.apns_key));
    out.options.apns = ApnsConfig{
        .keys = {{.team = a.apns_team, .key_id = a.apns_key_id, .pem = pem}}, .topics = topics};
  }
  if (!a.fcm_service_account.empty()) SO_CHECK(add_fcm(a, out.options));
  if (!out.options.apns && !out.options.fcm) {
    return fail(Errc::invalid,
                "nothing to serve: give --make-credentials DIR, or --apns-key FILE and/or "
                "--fcm-service-account FILE");
  }
  return {};
}

}  // namespace

Result<FakeprovSetup> set_up(const FakeprovArguments& a) {
  FakeprovSetup out{};
  SO_CHECK(add_providers(a, out));
  FakeProviderOptions& options = out.options;
  options.server.address = a.listen;
  options.server.port = a.port;
  for (const std::string& name : a.names) options.names.push_back("DNS:" + name);
  options.max_concurrent_streams = a.streams;
  options.record = a.record;
  options.latency = std::chrono::milliseconds(a.latency_ms);
  if (options.apns) {
    options.apns->sandbox = a.apns_sandbox;
    options.apns->lenient = a.lenient;
  }
  if (options.fcm) options.fcm->lenient = a.lenient;
  if (a.smtp_port) {
    options.mail = MailConfig{.address = a.listen,
                              .port = *a.smtp_port,
                              .starttls = a.smtp_starttls,
                              .latency = options.latency};
    if (!a.make_credentials.empty()) {
      options.mail->user = out.made.mail_user;
      options.mail->password = out.made.mail_password;
    }
  }
  if (!a.script.empty()) {
    SO_TRY(options.script, Script::load(a.script));
  }
  return out;
}

Result<void> write_files(const FakeprovArguments& a, const FakeprovSetup& setup,
                         const FakeProvider& provider) {
  if (!a.ca_out.empty()) SO_CHECK(write(a.ca_out, provider.ca_pem(), false));
  if (a.make_credentials.empty()) return {};
  const std::filesystem::path dir = a.make_credentials;
  std::error_code ignored;  // the writes will say
  std::filesystem::create_directories(dir, ignored);
  SO_CHECK(write(dir / "ca.pem", provider.ca_pem(), false));
  SO_CHECK(write(dir / "apns.p8", setup.made.apns.private_pem, true));
  SO_CHECK(write(dir / "vapid.pem", setup.made.vapid.private_pem, true));
  if (a.smtp_port) SO_CHECK(write(dir / "smtp-password", setup.made.mail_password, true));
  return write(dir / "service-account.json", service_account_for(setup.made, provider.token_uri()),
               true);
}

std::string ready_line(const FakeprovArguments& a, const FakeprovSetup& setup,
                       const FakeProvider& provider) {
  nlohmann::json out{{"port", provider.port()}, {"url", provider.url()}};
  const std::filesystem::path dir = a.make_credentials;
  if (!a.ca_out.empty()) out["ca"] = a.ca_out;
  if (a.ca_out.empty() && !dir.empty()) out["ca"] = (dir / "ca.pem").string();
  if (const auto& apns = setup.options.apns) {
    out["apns"] = {{"team", apns->keys.front().team},
                   {"key_id", apns->keys.front().key_id},
                   {"topics", apns->topics}};
    if (a.apns_key.empty()) out["apns"]["key"] = (dir / "apns.p8").string();
  }
  if (const auto& fcm = setup.options.fcm) {
    out["fcm"] = {{"project", fcm->project}, {"token_uri", provider.token_uri()}};
    if (a.fcm_service_account.empty()) {
      out["fcm"]["service_account"] = (dir / "service-account.json").string();
    }
  }
  if (const FakeWebPush* push = provider.webpush(); push != nullptr) {
    out["webpush"] = {{"vapid_key", (dir / "vapid.pem").string()},
                      {"endpoints", provider.url() + "/push/"},
                      {"p256dh", push->browser().p256dh()},
                      {"auth", push->browser().auth()}};
  }
  if (const std::string mail = provider.mail_url(); !mail.empty()) {
    out["smtp"] = {{"url", mail}};
    if (!dir.empty()) {
      out["smtp"]["user"] = setup.made.mail_user;
      out["smtp"]["password"] = (dir / "smtp-password").string();
    }
  }
  return out.dump();
}

}  // namespace sendonce::test
