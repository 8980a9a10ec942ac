#!/usr/bin/env bash
# From a fresh clone to the demonstration: installs what is missing, builds, runs `sendonce demo`.
# Arguments go to the demonstration; --help lists them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What the demonstration runs, and nothing of the tests.
targets=(sendonce_module sendonced sendonce sendonce-fakeprov)
log=build/quickstart.log

build() { cmake --preset dev && cmake --build --preset dev --target "${targets[@]}"; }

# A line every tenth of the build, from ninja's "[12/345] ...".
progress() {
  local line percent shown=0
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2]))
    if [ "$percent" -ge $((shown + 10)) ]; then
      shown=$((percent / 10 * 10))
      echo "quickstart: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
    fi
  done
}

packaging/deps.sh
mkdir -p build
echo "quickstart: building, some minutes the first time (all of it is in $log)"
if ! build 2>&1 | tee "$log" | progress; then
  tail -n 40 "$log" >&2
  echo "quickstart: the build failed, the whole of it is in $log" >&2
  exit 1
fi
exec build/dev/bin/sendonce demo "$@"
