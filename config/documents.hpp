// The files of a configuration, sorted into its tables: the main file and conf.d/*.toml beside it,
// in the order of their names. A table may be given once in all of them.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "config/finding.hpp"
#include "config/toml_shim.hpp"

namespace sendonce {

struct Tables {
  const TomlNode* instance = nullptr;
  const TomlNode* nats = nullptr;
  const TomlNode* ledger = nullptr;
  const TomlNode* metrics = nullptr;
  const TomlNode* devices = nullptr;
  const TomlNode* class_defaults = nullptr;
  std::vector<std::pair<std::string, const TomlNode*>> providers{};  // in the order of the files
  std::vector<std::pair<std::string, const TomlNode*>> classes{};
};

class Documents {
 public:
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;
  Documents(Documents&&) = default;
  Documents& operator=(Documents&&) = default;
  ~Documents() = default;

  // Reads what there is; everything wrong becomes a finding. Files that are not TOML are left out.
  static Documents from_files(const std::string& main_path, Findings& findings);
  // One file of conf.d by itself.
  static Documents from_fragment(const std::string& path, Findings& findings);
  // One text, without conf.d. `file` is what positions say.
  static Documents from_text(std::string_view text, const std::string& file, Findings& findings);
  // The same for one file of conf.d.
  static Documents from_fragment_text(std::string_view text, const std::string& file,
                                      Findings& findings);

  // Borrowed from this object.
  [[nodiscard]] const Tables& tables() const noexcept { return tables_; }
  [[nodiscard]] bool empty() const noexcept { return roots_.empty(); }

 private:
  Documents() = default;
  void add(TomlNode root, bool main, Findings& findings);
  void add_file(const std::string& path, bool main, Findings& findings);
  void add_text(std::string_view text, const std::string& file, bool main, Findings& findings);
  void sort_in(const std::string& name, const TomlNode& node, Findings& findings);
  void sort_in_defaults(const TomlNode& defaults, Findings& findings);

  std::deque<TomlNode> roots_{};  // never moves a root: tables_ points into them
  Tables tables_{};
};

}  // namespace sendonce
