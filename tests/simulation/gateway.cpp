#include "tests/simulation/gateway.hpp"

#include <utility>

#include "classifiers/http/http_provider.hpp"
#include "tests/simulation/world.hpp"

namespace sendonce::sim {
namespace {

TextTemplate text(std::string_view source, TemplateUse use) {
  auto parsed = TextTemplate::parse(source, use);
  if (!parsed) broken(0, parsed.error().text);
  return std::move(*parsed);
}

JsonTemplate body() {
  JsonTemplate json;
  for (const auto& [member, value] :
       {std::pair("to", "{phone}"), std::pair("body", "{body}"), std::pair("reference", "{key}")}) {
    json.names.emplace_back(member);
    json.children.push_back(
        {.type = JsonTemplate::Type::text, .text = text(value, TemplateUse::json)});
  }
  return json;
}

AnswerRule line(int status, std::string_view code, VerdictClass verdict) {
  AnswerRule rule;
  rule.status = {{status, status}};
  if (!code.empty()) {
    rule.pointer = "/code";
    rule.equals = {std::string(code)};
  }
  rule.verdict = verdict;
  return rule;
}

// What dialect.cpp says, read as an operator would write it down.
std::vector<AnswerRule> answers() {
  AnswerRule busy = line(503, "busy", VerdictClass::retryable);
  busy.effect = Effect::not_sent;
  AnswerRule number = line(429, "number", VerdictClass::throttled);
  number.scope = FaultScope::device;
  return {busy,
          number,
          line(429, "account", VerdictClass::throttled),
          line(401, "", VerdictClass::provider_auth),
          line(403, "sender", VerdictClass::config_error),
          line(400, "gone", VerdictClass::token_terminal),
          line(400, "mismatch", VerdictClass::token_mismatch),
          line(400, "", VerdictClass::payload_error)};
}

}  // namespace

std::unique_ptr<Provider> make_gateway(const std::string& name) {
  HttpOptions options{.endpoint = "https://" + name + ".example",
                      .secret = Credential(std::string("secret-of-") + name)};
  options.spec.channel = Channel::sms;
  options.spec.path = text("/messages", TemplateUse::text);
  options.spec.auth.type = HttpAuth::bearer;
  options.spec.json = body();
  options.spec.receipt_pointer = "/id";
  options.spec.answers = answers();
  auto provider = make_http_provider(options);
  if (!provider) broken(0, provider.error().text);
  return std::move(*provider);
}

}  // namespace sendonce::sim
