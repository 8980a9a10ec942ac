// A provider that somebody else has written: the port over the table of a module, which says what
// it likes and is believed as far as it can be (module_verdict.hpp, module_request.hpp).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "classifiers/foreign/module_table.hpp"
#include "classifiers/foreign/module_verdict.hpp"
#include "classifiers/provider.hpp"
#include "plugin/core/secret.hpp"
#include "plugin/message/http_spec.hpp"
#include "sendonce/abi/provider_auth.h"

namespace sendonce {

struct ModuleSetting {
  std::string name{};
  Credential value{};
  bool secret = false;  // from a credential file
  friend bool operator==(const ModuleSetting&, const ModuleSetting&) = default;
};

// Checked by the configuration.
struct ModuleOptions {
  ModuleTable table{};
  ProviderKind kind = ProviderKind::http;  // of its destinations: sms, email or http
  Channel channel = Channel::webhook;
  HttpVersion version = HttpVersion::two;
  std::string endpoint{};
  std::string token_endpoint{};
  IdempotencySpec idempotency{};
  std::vector<ModuleSetting> settings{};

  friend bool operator==(const ModuleOptions&, const ModuleOptions&) = default;
};

class ModuleProvider final : public Provider {
 public:
  // invalid: the module refuses its settings, or cannot do what the configuration asks for. The
  // text says what to write instead.
  [[nodiscard]] static Result<std::unique_ptr<ModuleProvider>> make(ModuleOptions options);

  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  [[nodiscard]] std::string app_scope() const override {
    return std::string(name(capabilities_.kind));
  }
  [[nodiscard]] Result<Destination> normal_form(const Target& target) const override;
  [[nodiscard]] Result<HttpRequest> prepare(const Attempt& attempt, WallTime now) override;
  [[nodiscard]] Verdict classify(const Target& target, const CallResult& result,
                                 WallTime now) const override {
    return judge(target, result, now).verdict;
  }
  // The same, with what was not believed.
  [[nodiscard]] Believed judge(const Target& target, const CallResult& result, WallTime now) const;

  [[nodiscard]] bool ready(WallTime now) const override;
  [[nodiscard]] std::optional<HttpRequest> needs_auth(WallTime now) override;
  [[nodiscard]] Verdict accept_auth(const CallResult& result, WallTime now) override;
  bool credential_refused(WallTime now) override;
  [[nodiscard]] std::uint64_t credential() const override { return credentials_; }

  [[nodiscard]] bool has_auth() const noexcept { return auth_ != nullptr; }
  [[nodiscard]] bool needs_receipt() const noexcept { return needs_receipt_; }

 private:
  struct Destroy {
    const sendonce_provider_api* api = nullptr;
    void operator()(sendonce_provider* instance) const { api->destroy(instance); }
  };
  using Instance = std::unique_ptr<sendonce_provider, Destroy>;

  ModuleProvider(ModuleOptions options, Instance instance)
      : options_(std::move(options)), instance_(std::move(instance)) {}
  [[nodiscard]] Result<void> describe();
  [[nodiscard]] Result<void> check_idempotency(const sendonce_provider_description& can) const;
  [[nodiscard]] Result<void> find_auth();
  [[nodiscard]] ModuleSaid ask(const Target& target, const sendonce_answer& answer) const;
  [[nodiscard]] std::vector<std::string_view> secrets() const;  // of the settings

  ModuleOptions options_;
  Instance instance_;
  Capabilities capabilities_{};
  bool needs_receipt_ = true;
  const sendonce_auth_api* auth_ = nullptr;
  std::optional<WallTime> auth_not_before_{};
  std::uint64_t credentials_ = 0;  // accepted
};

}  // namespace sendonce
