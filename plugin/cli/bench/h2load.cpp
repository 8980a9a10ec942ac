#include "plugin/cli/bench/h2load.hpp"

#include <array>
#include <fstream>
#include <utility>

#include "classifiers/apns/apns_token.hpp"
#include "plugin/cli/bench/measure.hpp"
#include "plugin/core/random.hpp"
#include "plugin/core/text.hpp"
#include "tests/support/process.hpp"

namespace sendonce::cli {
namespace {

constexpr std::size_t kTokens = 4096;
constexpr auto kPatience = std::chrono::minutes(5);

using Field = std::pair<const char*, const char*>;
// Beside `authorization`. The id is the same every time for both.
constexpr std::array<Field, 7> kFields{{{"apns-topic", "com.example.demo"},
                                        {"apns-push-type", "alert"},
                                        {"apns-priority", "10"},
                                        {"apns-expiration", "0"},
                                        {"apns-collapse-id", "order-8812"},
                                        {"apns-id", "01234567-89ab-8cde-8f01-23456789abcd"},
                                        {"content-type", "application/json"}}};

}  // namespace

ProviderPlace place_of(const World& world) {
  return {.endpoint = world.config().providers.front().endpoint, .directory = world.path(".")};
}

Result<H2load> H2load::make(ProviderPlace place, const Clock& clock) {
  H2load load(std::move(place), clock);
  SO_TRY(auto tokens,
         ApnsTokenSource::make({.team = "TEAM123456",
                                .key_id = "KEY1234567",
                                .key = Credential(test::read_file(load.place_.path("apns.p8")))}));
  tokens->keep_fresh(clock.wall());
  load.authorization_ = tokens->authorization();
  Random random(7);
  std::ofstream uris(load.place_.path("uris"));
  for (std::size_t i = 0; i < kTokens; ++i) {
    std::string token;
    for (int w = 0; w < 4; ++w) {
      const std::uint64_t word = random.next();
      append_hex(token, {reinterpret_cast<const char*>(&word), sizeof word});
    }
    load.paths_.push_back("/3/device/" + token);
    uris << load.place_.endpoint << load.paths_.back() << '\n';
  }
  load.body_ = R"({"aps":{"alert":{"title":"Your parcel","body":")" + std::string(200, 'x') +
               R"("}},"order":"8812","nid":"01234567-89ab-8cde-8f01-23456789abcd"})";
  std::ofstream(load.place_.path("body.json")) << load.body_;
  std::ofstream(load.place_.path("authorization")) << load.authorization_;
  return load;
}

HttpRequest H2load::request(std::size_t i) const {
  HttpRequest r;
  r.path = paths_[i % paths_.size()];
  r.headers.add("authorization", authorization_);
  for (const auto& [name, value] : kFields)
    r.headers.add(name, value, std::string_view(name) == "apns-id");
  r.body = body_;
  return r;
}

Result<LoadRun> H2load::run(std::uint64_t requests, std::uint32_t connections,
                            std::uint32_t streams) const {
  const std::string out = place_.path("h2load.out");
  std::vector<std::string> args{
      "-n", std::to_string(requests), "-c", std::to_string(connections),
      "-m", std::to_string(streams),  "-d", place_.path("body.json"),
      "-i", place_.path("uris"),      "-H", "authorization: " + authorization_};
  for (const auto& [name, value] : kFields) {
    args.emplace_back("-H");
    args.push_back(std::string(name) + ": " + value);
  }
  const Duration before = cpu_of_children();
  const MonoTime start = clock_.mono();
  auto process =
      test::Process::start({.program = "h2load", .args = std::move(args), .output = out});
  if (!process)
    return fail(process.error().code, process.error().text + " (package nghttp2-client)");
  if (!process->wait(kPatience)) return fail(Errc::unavailable, "h2load does not end");
  const auto seconds = std::chrono::duration<double>(clock_.mono() - start).count();
  const std::chrono::duration<double, std::micro> used = cpu_of_children() - before;
  const auto n = static_cast<double>(requests);
  LoadRun run{.requests_per_second = n / seconds, .cpu_us = used.count() / n};
  const std::string text = test::read_file(out);
  const std::size_t at = text.find("status codes: ");
  if (at == std::string::npos) return fail(Errc::unavailable, "h2load said: " + text);
  run.failed = requests - std::stoull(text.substr(at + 14));
  return run;
}

}  // namespace sendonce::cli
