// The shipped profiles and the recorded answers of profiles.jsonl.
#pragma once

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "classifiers/classify_lines.hpp"
#include "classifiers/http/http_answers.hpp"
#include "config/loader.hpp"
#include "tests/corpus/corpus.hpp"

namespace sendonce::test {

using Profiles = std::map<std::string, ProviderConfig>;

// Each must be read without a finding.
inline Profiles profiles() {
  Profiles out;
  for (const auto& file :
       std::filesystem::directory_iterator(SENDONCE_SOURCE_DIR "/classifiers/profiles")) {
    LoadResult loaded = load_providers(file.path().string());
    for (const Finding& finding : loaded.findings) ADD_FAILURE() << to_text(finding);
    if (!loaded.config) continue;
    for (ProviderConfig& provider : loaded.config->providers)
      out.emplace(provider.name, std::move(provider));
  }
  return out;
}

inline std::vector<Json> profile_lines() {
  std::ifstream file(SENDONCE_SOURCE_DIR "/tests/corpus/profiles.jsonl");
  std::vector<Json> out;
  for (std::string line; std::getline(file, line);) out.push_back(Json::parse(line));
  return out;
}

inline std::string destination_on(Channel channel) {
  if (channel == Channel::sms) return "+15555550100";
  if (channel == Channel::push) return "AAWWmadeuptoken";
  return channel == Channel::email ? "a@example.com" : "https://example.com/x";
}

inline OtherJudge judge_of(const Profiles& all) {
  return [&all](std::string_view provider, const CallResult& result,
                const std::optional<Verdict>& /*known*/, WallTime now) -> std::optional<Verdict> {
    const auto found = all.find(std::string(provider));
    if (found == all.end()) return std::nullopt;
    return judge_http(found->second.http, result, now);
  };
}

}  // namespace sendonce::test
