#!/usr/bin/env bash
# The RPMs in a clean root: install, run, verify, erase. A test of the packaging: what an RPM that
# was built on Debian requires has other names elsewhere, so dependencies are not looked at.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'END'
Usage: packaging/test/rpm.sh [OPTIONS]

Installs the RPMs of packaging/build.sh rpm into a root of this machine's release (debootstrap),
runs the programs there, verifies, erases. Needs root.

  --rpms DIR     where the packages are (default: build/packages)
  --cache DIR    where the fresh root is kept for the next run (default: build/packages/roots)
  --help         this text
END
}

say() { printf 'test: %s\n' "$*"; }
die() {
  printf 'test: error: %s\n' "$*" >&2
  exit "${code:-1}"
}
good() { printf '  ok    %s\n' "$*"; }
# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then good "$1: $3"; else die "$1: '$3', not '$2'"; fi; }

rpms=build/packages
cache=build/packages/roots
while [ $# -gt 0 ]; do
  case "$1" in
    --rpms) rpms=${2:?--rpms needs a directory} && shift ;;
    --cache) cache=${2:?--cache needs a directory} && shift ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && code=64 die "unknown option: $1" ;;
  esac
  shift
done
[ "$(id -u)" -eq 0 ] || code=77 die "rpm --root needs root"
ls "$rpms"/sendonce-[0-9]*.x86_64.rpm "$rpms"/sendonce-libs-*.rpm >/dev/null ||
  die "no packages in $rpms: packaging/build.sh rpm"

suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
mkdir -p "$cache"
cache=$(realpath "$cache")
base=$cache/rpm-$suite
root=$cache/run-rpm
cleanup() { rm -rf --one-file-system "$root"; }
trap cleanup EXIT

# The libraries that the built programs resolve to here, by package.
libraries() {
  local extracted
  extracted=$(mktemp -d)
  for rpm in "$rpms"/sendonce-[0-9]*.x86_64.rpm "$rpms"/sendonce-libs-*.rpm; do
    rpm2cpio "$rpm" | (cd "$extracted" && cpio --quiet -id)
  done
  LD_LIBRARY_PATH=$extracted/usr/lib64 ldd "$extracted"/usr/*bin/sendonce* |
    grep -o '=> /[^ ]*' | grep -v "$extracted" | cut -c4- | sort -u |
    while read -r file; do
      dpkg -S "*$(basename "$file")" 2>/dev/null | grep -v '^diversion' | head -n 1 | cut -d: -f1
    done | sort -u
  rm -rf "$extracted"
}

if [ ! -e "$base.done" ]; then
  say "debootstrap $suite: $base"
  rm -rf --one-file-system "$base"
  debootstrap --variant=minbase --include="ca-certificates,$(libraries | paste -sd,)" \
    "$suite" "$base" >"$base.log" 2>&1 || { tail -n 20 "$base.log" >&2 && die "debootstrap failed"; }
  touch "$base.done"
fi
rm -rf --one-file-system "$root"
cp -a "$base" "$root"
in_root() { chroot "$root" env LD_LIBRARY_PATH=/usr/lib64 "$@"; }
rpm_there() { rpm --root "$root" "$@"; }

rpm_there --initdb
rpm_there -i --nodeps --noplugins "$rpms"/sendonce-[0-9]*.x86_64.rpm "$rpms"/sendonce-libs-*.rpm \
  "$rpms"/sendonce-devel-*.rpm
is "user" /var/lib/sendonce "$(in_root getent passwd sendonce | cut -d: -f6)"
is "state directory" "750 sendonce:sendonce" "$(in_root stat -c '%a %U:%G' /var/lib/sendonce)"
is "verified" "" "$(rpm_there -V --nodeps sendonce sendonce-libs sendonce-devel)"
version=$(rpm -qp --qf '%{VERSION}' "$rpms"/sendonce-libs-*.rpm)
is "daemon" "sendonced $version" "$(in_root sendonced --version)"
is "command line" "sendonce $version" "$(in_root sendonce version)"
in_root sendonce check-config >/dev/null 2>"$root/tmp/said" || code=$?
is "the sample asks for its keys: exit code" 78 "${code:-0}"
grep -q 'cred:apns.p8' "$root/tmp/said" || die "it does not name them"
printf '# mine\n' >>"$root/etc/sendonce/sendonce.toml"
touch "$root/var/lib/sendonce/ledger"
is "a change is seen" "S.5....T.  c /etc/sendonce/sendonce.toml" \
  "$(rpm_there -V --nodeps sendonce || true)"
rpm_there -e --noplugins sendonce sendonce-libs sendonce-devel 2>/dev/null
is "the changed configuration is kept" yes \
  "$([ -s "$root/etc/sendonce/sendonce.toml.rpmsave" ] && echo yes)"
is "the ledger is kept" yes "$([ -e "$root/var/lib/sendonce/ledger" ] && echo yes)"
is "programs left" "" "$(find "$root"/usr -name '*sendonce*')"
say "everything passed in $SECONDS s"
