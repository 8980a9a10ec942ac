// RFC 6901, read only, with one addition: `*` stands for each element of an array.
#pragma once

#include <string_view>
#include <vector>

#include "classifiers/json_tree.hpp"

namespace sendonce {

// Everything that stands there, in order. "" is the whole tree; "-" and indices with leading zeros
// are nowhere.
[[nodiscard]] std::vector<const JsonTree*> at_pointer(const JsonTree& tree,
                                                      std::string_view pointer);

}  // namespace sendonce
