#include "plugin/module/expiry.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "config/credentials.hpp"
#include "plugin/core/text.hpp"
#include "plugin/crypto/certificate.hpp"

namespace sendonce {
namespace {

void add(std::vector<FileEnd>& out, std::string field, std::string_view provider,
         std::optional<WallTime> end) {
  if (end) out.push_back({std::move(field), std::string(provider), *end});
}

}  // namespace

std::optional<WallTime> creds_end(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN NATS USER JWT-----";
  const std::size_t begin = text.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t first = text.find('.', begin);
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto claims = unbase64url(text.substr(first + 1, second - first - 1));
  if (!claims) return std::nullopt;
  const auto json = nlohmann::json::parse(*claims, nullptr, false);
  if (!json.is_object() || !json.contains("exp") || !json["exp"].is_number_integer())
    return std::nullopt;
  constexpr std::int64_t kLatest = 7'258'118'400;  // the year 2200; beyond, no end that matters
  const auto at = json["exp"].get<std::int64_t>();
  if (at <= 0 || at > kLatest) return std::nullopt;
  return WallTime(std::chrono::seconds(at));
}

std::optional<WallTime> ca_end(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string pem{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto ends = certificate_ends(pem);
  if (!ends) return std::nullopt;
  return ends->last;
}

std::vector<FileEnd> file_ends(const Config& config, std::string_view credentials_dir) {
  std::vector<FileEnd> out;
  if (config.nats.credentials)
    if (const auto creds = read_credential(*config.nats.credentials, credentials_dir))
      add(out, "nats.credentials", {}, creds_end(creds->expose()));
  if (!config.nats.ca.empty()) add(out, "nats.tls.ca", {}, ca_end(config.nats.ca));
  for (const ProviderConfig& p : config.providers)
    if (!p.ca.empty()) add(out, "provider." + p.name + ".tls.ca", p.name, ca_end(p.ca));
  return out;
}

void tell_ends(const std::vector<FileEnd>& ends, WallTime now, Log& log) {
  for (const FileEnd& of : ends) {
    const std::string at = rfc3339(of.end);
    if (of.end <= now)
      log.error("credential.expired", {{"field", of.field}, {"ended", at}});
    else if (of.end - now < kEndsSoon)
      log.warn("credential.expires_soon",
               {{"field", of.field},
                {"ends", at},
                {"days", std::chrono::floor<std::chrono::days>(of.end - now).count()}});
  }
}

}  // namespace sendonce
