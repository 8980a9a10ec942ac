#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy. Slow: some ten seconds a file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'EOF'
Usage: packaging/tidy.sh [--all | --since REF | FILE...]

  --all         every source
  --since REF   the sources that differ from REF (default: main), committed or not
  FILE...       these

A header is checked with the sources that include it. Exits 1 when anything was found.
EOF
}

since=main
files=()
all=no
while [ $# -gt 0 ]; do
  case "$1" in
    --all) all=yes ;;
    --since) since=${2:?--since needs a commit} && shift ;;
    -h | --help) usage && exit 0 ;;
    -*) usage >&2 && exit 64 ;;
    *) files+=("$1") ;;
  esac
  shift
done

cmake --preset clang -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
database=build/clang/compile_commands.json

# Only what the build compiles can be checked.
known=$(python3 - "$database" "$PWD" <<'EOF'
import json, os, sys
for entry in json.load(open(sys.argv[1])):
    print(os.path.relpath(os.path.join(entry["directory"], entry["file"]), sys.argv[2]))
EOF
)

if [ "$all" = yes ]; then
  mapfile -t files <<<"$known"
elif [ ${#files[@]} -eq 0 ]; then
  changed=$(git diff --name-only --diff-filter=d "$(git merge-base "$since" HEAD)" -- '*.cpp' '*.c')
  mapfile -t files < <(comm -12 <(sort -u <<<"$known") <(sort -u <<<"$changed"))
fi

mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -E '\.(cpp|c)$' | sort -u)
if [ ${#files[@]} -eq 0 ]; then
  echo "tidy: no source to check"
  exit 0
fi

echo "tidy: ${#files[@]} files"
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" sh -c '
    if found=$(clang-tidy-19 --quiet -p build/clang "$1" 2>&1); then
      echo "tidy: ok $1"
    else
      echo "tidy: FOUND in $1"
      printf "%s\n" "$found"
      exit 1
    fi' tidy
