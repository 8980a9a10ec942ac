#include "config/table_reader.hpp"

#include "plugin/core/nearest.hpp"

namespace sendonce {

std::string unknown_key_remedy(std::string_view key, std::span<const std::string_view> known) {
  if (const std::string_view close = nearest(key, known); !close.empty())
    return "did you mean " + std::string(close) + "?";
  return "known here: " + list_of(known);
}

std::string_view kind_text(AppliesTo kind) {
  if (kind == AppliesTo::apns) return "apns";
  return kind == AppliesTo::http ? "http" : "fcm";
}

}  // namespace sendonce
