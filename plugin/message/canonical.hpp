// One text for one JSON value (docs/formats.md, "Canonical text"): no space, members sorted by the
// bytes of their names as written here, strings with the fewest escapes, numbers as they came.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/core/error.hpp"
#include "plugin/message/json.hpp"
#include "plugin/message/json_path.hpp"

namespace sendonce {

// Keeps its buffers from value to value. One thread.
class Canonicaliser {
 public:
  // Appends the value at the reader, which stands at `path`, and moves past it. invalid: an object
  // in it has a member twice; the text names the path.
  [[nodiscard]] Result<void> append(std::string& out, JsonReader& reader, const JsonPath& path);

 private:
  struct Member {
    std::size_t at = 0;         // where it starts in the output
    std::size_t name_size = 0;  // of the escaped name, without quotes
    std::size_t size = 0;       // of the name, the colon and the value
  };

  [[nodiscard]] Result<void> append_value(std::string& out, JsonReader& reader,
                                          const JsonPath& path);
  [[nodiscard]] Result<void> append_object(std::string& out, JsonReader& reader,
                                           const JsonPath& path);
  [[nodiscard]] Result<void> append_array(std::string& out, JsonReader& reader,
                                          const JsonPath& path);
  [[nodiscard]] Result<void> sort_members(std::string& out, std::size_t first,
                                          const JsonPath& path);

  std::vector<Member> members_{};  // a stack: those of the innermost object are at the end
  std::string string_{};
  std::string sorted_{};
};

// The canonical text of a whole text.
[[nodiscard]] Result<std::string> canonical_json(JsonParser& parser, std::string_view text);

}  // namespace sendonce
