#include "ledger/lmdb/key_record.hpp"

#include <algorithm>
#include <array>

#include "ledger/bytes.hpp"

namespace sendonce {
namespace {

constexpr std::string_view kNormalForms = "normal_forms";
constexpr std::size_t kTimeBytes = sizeof(std::uint64_t);

std::string recipe_key(std::string_view scope) {
  return "recipe:" + std::string(scope);
}
std::string before_key(std::string_view scope) {
  return "recipe_before:" + std::string(scope);
}
std::string app_key(std::string_view provider) {
  return "app:" + std::string(provider);
}

Result<StoredKeys> read_keys(const LmdbTxn& txn, const MetaTable& meta, const std::string& scope) {
  StoredKeys stored;
  SO_TRY(const auto recipe, meta.text(txn, recipe_key(scope)));
  stored.recipe = recipe.value_or("");
  SO_TRY(const auto before, meta.text(txn, before_key(scope)));
  if (!before) return stored;
  if (before->size() < kTimeBytes)
    return fail(Errc::corrupt, "ledger: the earlier key recipe of " + scope + " is damaged");
  stored.replaced = WallTime(Duration(static_cast<Duration::rep>(load<std::uint64_t>(*before, 0))));
  stored.before = before->substr(kTimeBytes);
  return stored;
}

Result<void> write_keys(const LmdbTxn& txn, const MetaTable& meta, const std::string& scope,
                        const StoredKeys& keys) {
  SO_CHECK(meta.put_text(txn, recipe_key(scope), keys.recipe));
  if (keys.before.empty()) return meta.remove(txn, before_key(scope));
  std::string bytes(kTimeBytes, '\0');
  store(bytes.data(), static_cast<std::uint64_t>(keys.replaced.time_since_epoch().count()));
  return meta.put_text(txn, before_key(scope), bytes + keys.before);
}

// The version that keys have had so far, when it is not the one in force.
Result<std::string> other_normal_forms(const LmdbTxn& txn, const MetaTable& meta,
                                       std::uint64_t version) {
  SO_TRY(const std::uint64_t stored, meta.number(txn, kNormalForms));
  SO_CHECK(meta.put_number(txn, kNormalForms, version));
  if (stored == 0 || stored == version) return std::string();
  return "ledger: keys were made with version " + std::to_string(stored) +
         " of the normal forms of destinations, this program makes them with version " +
         std::to_string(version) +
         ": what was sent would be sent again. Go back to the other program, or accept it with "
         "`sendonce setup --accept-keys`";
}

}  // namespace

Result<KeyConflicts> put_key_marks(const LmdbTxn& txn, const MetaTable& meta, const KeyMarks& marks,
                                   WallTime memory_now, const std::vector<std::string>& with_rows) {
  KeyConflicts found;
  for (const ScopeKeys& wanted : marks.scopes) {
    SO_TRY(StoredKeys stored, read_keys(txn, meta, wanted.scope));
    if (std::ranges::find(with_rows, wanted.scope) == with_rows.end()) stored = {};
    if (auto why = judge_keys(wanted, stored, memory_now)) {
      found.texts.push_back(std::move(*why));
      found.scopes.push_back(wanted.scope);
      stored = {};  // once accepted, the old recipe is asked for no more
    }
    SO_CHECK(write_keys(txn, meta, wanted.scope, next_keys(wanted, stored, marks.now)));
  }
  bool all_change = false;
  const auto concerns_all = [&](std::string why) {
    if (with_rows.empty()) return;
    found.texts.push_back(std::move(why));
    all_change = true;
  };
  SO_TRY(std::string forms, other_normal_forms(txn, meta, marks.normal_forms));
  if (!forms.empty()) concerns_all(std::move(forms));
  for (const AppKeys& wanted : marks.apps) {
    SO_TRY(const auto stored, meta.text(txn, app_key(wanted.provider)));
    if (auto why = judge_app(wanted, stored.value_or(""))) concerns_all(std::move(*why));
    SO_CHECK(meta.put_text(txn, app_key(wanted.provider), wanted.app));
  }
  if (all_change) found.scopes = with_rows;
  return found;
}

}  // namespace sendonce
