// Any text as a script of the fake provider: rules that can be asked, or an error with its place.
// The text doubles as a token and as a pattern.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugin/core/assert.hpp"
#include "tests/support/script.hpp"

namespace sendonce::test {
namespace {

void ask(Script& script, std::string_view token) {
  for (const ProviderKind provider : {ProviderKind::apns, ProviderKind::fcm, ProviderKind::oauth}) {
    for (const Stage stage : {Stage::headers, Stage::request}) {
      const Action* action = script.match({.provider = provider,
                                           .token = token,
                                           .stage = stage,
                                           .since_start = std::chrono::seconds(3)});
      if (action == nullptr) continue;
      SO_ASSERT(action->status == 0 || (action->status >= 100 && action->status <= 999));
      SO_ASSERT(stage == Stage::request || !action->processed);
      SO_ASSERT(action->invalid_since >= Duration{0});
    }
  }
}

}  // namespace
}  // namespace sendonce::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace std::string_view_literals;
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto script = sendonce::test::Script::parse(text, "fuzz.toml");
  if (script) {
    sendonce::test::ask(*script, text.substr(0, 64));
    sendonce::test::ask(*script, "dead00"sv);
  } else {
    SO_ASSERT(script.error().code == sendonce::Errc::invalid);
    SO_ASSERT(script.error().text.starts_with("fuzz.toml"));
  }
  if (size <= 64) SO_ASSERT(sendonce::test::matches_pattern("*", text));
  if (size <= 64) static_cast<void>(sendonce::test::matches_pattern(text, "dead*beef"));
  return 0;
}
