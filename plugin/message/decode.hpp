// Bytes -> Notification: total, bounded, strict (docs/formats.md, "Envelope";
// config/schema/notification.schema.json is the normative form).
#pragma once

#include <string_view>

#include "plugin/core/error.hpp"
#include "plugin/message/canonical.hpp"
#include "plugin/message/json.hpp"
#include "plugin/message/notification.hpp"

namespace sendonce {

// Keeps its buffers from envelope to envelope. One thread.
class EnvelopeDecoder {
 public:
  EnvelopeDecoder();

  // Any bytes give a notification or `invalid`, whose text has the JSON path of the fault and what
  // is allowed there, and never a value. What only a provider can judge (the form of its tokens,
  // whether a phone number is one) is left to it, so that one bad target does not take the others
  // with it.
  [[nodiscard]] Result<Notification> decode(std::string_view bytes);
  // The same into a notification that has been used before: its small buffers serve again.
  // After an error it holds some of what came before the fault.
  [[nodiscard]] Result<void> decode(std::string_view bytes, Notification& notification);

 private:
  [[nodiscard]] Result<void> read_notification(JsonReader& reader, const JsonPath& path,
                                               Content& content);
  [[nodiscard]] Result<void> read_data(JsonReader& reader, const JsonPath& path, Content& content);
  [[nodiscard]] Result<void> read_overrides(JsonReader& reader, const JsonPath& path,
                                            Notification& notification);
  [[nodiscard]] Result<void> read_envelope(JsonReader& reader, Notification& notification);

  JsonParser parser_;
  Canonicaliser canonicaliser_{};
};

// The canonical text of template, notification and collapse: what the fingerprint is made of,
// beside the overrides of a target's kind. What is empty is left out.
[[nodiscard]] std::string canonical_content(const Notification& notification);
void append_canonical_content(std::string& out, const Notification& notification);

}  // namespace sendonce
