// Overrides: an RFC 7396 merge patch on a payload that is otherwise written by hand.
#pragma once

#include <string_view>

#include "classifiers/json_tree.hpp"
#include "plugin/core/error.hpp"

namespace sendonce {

// RFC 7396 2: members of the patch replace those of the target, null removes, objects merge.
void merge_patch(JsonTree& target, const JsonTree& patch);

// Both texts are JSON objects; `what` names the patch in errors ("overrides.apns").
[[nodiscard]] Result<JsonTree> patched(std::string_view payload, std::string_view patch,
                                       std::string_view what);

}  // namespace sendonce
