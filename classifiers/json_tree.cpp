#include "classifiers/json_tree.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "plugin/core/text.hpp"

namespace sendonce {
namespace {

// Builds the tree from nlohmann's events, which come from a parser without recursion.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(std::size_t max_depth) : max_depth_(max_depth) {}

  [[nodiscard]] JsonTree take() { return std::move(root_); }

  bool null() override { return put(JsonTree{}); }
  bool boolean(bool value) override {
    return put(leaf(JsonTree::Type::boolean, value ? "true" : "false"));
  }
  bool number_integer(number_integer_t value) override {
    return put(leaf(JsonTree::Type::number, std::to_string(value)));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return put(leaf(JsonTree::Type::number, std::to_string(value)));
  }
  bool number_float(number_float_t /*value*/, const string_t& written) override {
    return put(leaf(JsonTree::Type::number, written));
  }
  bool string(string_t& value) override {
    return put(leaf(JsonTree::Type::string, std::move(value)));
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(JsonTree::Type::object); }
  bool start_array(std::size_t /*size*/) override { return open(JsonTree::Type::array); }
  bool key(string_t& name) override {
    stack_.back().names.push_back(std::move(name));
    return true;
  }
  bool end_object() override { return has_no_duplicates(stack_.back()) && close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  static JsonTree leaf(JsonTree::Type type, std::string text) {
    JsonTree value;
    value.type = type;
    value.text = std::move(text);
    return value;
  }

  static bool has_no_duplicates(const JsonTree& object) {
    std::vector<std::string_view> names(object.names.begin(), object.names.end());
    std::sort(names.begin(), names.end());
    return std::adjacent_find(names.begin(), names.end()) == names.end();
  }

  bool put(JsonTree value) {
    if (stack_.empty())
      root_ = std::move(value);
    else
      stack_.back().children.push_back(std::move(value));
    return true;
  }

  bool open(JsonTree::Type type) {
    if (stack_.size() >= max_depth_) return false;
    stack_.push_back(leaf(type, {}));
    return true;
  }

  bool close() {
    JsonTree value = std::move(stack_.back());
    stack_.pop_back();
    return put(std::move(value));
  }

  std::size_t max_depth_;
  JsonTree root_{};
  std::vector<JsonTree> stack_{};  // open arrays and objects
};

}  // namespace

const JsonTree* JsonTree::find(std::string_view name) const {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return &children[i];
  return nullptr;
}

JsonTree* JsonTree::find(std::string_view name) {
  return const_cast<JsonTree*>(std::as_const(*this).find(name));
}

std::string_view JsonTree::string_at(std::string_view name) const {
  const JsonTree* member = find(name);
  return member != nullptr && member->type == Type::string ? std::string_view(member->text)
                                                           : std::string_view();
}

std::optional<std::int64_t> JsonTree::integer() const {
  if (type != Type::number) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<JsonTree> parse_json_tree(std::string_view text, const JsonTreeLimits& limits) {
  if (text.size() > limits.max_bytes) return std::nullopt;
  Builder builder(limits.max_depth);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.take();
}

void append_json(std::string& out, const JsonTree& value) {
  switch (value.type) {
    case JsonTree::Type::null:
      out.append("null");
      return;
    case JsonTree::Type::boolean:
    case JsonTree::Type::number:
      out.append(value.text);
      return;
    case JsonTree::Type::string:
      append_json_string(out, value.text);
      return;
    case JsonTree::Type::array: {
      char before = '[';
      for (const JsonTree& child : value.children) {
        out.push_back(std::exchange(before, ','));
        append_json(out, child);
      }
      out.append(value.children.empty() ? "[]" : "]");
      return;
    }
    case JsonTree::Type::object: {
      char before = '{';
      for (std::size_t i = 0; i < value.names.size(); ++i) {
        out.push_back(std::exchange(before, ','));
        append_json_string(out, value.names[i]);
        out.push_back(':');
        append_json(out, value.children[i]);
      }
      out.append(value.names.empty() ? "{}" : "}");
      return;
    }
  }
}

}  // namespace sendonce
