#!/usr/bin/env bash
# Installs on Debian 12 or newer what building and testing kvpagefs needs. Only missing packages are installed and
# none is removed; when nothing is missing it needs neither root nor network.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/setup.sh [--build | --ci] [--list]
  --build  what compiling and the tests need (default)
  --ci     also what .ci/run needs: clang tools, debootstrap, mandoc, shellcheck, fio
  --list   print the missing packages and install nothing
TEXT
}

# package                      what for
build_packages() {
  sed 's/ .*//' <<'TEXT'
g++                            C++20 compiler
cmake                          build description
ninja-build                    build tool
pkgconf                        finds the C libraries
ccache                         makes repeated builds quick
libfuse3-dev                   the file system's interface to the kernel
fuse3                          fusermount3 and mount.fuse3 for mounting
libxxhash-dev                  XXH3 checksums
liblmdb-dev                    names that survive a restart
libasio-dev                    network input and output
libprotobuf-dev                messages between nodes and the metadata daemon
protobuf-compiler              the code that reads and writes them
libabsl-dev                    hash maps and B-trees
libboost-program-options-dev   command lines and configuration files
libfmt-dev                     text formatting
libspdlog-dev                  the log
libsystemd-dev                 readiness notification
nlohmann-json3-dev             --json output and traces
liburing-dev                   the SSD tier, and io_uring batches in kvpagebench
prometheus-cpp-dev             metrics
libgtest-dev                   test framework
libgmock-dev                   matchers of the test framework
libssl-dev                     SHA-256: proof of the cluster's secret, chain hash of page names (kvpagebench)
libjemalloc-dev                the daemon's heap
libaio-dev                     tests read pages through libaio as engines do
python3                        house-rule checks
attr                           getfattr and setfattr
procps                         ps and pgrep
util-linux                     prlimit, flock, unshare in tests
mount                          mount(8) and umount(8) in tests
TEXT
}

# Like build_packages; @ stands for the clang version.
ci_packages() {
  sed 's/ .*//' <<'TEXT'
clang-@                        second compiler, thread-safety analysis, sanitizers
clang-tidy-@                   static checks
clang-tools-@                  run-clang-tidy
clang-format-@                 formatting
libclang-rt-@-dev              sanitizer run times
llvm-@                         symbolizer: readable sanitizer reports
lld-@                          quick linking of sanitizer builds
debootstrap                    builds and tests on a newer Debian
mandoc                         checks the manual pages
shellcheck                     checks the scripts
fio                            I/O engines against the mount
git                            clean copies of the tree
TEXT
}

# Version 19 is what the checks are tuned to; elsewhere the newest that the distribution has.
readonly kClangVersions="19 22 21 20 18 17 16"

installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

available() {
  apt-cache show --no-all-versions "$1" >/dev/null 2>&1
}

clang_version() {
  local version
  for version in $kClangVersions; do
    if installed "clang-tidy-$version"; then echo "$version"; return; fi
  done
  for version in $kClangVersions; do
    if available "clang-tidy-$version"; then echo "$version"; return; fi
  done
  echo 19
}

missing_packages() {
  local wanted
  mapfile -t wanted < <(build_packages; if [ "$1" = ci ]; then ci_packages | sed "s/@/$(clang_version)/"; fi)
  # One call for all: the usual answer is "nothing missing", in a few milliseconds.
  comm -23 <(printf '%s\n' "${wanted[@]}" | sort) \
    <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
      awk '$2 == "installed" {print $1}' | sort -u)
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
  # --no-remove: apt stops rather than take away a package that somebody uses.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -o Dpkg::Use-Pty=0 --yes --no-install-recommends --no-remove "$@"
}

main() {
  local set=build list=no argument
  for argument in "$@"; do
    case "$argument" in
      --build) set=build ;;
      --ci) set=ci ;;
      --list) list=yes ;;
      --help | -h) usage; return 0 ;;
      *) echo "setup.sh: unknown argument '$argument'; see scripts/setup.sh --help" >&2; return 2 ;;
    esac
  done
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup.sh: this is not Debian (no apt-get); install the equivalents of:" >&2
    build_packages | sed 's/^/  /' >&2
    return 1
  fi

  local missing
  mapfile -t missing < <(missing_packages "$set")
  if [ "${#missing[@]}" -eq 0 ]; then
    echo "setup: all packages are installed"
    return 0
  fi
  if [ "$list" = yes ]; then
    printf '%s\n' "${missing[@]}"
    return 0
  fi
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "setup.sh: missing packages: ${missing[*]}" >&2
    echo "setup.sh: install them as root: apt-get install --no-install-recommends ${missing[*]}" >&2
    return 1
  fi
  echo "setup: installing ${missing[*]}"
  as_root apt-get update -q || echo "setup: package lists could not be refreshed; trying with those at hand" >&2
  # The list may name a clang version that only the refreshed package lists know to be absent.
  mapfile -t missing < <(missing_packages "$set")
  install_packages "${missing[@]}"
}

main "$@"
