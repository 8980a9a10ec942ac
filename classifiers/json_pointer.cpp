#include "classifiers/json_pointer.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace sendonce {
namespace {

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    if (!escape) {
      out.push_back(token[i]);
      continue;
    }
    out.push_back(token[++i] == '1' ? '/' : '~');
  }
  return out;
}

const JsonTree* element(const JsonTree& array, std::string_view token) {
  if (token.empty() || (token.size() > 1 && token.front() == '0')) return nullptr;
  std::size_t index = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
  if (read.ec != std::errc() || read.ptr != token.data() + token.size()) return nullptr;
  return index < array.children.size() ? &array.children[index] : nullptr;
}

}  // namespace

std::vector<const JsonTree*> at_pointer(const JsonTree& tree, std::string_view pointer) {
  std::vector<const JsonTree*> nodes{&tree};
  while (!pointer.empty()) {
    if (pointer.front() != '/') return {};
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    std::vector<const JsonTree*> next;
    for (const JsonTree* node : nodes) {
      const bool array = node->is(JsonTree::Type::array);
      if (array && token == "*") {
        for (const JsonTree& child : node->children) next.push_back(&child);
      } else if (const JsonTree* child =
                     array ? element(*node, token) : node->find(unescaped(token))) {
        next.push_back(child);
      }
    }
    nodes = std::move(next);
  }
  return nodes;
}

}  // namespace sendonce
