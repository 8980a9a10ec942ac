#!/usr/bin/env bash
# Installs what is missing, builds, runs every test. Exits 0 only when all of it succeeded.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'EOF'
Usage: tests/run.sh [OPTIONS]

Installs what is missing (packaging/deps.sh), then builds and tests three times:
  dev    gcc, optimised, warnings are errors; includes the layer and format checks
  asan   clang 19, AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer
  tsan   clang 19, ThreadSanitizer

  --quick      dev only
  --packages   also the Debian packages of this machine's release: built, checked by lintian,
               installed and operated in clean roots that boot (as root, else only built; a
               quarter of an hour)
  --long       longer simulations and crash runs (SENDONCE_TEST_LONG=1), the simulator's mutants,
               60 s of each fuzzer, example and page in Chromium, the packages: built,
               checked, installed in clean roots, of the other release too (as root): hours
  --tidy       clang-tidy over every source at the end (many minutes)
  --no-deps    do not look for missing packages
  -j N         parallel compile jobs and tests (default: the number of processors)
  -R REGEX     only the tests whose name matches: no mutants, no fuzzers, no packages
  --help       this text

To run one test by hand:
  cmake --preset dev && cmake --build --preset dev && ctest --preset dev -R NAME
EOF
}

suites=(dev asan tsan)
deps=yes
tidy=no
long=no
packages=()
jobs=$(nproc)
select_tests=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) suites=(dev) ;;
    --packages) [ ${#packages[@]} -gt 0 ] || packages=(deb) ;;
    --long) export SENDONCE_TEST_LONG=1 && long=yes && packages=(deb rpm) ;;
    --tidy) tidy=yes ;;
    --no-deps) deps=no ;;
    -j) jobs=${2:?-j needs a number} && shift ;;
    -R) select_tests=(-R "${2:?-R needs a regular expression}") && shift ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && printf '\nunknown option: %s\n' "$1" >&2 && exit 64 ;;
  esac
  shift
done

summary=()
failures=0

# step NAME COMMAND...: runs it and remembers how it went and how long it took.
step() {
  local name=$1 begun=$SECONDS outcome=ok
  shift
  printf '\n==== %s\n' "$name"
  if ! "$@"; then
    outcome=FAILED
    failures=$((failures + 1))
  fi
  summary+=("$(printf '%-7s %5ds  %s' "$outcome" $((SECONDS - begun)) "$name")")
  [ "$outcome" = ok ]
}

skip() { summary+=("$(printf '%-7s %6s  %s' skipped - "$1")"); }

finish() {
  printf '\n==== summary\n'
  printf '%s\n' "${summary[@]}"
  if [ "$failures" -eq 0 ]; then
    printf 'tests/run.sh: everything passed in %ds\n' "$SECONDS"
    exit 0
  fi
  printf 'tests/run.sh: %d step(s) FAILED, see above\n' "$failures"
  exit 1
}

more_than_tests=$long
if [ ${#select_tests[@]} -gt 0 ]; then packages=() more_than_tests=no; fi
no_deps=()
if [ "$deps" = no ]; then no_deps=(--no-deps); fi
if [ "$deps" = yes ]; then
  more=()
  if [ "$long" = yes ]; then more=(--browser); fi
  if [ ${#packages[@]} -gt 0 ]; then more+=(--packaging); fi
  step "install what is missing" packaging/deps.sh "${more[@]}" || finish
fi

# For the page's test, which is skipped without it. From the registry of npm, into build/.
playwright() { npm install --no-audit --no-fund --prefix build/playwright playwright-core@1; }
if [ "$long" = yes ] && [ -z "${SENDONCE_PLAYWRIGHT:-}" ]; then
  if ! command -v npm >/dev/null; then
    skip "playwright-core: npm is not installed"
  elif step "playwright-core" playwright; then
    export SENDONCE_PLAYWRIGHT="$PWD/build/playwright"
  fi
fi

build() { cmake --preset "$1" && cmake --build --preset "$1" --parallel "$jobs"; }
run_tests() { ctest --preset "$1" --parallel "$jobs" "${select_tests[@]}"; }

for suite in "${suites[@]}"; do
  if step "$suite: build" build "$suite"; then
    step "$suite: test" run_tests "$suite" || true
  else
    skip "$suite: test"
  fi
done

build_fuzzers() {
  cmake --preset fuzz && cmake --build --preset fuzz --target fuzzers --parallel "$jobs"
}
if [ "$more_than_tests" = yes ]; then
  step "mutants" tests/simulation/mutants/run.py --jobs "$jobs" || true
  if step "fuzz: build" build_fuzzers; then
    step "fuzz: run" tests/fuzz/run --seconds 60 || true
  else
    skip "fuzz: run"
  fi
fi

in_clean_root() {
  if [ "$(id -u)" -eq 0 ]; then step "$@" || true; else skip "$1: needs root"; fi
}

for kind in "${packages[@]}"; do
  if step "packages: build $kind" packaging/build.sh "$kind" -j "$jobs" "${no_deps[@]}"; then
    in_clean_root "packages: $kind in a clean root" "packaging/test/$kind.sh"
  else
    skip "packages: $kind in a clean root"
  fi
done
if [ "$more_than_tests" = yes ]; then
  other=$(. /etc/os-release && [ "${VERSION_CODENAME:-}" = trixie ] && echo bookworm || echo trixie)
  in_clean_root "packages: deb of $other" packaging/test/deb.sh --suite "$other" --build
fi

if [ "$tidy" = yes ]; then
  step "clang-tidy" packaging/tidy.sh --all || true
fi

finish
