#!/usr/bin/env bash
# Builds the packages of this machine's release from the tree as it is, and checks them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'END'
Usage: packaging/build.sh deb|rpm [OPTIONS]

  deb   sendonce, libsendonce0, libsendonce-dev and their debug symbols; lintian must find nothing
  rpm   the same as RPMs, and the source RPM; rpmlint must find nothing
        (packaging/rpm/rpmlint.toml). An RPM that is built on Debian is a test of the packaging: on
        other systems build the source RPM again with rpmbuild --rebuild

  --out DIR      where the packages go (default: build/packages)
  --root DIR     build inside this Debian root, for its release (default: this machine)
  --no-deps      do not look for missing packages
  --no-lint      do not check
  -j N           parallel compile jobs (default: the number of processors)
  --help         this text

Built below build/packages/work; with ccache in CMAKE_CXX_COMPILER_LAUNCHER a second build is short.
SOURCE_DATE_EPOCH is the date of packaging/debian/changelog unless it is set.
END
}

say() { printf 'build: %s\n' "$*"; }
die() {
  printf 'build: error: %s\n' "$*" >&2
  exit "${code:-1}"
}

kind=
out=build/packages
root=
deps=yes
lint=yes
jobs=$(nproc)
while [ $# -gt 0 ]; do
  case "$1" in
    deb | rpm) kind=$1 ;;
    --out) out=${2:?--out needs a directory} && shift ;;
    --root) root=${2:?--root needs a directory} && shift ;;
    --no-deps) deps=no ;;
    --no-lint) lint=no ;;
    -j) jobs=${2:?-j needs a number} && shift ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && code=64 die "unknown option: $1" ;;
  esac
  shift
done
[ -n "$kind" ] || { usage >&2 && code=64 die "deb or rpm?"; }
[ -z "$root" ] || [ "$kind" = deb ] || code=64 die "--root is for deb"

version=$(sed -n 's/^project(sendonce VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
changelog_date=$(sed -n 's/^ -- .*>  //p' packaging/debian/changelog | head -n 1)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -d "$changelog_date" +%s)}
mkdir -p "$out"
out=$(realpath "$out")
work=$(realpath -m build/packages/work/$kind)
# Inside another root the tree has the same path, so that one cache of the compiler serves both.
built=$root$work
source=$built/sendonce-$version

# What git knows and what is new; a tree without git is taken whole.
files() {
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard |
      while IFS= read -r -d '' f; do [ -e "$f" ] || [ -L "$f" ] && printf '%s\0' "$f"; done
  else
    find . -path ./build -prune -o \( -type f -o -type l \) -print0
  fi | LC_ALL=C sort -z
}

# sources: a copy of the tree, and of nothing that was built.
copy_sources() {
  rm -rf "$source"
  mkdir -p "$source"
  files | tar --create --null --files-from=- --mtime="@$SOURCE_DATE_EPOCH" |
    tar --extract -C "$source"
}

# run LOG COMMAND...: with a sign of life; the end of the log when it fails.
run() {
  local log=$1 pid begun=$SECONDS
  shift
  "$@" >"$log" 2>&1 &
  pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    for _ in $(seq 30); do kill -0 "$pid" 2>/dev/null && sleep 1 || break; done
    if kill -0 "$pid" 2>/dev/null; then
      say "$((SECONDS - begun)) s: $(grep -oE '^\[[0-9]+/[0-9]+\]|^ +dh_[a-z_]+' "$log" | tail -n 1)"
    fi
  done
  wait "$pid" || {
    tail -n 40 "$log" >&2
    die "$1 failed, see $log"
  }
  say "$((SECONDS - begun)) s: done"
}

inside() { if [ -n "$root" ]; then chroot "$root" "$@"; else "$@"; fi; }

# The release's own suffix: the libraries behind us differ from one to the next.
mark_release() {
  local release
  release=$(. "$root/etc/os-release" && printf '%s' "${VERSION_ID:-0}")
  sed -i "1s/(\([^)]*\))/(\1~deb${release}u1)/" "$source/packaging/debian/changelog"
}

build_deb() {
  copy_sources
  mark_release
  rm -f "$built"/*.deb "$built"/*.changes "$built"/*.buildinfo
  say "building the Debian packages of $version, $jobs jobs"
  run "$built/build.log" inside sh -c "cd '$work/sendonce-$version' &&
    DEB_BUILD_OPTIONS='nocheck parallel=$jobs' dpkg-buildpackage -us -uc -b"
  cp "$built"/*.deb "$built"/*.changes "$built"/*.buildinfo "$out/"
  [ "$lint" = no ] && return
  say "lintian"
  (cd "$out" && lintian --tag-display-limit 0 --fail-on error,warning -I \
    "$(basename "$built"/*.changes)")
}

build_rpm() {
  local name=sendonce-$version
  copy_sources
  mkdir -p "$work"/{SOURCES,SPECS}
  tar --create --gzip -C "$work" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" --file "$work/SOURCES/$name.tar.gz" "$name"
  rm -rf "$work"/{RPMS,SRPMS,BUILD,BUILDROOT}
  say "building the RPMs of $version, $jobs jobs"
  # Debian's rpmbuild cannot know what Debian's packages are: no build requirements there.
  run "$work/build.log" rpmbuild -ba --nodeps --define "_topdir $work" \
    --define "_smp_build_ncpus $jobs" --define '_buildhost reproducible' \
    --define 'use_source_date_epoch_as_buildtime 1' \
    --define 'clamp_mtime_to_source_date_epoch 1' packaging/rpm/sendonce.spec
  cp "$work"/RPMS/*/*.rpm "$work"/SRPMS/*.rpm "$out/"
  [ "$lint" = no ] && return
  say "rpmlint"
  rpmlint --strict --config packaging/rpm/rpmlint.toml packaging/rpm/sendonce.spec \
    "$work"/RPMS/*/*.rpm "$work"/SRPMS/*.rpm
}

if [ "$deps" = yes ] && [ -z "$root" ]; then packaging/deps.sh --packaging; fi
"build_$kind"
say "packages in $out:"
(cd "$out" && ls -1 ./*."$kind")
