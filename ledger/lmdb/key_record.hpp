// Key marks in the ledger's meta table: read, judged and written in one transaction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ledger/key_marks.hpp"
#include "ledger/lmdb/meta_table.hpp"

namespace sendonce {

struct KeyConflicts {
  std::vector<std::string> texts{};
  std::vector<std::string> scopes{};  // whose keys change
};

// Compares and writes down what is in force from now on; whoever does not accept the conflicts
// drops the transaction. `with_rows`: the scopes that remember something, of classes that are away,
// too; of the others nothing can be sent again.
[[nodiscard]] Result<KeyConflicts> put_key_marks(const LmdbTxn& txn, const MetaTable& meta,
                                                 const KeyMarks& marks, WallTime memory_now,
                                                 const std::vector<std::string>& with_rows);

}  // namespace sendonce
