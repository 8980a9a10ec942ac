#!/usr/bin/env bash
# From a fresh clone to the demonstration: installs what is missing, builds, runs `sendonce demo`.
# Arguments go to the demonstration; --help lists them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packaging/deps.sh
echo "quickstart: building"
log=build/quickstart.log
mkdir -p build
if ! { cmake --preset dev && cmake --build --preset dev; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "quickstart: the build failed, the whole of it is in $log" >&2
  exit 1
fi
exec build/dev/bin/sendonce demo "$@"
