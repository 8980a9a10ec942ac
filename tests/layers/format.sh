#!/usr/bin/env bash
# The tree is formatted as clang-format 19 has it; other versions differ in details.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v clang-format-19 >/dev/null || {
  echo "clang-format-19 is missing: run packaging/deps.sh" >&2
  exit 1
}
if find plugin ledger classifiers config tests examples -type f \
  \( -name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h' \) -print0 |
  xargs -0 clang-format-19 --dry-run --Werror; then
  echo "format: clean"
else
  echo "format: run clang-format-19 -i on the files above" >&2
  exit 1
fi
