// The verbs of the admin socket by which people decide: resolve, replay, pause, resume. Each names
// who decided and why; the ledger stores it with the row and tells it in the row's event, the log
// has a line.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema.hpp"
#include "plugin/core/error.hpp"
#include "plugin/core/log.hpp"
#include "plugin/module/admin/admin_protocol.hpp"
#include "plugin/module/engine_thread.hpp"
#include "plugin/module/pauses.hpp"

namespace sendonce {

// What the verbs need of a running sidecar. Indices are positions, as everywhere.
struct OperatorView {
  struct Class {
    std::string name{};
    Duration expires{};
    Duration retention{};
  };
  struct Provider {
    std::string name{};
    std::string kind{};
  };
  std::vector<Class> classes{};
  std::vector<Provider> providers{};
  WallTime now{};
};
[[nodiscard]] OperatorView operator_view(const Config& config, WallTime now);

// Who decides and why. `needed`: without a reason it is refused.
struct Signature {
  std::string by{};
  std::string reason{};
};
[[nodiscard]] Result<Signature> signature_of(const AdminRequest& request, bool needed);
// "DEED by WHO: WHY"
[[nodiscard]] std::string signed_text(std::string_view deed, const Signature& signature);

// How long the admin thread waits for the engine, which turns many times a second when it is well.
inline constexpr Duration kEngineWithin = std::chrono::seconds(5);

// The ledger's answer to a person's request, of the kind that belongs to it; waits for it.
template <class T>
[[nodiscard]] Result<T> ask_ledger(EngineThread& engine, LedgerRequest request) {
  constexpr Duration kAnswerWithin = std::chrono::seconds(10);
  auto reply = engine.ask(std::move(request), kAnswerWithin);
  if (!reply) return std::unexpected(std::move(reply).error());
  auto* found = std::get_if<T>(&*reply);
  SO_ASSERT(found != nullptr);
  return std::move(*found);
}

[[nodiscard]] bool is_operator_verb(std::string_view verb);

// One at a time. Waits for the ledger, for a bounded time.
[[nodiscard]] Result<void> operate(const OperatorView& view, EngineThread& engine, Pauses& pauses,
                                   Log& log, const AdminRequest& request, AdminReply& reply);

// Before the first message: what was paused stays so. Names that are gone are left alone.
void apply_pauses(const Config& config, const Pauses& pauses, Engine& engine);

}  // namespace sendonce
