// Which classes and providers people have paused, kept in a file beside the ledger: a pause
// outlives a restart. One thread at a time.
#pragma once

#include <map>
#include <string>

#include "plugin/core/error.hpp"

namespace sendonce {

enum class Pausable : std::uint8_t { message_class, provider };

class Pauses {
 public:
  using Reasons = std::map<std::string, std::string, std::less<>>;  // by name: who and why

  // What `directory` holds; nothing when there is no file. corrupt: it cannot be understood, and
  // going on as if nothing were paused would send what somebody has stopped.
  [[nodiscard]] static Result<Pauses> load(const std::string& directory);

  // Durable when it returns. An empty reason ends the pause.
  [[nodiscard]] Result<void> set(Pausable what, const std::string& name, const std::string& reason);
  [[nodiscard]] const Reasons& classes() const { return classes_; }
  [[nodiscard]] const Reasons& providers() const { return providers_; }

 private:
  [[nodiscard]] Result<void> store() const;

  std::string path_{};
  Reasons classes_{};
  Reasons providers_{};
};

}  // namespace sendonce
