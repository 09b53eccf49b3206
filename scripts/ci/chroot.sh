#!/usr/bin/env bash
# Builds and tests this tree on a newer Debian: in a chroot, on the running kernel. Root only.
#
# Everything runs in its own mount and process namespace, so that neither a mount nor a process outlives it, however
# it ends. Exit status 77: this machine cannot do it; the reason is printed.
set -euo pipefail
# shellcheck source=scripts/ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  cat <<'TEXT'
Usage: scripts/ci/chroot.sh [--worktree] SUITE [COMMAND [ARGUMENT]...]
  SUITE       a Debian release, such as trixie or forky
  --worktree  take the files as they are instead of those of the last commit
  COMMAND     run in the copied tree as root; default: scripts/test.sh
The chroot is kept in /var/tmp/kvpagefs-chroot-SUITE (KVPAGEFS_CHROOT_DIR changes the folder) and used again.
TEXT
}

say() { echo "chroot $suite: $*"; }

# The Debian mirror that this machine's own apt uses.
mirror() {
  local found
  # shellcheck disable=SC2016 # the placeholders are apt's
  found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    grep -m 1 -E '/debian/?$' || true)
  echo "${found:-http://deb.debian.org/debian}"
}

# Apt inside the chroot: one source, the host's proxies, and package lists may be older than they promise, because a
# frozen mirror is a good mirror for tests.
configure_apt() {
  echo "deb $(mirror) $suite main" >"$root/etc/apt/sources.list"
  {
    echo 'Acquire::Check-Valid-Until "false";'
    echo 'Acquire::Languages "none";'
    apt-config dump --format '%F "%v";%n' Acquire::http::Proxy Acquire::https::Proxy || true
  } >"$root/etc/apt/apt.conf.d/90kvpagefs"
}

configure_network() {
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  fi
}

# The stamp is written last: a chroot without it is the rest of an interrupted run and is made anew.
make_root() {
  local stamp=$root/etc/kvpagefs-chroot script=()
  if [ -f "$stamp" ]; then
    say "using $root"
    return
  fi
  say "making $root from $(mirror)"
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  if [ ! -e "/usr/share/debootstrap/scripts/$suite" ]; then script=(/usr/share/debootstrap/scripts/sid); fi
  if ! debootstrap --variant=minbase "$suite" "$root" "$(mirror)" "${script[@]}" >"$root.log" 2>&1; then
    tail -n 20 "$root.log"
    rm -rf --one-file-system "$root"
    skip "debootstrap of $suite failed (no network?); log: $root.log"
  fi
  configure_apt
  touch "$stamp"
}

copy_tree() {
  rm -rf --one-file-system "$root/src"
  mkdir "$root/src"
  if [ "$worktree" = no ] && git -C "$top" rev-parse --verify --quiet HEAD >/dev/null; then
    git -C "$top" archive HEAD | tar -x -C "$root/src"
  elif git -C "$top" rev-parse --git-dir >/dev/null 2>&1; then
    git -C "$top" ls-files -z --cached --others --exclude-standard |
      tar -C "$top" -c --null --ignore-failed-read --files-from=- | tar -x -C "$root/src"
  else
    tar -C "$top" -c --exclude='./build*' . | tar -x -C "$root/src"
  fi
}

mount_system() {
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
}

run_inside() {
  local pass=() name
  for name in CI http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE CTEST_PARALLEL_LEVEL; do
    if [ -n "${!name:-}" ]; then pass+=("$name=${!name}"); fi
  done
  while IFS= read -r name; do pass+=("$name=${!name}"); done < <(compgen -e KVPAGEFS_ || true)
  env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 CCACHE_DIR=/var/cache/ccache \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${pass[@]}" \
    chroot "$root" /bin/bash -c 'cd /src && exec "$@"' bash "$@" </dev/null
}

inside_namespace() {
  local start=$SECONDS
  make_root
  mount_system
  configure_network
  copy_tree
  say "ready after $((SECONDS - start)) s"
  run_inside scripts/setup.sh
  say "g++ $(run_inside g++ -dumpfullversion), libfuse $(run_inside pkg-config --modversion fuse3)"
  run_inside "$@"
}

main() {
  worktree=no
  while [ $# -gt 0 ]; do
    case "$1" in
      --worktree) worktree=yes ;;
      --help | -h) usage; return 0 ;;
      -*) echo "chroot.sh: unknown option '$1'; see --help" >&2; return 2 ;;
      *) break ;;
    esac
    shift
  done
  if [ $# -eq 0 ]; then usage >&2; return 2; fi
  suite=$1
  shift
  if [ $# -eq 0 ]; then set -- scripts/test.sh; fi
  root=${KVPAGEFS_CHROOT_DIR:-/var/tmp}/kvpagefs-chroot-$suite

  if [ "${KVPAGEFS_CHROOT_INSIDE:-}" = yes ]; then
    unset KVPAGEFS_CHROOT_INSIDE
    inside_namespace "$@"
    return
  fi
  [ "$(id -u)" -eq 0 ] || skip "a chroot of Debian $suite needs root"
  need debootstrap
  unshare --mount --pid --fork --propagation private true 2>/dev/null || skip "this machine allows no new namespaces"
  exec 9>"$root.lock"
  flock --nonblock 9 || { say "waiting for another run in $root"; flock 9; }
  local again=()
  if [ "$worktree" = yes ]; then again=(--worktree); fi
  KVPAGEFS_CHROOT_INSIDE=yes exec unshare --mount --pid --fork --kill-child --mount-proc --propagation private \
    bash "${BASH_SOURCE[0]}" "${again[@]}" "$suite" "$@"
}

main "$@"
