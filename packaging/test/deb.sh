#!/usr/bin/env bash
# The Debian packages in a clean root of a release, booted with its own systemd.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'END'
Usage: packaging/test/deb.sh [OPTIONS]

Makes roots with debootstrap and boots them (systemd-nspawn). In the first a new operator follows
docs/operations.md with the commands that are printed there, from the installation to the page, and
repairs staged faults with those that `sendonce doctor` prints, and restores a backup. In the second
the packages are installed as an older version: start, deliver, suppress a duplicate, reload, refuse
a reload, kill -9, watchdog, upgrade with a ledger in place, remove, purge. Needs root.

  --debs DIR     the packages of packaging/build.sh deb (default: build/packages)
  --suite NAME   bookworm or trixie (default: this machine's release)
  --build        build the packages in such a root first; into --debs/SUITE
  --cache DIR    where fresh roots are kept for the next run (default: build/packages/roots)
  --only WHAT    operator (the first root) or life (the second)
  --keep         keep the root that was used last, and say where it is
  --help         this text
END
}

say() { printf 'test: %s\n' "$*"; }
die() {
  printf 'test: error: %s\n' "$*" >&2
  exit "${code:-1}"
}

debs=build/packages
suite=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
cache=build/packages/roots
build=no
keep=no
only=
while [ $# -gt 0 ]; do
  case "$1" in
    --debs) debs=${2:?--debs needs a directory} && shift ;;
    --suite) suite=${2:?--suite needs a name} && shift ;;
    --cache) cache=${2:?--cache needs a directory} && shift ;;
    --build) build=yes ;;
    --only) only=${2:?--only needs operator or life} && shift ;;
    --keep) keep=yes ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && code=64 die "unknown option: $1" ;;
  esac
  shift
done
case "$only" in "" | operator | life) ;; *) code=64 die "operator or life, not '$only'" ;; esac
case "$suite" in bookworm | trixie) ;; *) code=64 die "bookworm or trixie, not '$suite'" ;; esac
[ "$(id -u)" -eq 0 ] || code=77 die "debootstrap and systemd-nspawn need root"
for tool in debootstrap systemd-nspawn nsenter dpkg-deb; do
  command -v "$tool" >/dev/null || die "$tool is missing: packaging/deps.sh --packaging"
done

mkdir -p "$cache"
cache=$(realpath "$cache")
root=$cache/run-$suite
nspawn=
leader=
# Never left behind: what is bound there must not be removed with the root.
leave_build_root() {
  local place
  for place in /proc "${CCACHE_DIR:-/proc}"; do
    ! mountpoint -q "$cache/build-$suite$place" || umount "$cache/build-$suite$place"
  done
}
power_off() {
  [ -z "$leader" ] ||
    nsenter -t "$leader" -m -u -i -n -p -C /bin/systemctl poweroff >/dev/null 2>&1 || true
  for _ in $(seq 100); do kill -0 "$nspawn" 2>/dev/null && sleep 0.2 || return 0; done
  kill -KILL "$nspawn" 2>/dev/null || true
}
cleanup() {
  [ -z "$nspawn" ] || power_off
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  leave_build_root
  if [ "$keep" = yes ]; then say "kept $root"; else rm -rf --one-file-system "$root"; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

apt() {
  local where=$1
  shift
  chroot "$where" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
    -o Acquire::Retries=3 "$@" >"$cache/apt-$suite.log" 2>&1 ||
    { tail -n 30 "$cache/apt-$suite.log" >&2 && die "apt-get $* failed"; }
}

# fresh DIR PACKAGES...: a root of the suite with these packages, made once.
fresh() {
  local where=$1
  shift
  [ ! -e "$where.done" ] || return 0
  say "debootstrap $suite: $where"
  rm -rf --one-file-system "$where"
  debootstrap --variant=minbase --include=ca-certificates,systemd,systemd-sysv,dbus \
    "$suite" "$where" >"$where.log" 2>&1 || { tail -n 20 "$where.log" >&2 && die "debootstrap failed"; }
  printf '127.0.0.1 localhost\n' >"$where/etc/hosts"
  printf '#!/bin/sh\nexit 101\n' >"$where/usr/sbin/policy-rc.d"
  chmod 755 "$where/usr/sbin/policy-rc.d"
  cp -L /etc/resolv.conf "$where/etc/resolv.conf"
  apt "$where" update
  apt "$where" install --no-install-recommends "$@"
  touch "$where.done"
}

# The control file of the source names what building needs.
build_there() {
  local where=$cache/build-$suite
  local needs
  needs=$(sed -n '/^Build-Depends:/,/^[A-Z].*[^,]$/p' packaging/debian/control |
    sed 's/^Build-Depends://; /^Standards/d; s/([^)]*)//; s/:any//; s/,//' | xargs -n1 |
    sed 's/^debhelper-compat$/debhelper/')
  # shellcheck disable=SC2086
  fresh "$where" build-essential ccache $needs
  mountpoint -q "$where/proc" || mount -t proc proc "$where/proc"
  if [ -n "${CCACHE_DIR:-}" ]; then
    mkdir -p "$where$CCACHE_DIR"
    mountpoint -q "$where$CCACHE_DIR" || mount --bind "$CCACHE_DIR" "$where$CCACHE_DIR"
  fi
  local done=0
  packaging/build.sh deb --root "$where" --out "$debs/$suite" || done=$?
  leave_build_root
  [ "$done" -eq 0 ] || exit "$done"
  debs=$debs/$suite
}

# older FROM TO: the same packages under a lower version.
older() {
  local deb tree version
  for deb in "$1"/sendonce_*.deb "$1"/libsendonce0_*.deb; do
    version=$(dpkg-deb -f "$deb" Version)
    tree=$(mktemp -d)
    dpkg-deb -R "$deb" "$tree"
    sed -i "s/${version//./\\.}/0.0.9-1/" "$tree/DEBIAN/control"
    dpkg-deb --root-owner-group -b "$tree" "$2/$(dpkg-deb -f "$deb" Package)_0.0.9-1.deb" >/dev/null
    rm -rf "$tree"
  done
}

inside() {
  local script=$1
  shift
  nsenter -t "$leader" -m -u -i -n -p -C /bin/bash "/opt/test/$script.sh" "$@"
}

# used FROM: a root to spoil, with the packages and the tests in it.
used() {
  rm -rf --one-file-system "$root"
  cp -a "$1" "$root"
  mkdir -p "$root/opt/test/new" "$root/opt/test/old"
  cp "$debs"/sendonce_*.deb "$debs"/libsendonce0_*.deb "$root/opt/test/new/"
  cp packaging/test/{guest,guest_tools,operator}.sh docs/operations.md "$root/opt/test/"
}

boot() {
  say "$suite: booting"
  rm -f "$root/usr/sbin/policy-rc.d"
  systemd-nspawn -q -D "$root" --boot --register=no --keep-unit --private-network \
    --machine="sendonce-$suite" </dev/null >"$cache/boot-$suite.log" 2>&1 &
  nspawn=$!
  for _ in $(seq 60); do
    leader=$(pgrep -P "$nspawn" || true)
    [ -z "$leader" ] || ! nsenter -t "$leader" -m -u -i -n -p -C /bin/systemctl is-system-running \
      2>/dev/null | grep -qE 'running|degraded' || return 0
    kill -0 "$nspawn" 2>/dev/null || { tail "$cache/boot-$suite.log" >&2 && die "it did not boot"; }
    leader=
    sleep 1
  done
  die "it did not boot within 60 s, see $cache/boot-$suite.log"
}

# What apt will want has been fetched before, since the booted root has no network, and every
# question of it is answered with yes.
test_operator() {
  local clean=$cache/clean-$suite
  fresh "$clean" curl procps
  used "$clean"
  say "$suite: a new operator"
  local packages
  packages=$(cd "$root" && ls opt/test/new/*.deb)
  # shellcheck disable=SC2086
  apt "$root" install --download-only nats-server $(printf '/%s ' $packages)
  printf 'APT::Get::Assume-Yes "true";\n' >"$root/etc/apt/apt.conf.d/99yes"
  boot
  for part in install first_run page healthy jetstream_off store_in_tmp no_key wrong_key consumer \
    push_consumer full_map backup; do
    inside operator "$part"
  done
  power_off
  nspawn= leader=
}

test_life() {
  local base=$cache/base-$suite
  fresh "$base" nats-server curl procps
  used "$base"
  older "$debs" "$root/opt/test/old"
  say "$suite: installing"
  mount -t proc proc "$root/proc" # systemd-tmpfiles wants it
  apt "$root" install --no-install-recommends /opt/test/old/sendonce_0.0.9-1.deb \
    /opt/test/old/libsendonce0_0.0.9-1.deb
  chroot "$root" bash /opt/test/guest.sh installed
  umount "$root/proc"
  boot
  for part in start reload kill restart_policy watchdog stop upgrade remove purge; do
    inside guest "$part"
  done
}

[ "$build" = no ] || build_there
ls "$debs"/sendonce_*.deb "$debs"/libsendonce0_*.deb >/dev/null ||
  die "no packages in $debs: packaging/build.sh deb, or --build"
[ "$only" = life ] || test_operator
[ "$only" = operator ] || test_life
say "$suite: everything passed in $SECONDS s"
