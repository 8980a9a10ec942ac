#include "classifiers/json_patch.hpp"

#include <string>
#include <utility>

namespace sendonce {
namespace {

// An envelope is at most 256 KiB; its parts nest less deep than itself.
constexpr JsonTreeLimits kPayloadLimits{.max_bytes = std::size_t{512} * 1024, .max_depth = 64};

void remove_member(JsonTree& object, std::string_view name) {
  for (std::size_t i = 0; i < object.names.size(); ++i) {
    if (object.names[i] != name) continue;
    object.names.erase(object.names.begin() + static_cast<std::ptrdiff_t>(i));
    object.children.erase(object.children.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

}  // namespace

void merge_patch(JsonTree& target, const JsonTree& patch) {
  if (!patch.is(JsonTree::Type::object)) {
    target = patch;
    return;
  }
  if (!target.is(JsonTree::Type::object)) {
    target = JsonTree{};
    target.type = JsonTree::Type::object;
  }
  for (std::size_t i = 0; i < patch.names.size(); ++i) {
    const std::string& name = patch.names[i];
    if (patch.children[i].is(JsonTree::Type::null)) {
      remove_member(target, name);
      continue;
    }
    JsonTree* member = target.find(name);
    if (member == nullptr) {
      target.names.push_back(name);
      member = &target.children.emplace_back();
    }
    merge_patch(*member, patch.children[i]);
  }
}

Result<JsonTree> patched(std::string_view payload, std::string_view patch, std::string_view what) {
  auto target = parse_json_tree(payload, kPayloadLimits);
  if (!target) return fail(Errc::invalid, "the payload is no JSON within the limits");
  const auto changes = parse_json_tree(patch, kPayloadLimits);
  if (!changes || !changes->is(JsonTree::Type::object))
    return fail(Errc::invalid, std::string(what) + " must be a JSON object");
  merge_patch(*target, *changes);
  return std::move(*target);
}

}  // namespace sendonce
