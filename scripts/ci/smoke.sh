#!/usr/bin/env bash
# The built programs on a live mount: the read path that this libfuse and kernel offer, a short kvpagebench micro, and
# the quickstart. Usage: scripts/ci/smoke.sh [--mount-only]
set -euo pipefail
# shellcheck source=scripts/ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

bin=$top/build/bin
passed=0
failed=0

check() {
  local what=$1
  shift
  if "$@"; then
    echo "ok: $what"
    passed=$((passed + 1))
  else
    echo "FAILED: $what"
    failed=$((failed + 1))
  fi
}

detach() {
  local dir
  for dir in "$work/mount" "$work/quickstart" "$work/quickstart/mount"; do
    if mountpoint -q "$dir"; then umount "$dir" 2>/dev/null || umount -l "$dir" || true; fi
  done
  rm -rf --one-file-system "$work" "$memory"
}

# at_least VERSION WANTED
at_least() {
  [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# Direct I/O that can be mapped needs Linux 6.6 and libfuse 3.17; where both are there, it is in use.
check_read_path() {
  local kernel libfuse line
  kernel=$(uname -r)
  libfuse=$(pkg-config --modversion fuse3)
  line=$(grep '^read_path ' "$work/mount/.kvpagefs/status") || return 1
  echo "Linux $kernel, libfuse $libfuse: $line"
  if at_least "$kernel" 6.6 && at_least "$libfuse" 3.17; then
    [[ $line == *"direct I/O with mmap"* ]]
  fi
}

round_trip() {
  head -c 1000003 /dev/urandom >"$memory/page"
  cp "$memory/page" "$work/mount/page.tmp" && mv "$work/mount/page.tmp" "$work/mount/page" &&
    cmp "$memory/page" "$work/mount/page" && rm "$work/mount/page" && [ ! -e "$work/mount/page" ]
}

micro() {
  "$bin/kvpagebench" micro --dir "$work/mount" --against "$memory" --runs 3 --files 4 --list-entries 2000
}

quickstart() {
  if [ ! -x "$top/scripts/quickstart.sh" ]; then echo "no scripts/quickstart.sh"; return 1; fi
  local start=$SECONDS
  "$top/scripts/quickstart.sh" "$work/quickstart" || return 1
  echo "quickstart took $((SECONDS - start)) s"
}

main() {
  [ -e /dev/fuse ] || skip "no /dev/fuse here"
  [ "$(id -u)" -eq 0 ] || command -v fusermount3 >/dev/null || skip "mounting needs root or fusermount3"
  [ -x "$bin/kvpagefs" ] || { echo "smoke.sh: $bin/kvpagefs is not built; run scripts/test.sh" >&2; return 1; }
  work=$(mktemp -d)
  memory=$(mktemp -d /dev/shm/kvpagefs-smoke.XXXXXX)
  trap detach EXIT
  mkdir "$work/mount" "$work/quickstart"

  check "the mount comes up" "$bin/kvpagefs" "$work/mount" --memory 512MiB
  check "the read path is the best one" check_read_path
  check "a page goes round" round_trip
  if [ "${1:-}" != --mount-only ]; then
    check "kvpagebench micro" micro
    check "the quickstart" quickstart
  fi
  check "the mount goes away" umount "$work/mount"
  echo "smoke: $passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

main "$@"
