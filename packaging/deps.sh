#!/usr/bin/env bash
# Installs what building and testing sendonce need, from Debian 12 or 13 and nowhere else.
set -euo pipefail

usage() {
  cat <<'EOF'
Usage: packaging/deps.sh [--bench] [--browser] [--packaging] [--list]

Installs the Debian packages that building and testing need. Asks apt only for what is missing and
does nothing, quickly, when all of it is there. Services that come with a package are not started.

  --bench   also what tests/bench compares with (Redis, SQLite, PostgreSQL)
  --browser also Chromium, which tests/browser drives
  --packaging
            also what packaging/build.sh and packaging/test need
  --list    print the packages, one a line, and change nothing
  --help    this text
EOF
}

# What checks the metrics and the alert rules: a package of its own since Debian 13.
promtool=prometheus
if [ "$(. /etc/os-release && printf '%s' "${VERSION_ID:-}")" = 13 ]; then promtool=promtool; fi

build_packages=(
  g++ cmake ninja-build pkgconf
  libnats-dev liblmdb-dev libcurl4-openssl-dev libnghttp2-dev libssl-dev
  libsimdjson-dev libtoml11-dev nlohmann-json3-dev libfmt-dev libspdlog-dev libcli11-dev
  prometheus-cpp-dev libmicrohttpd-dev libjemalloc-dev
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
  scdoc
)
test_packages=(
  clang-19 libclang-rt-19-dev llvm-19 clang-tidy-19 clang-format-19
  nats-server nghttp2-client python3 python3-cryptography python3-jsonschema
  python3-aiosmtpd spin openssl ca-certificates binutils
)
packaging_packages=(
  build-essential debhelper dpkg-dev lintian rpm rpmlint debootstrap systemd-container
  zsh fish bash-completion
  "$promtool"
)
browser_packages=(chromium python3-websocket)
bench_packages=(redis-server libhiredis-dev libsqlite3-dev postgresql libpq-dev)
# What these packages would start, and start again at every boot.
services=(nats-server redis-server postgresql prometheus)

say() { printf 'deps: %s\n' "$*"; }
die() {
  printf 'deps: error: %s\n' "$*" >&2
  exit 1
}

packages=("${build_packages[@]}" "${test_packages[@]}")
list_only=no
while [ $# -gt 0 ]; do
  case "$1" in
    --bench) packages+=("${bench_packages[@]}") ;;
    --browser) packages+=("${browser_packages[@]}") ;;
    --packaging) packages+=("${packaging_packages[@]}") ;;
    --list) list_only=yes ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && die "unknown option: $1" ;;
  esac
  shift
done

if [ "$list_only" = yes ]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  die "this is not Debian (no apt-get). Install by hand what 'packaging/deps.sh --list' prints."

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  say "all ${#packages[@]} packages are there"
  exit 0
fi

release=$(. /etc/os-release && printf '%s %s' "${ID:-unknown}" "${VERSION_ID:-unknown}")
case "$release" in
  "debian 12" | "debian 13") ;;
  *) say "warning: tested on Debian 12 and 13 only, this is $release" ;;
esac

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || die "not root and no sudo. As root, run:
  apt-get install --no-install-recommends ${missing[*]}"
  as_root=(sudo)
fi

log=$(mktemp)
policy=/usr/sbin/policy-rc.d
own_policy=no
cleanup() {
  rm -f "$log"
  if [ "$own_policy" = yes ]; then "${as_root[@]}" rm -f "$policy"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

run_apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@" >"$log" 2>&1
}

# A policy of "forbidden" (101) keeps the packages' scripts from starting their services.
if [ ! -e "$policy" ]; then
  own_policy=yes
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi

new_services=()
for service in "${services[@]}"; do
  case " ${missing[*]} " in *" $service "*) new_services+=("$service") ;; esac
done

say "reading the package lists"
run_apt update || say "warning: apt-get update failed, going on with the lists at hand"
say "installing ${#missing[@]} of ${#packages[@]} packages: ${missing[*]}"
if ! run_apt install --no-install-recommends "${missing[@]}"; then
  tail -n 25 "$log" >&2
  die "apt-get could not install: ${missing[*]}"
fi

# Nor at the next boot: the tests start their own, on free ports.
for service in "${new_services[@]}"; do
  if command -v systemctl >/dev/null; then
    "${as_root[@]}" systemctl disable --quiet "$service" >/dev/null 2>&1 || true
  fi
done

for package in "${missing[@]}"; do
  is_installed "$package" || die "$package is still missing after apt-get said it was done"
done
say "done"
