// Any bytes give a notification or `invalid`, and what was accepted keeps what the rest relies on.
// Seeds: tests/unit/message/examples/valid and invalid.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/core/assert.hpp"
#include "plugin/message/decode.hpp"
#include "plugin/message/key.hpp"
#include "plugin/message/normal_form.hpp"
#include "plugin/message/target_decoder.hpp"

namespace {

void check_error(const sendonce::Error& error) {
  SO_ASSERT(error.code == sendonce::Errc::invalid);
  SO_ASSERT(error.text.starts_with("$"));
  for (const char c : error.text) SO_ASSERT(c >= ' ' && c <= '~');  // safe to log and to send on
}

// Canonical text is JSON, and its own canonical text.
void check_canonical(std::string_view text) {
  static sendonce::JsonParser parser{sendonce::JsonLimits{.max_bytes = 2U << 20U, .max_depth = 40}};
  const auto again = sendonce::canonical_json(parser, text);
  SO_ASSERT(again && *again == text);
}

void check_notification(const sendonce::Notification& n) {
  SO_ASSERT(!n.event_id.empty() && !n.recipient.empty());
  SO_ASSERT(!n.targets.empty() && n.targets.size() <= sendonce::kMaxTargets);
  check_canonical(n.canonical_content);
  for (const auto& [kind, text] : n.overrides) check_canonical(text);
  static sendonce::KeyMaker keys{sendonce::Credential("0123456789abcdef")};
  for (const sendonce::Target& target : n.targets) {
    SO_ASSERT(!target.destination.empty());
    SO_ASSERT(target.provider.empty() == target.kind.has_value());
    static_cast<void>(sendonce::normal_phone(target.destination));
    static_cast<void>(sendonce::normal_email(target.destination));
    static_cast<void>(sendonce::normal_url(target.destination));
  }
  static_cast<void>(keys.fingerprint(n, sendonce::ProviderKind::apns));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static sendonce::EnvelopeDecoder decoder;
  const auto n = decoder.decode({reinterpret_cast<const char*>(data), size});
  if (n) {
    check_notification(*n);
  } else {
    check_error(n.error());
  }
  return 0;
}
