#!/usr/bin/env bash
# From a clean tree to a live mount with a conversation's KV-cache pages in it. Safe to repeat: what is installed, built
# or mounted already is used. The mount stays.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/quickstart.sh [DIR] [--trace FILE] [--memory SIZE]
  DIR            where to mount (default: a new directory); a live kvpagefs mount there is used
  --trace FILE   replay the first requests of this Mooncake trace instead of a generated conversation
  --memory SIZE  size of the memory tier of a new mount (default 1GiB)
TEXT
}

readonly kTraceRequests=200
readonly kShownPages=4

say() { printf '\n== %s\n' "$*"; }

fail() {
  echo "quickstart.sh: $*" >&2
  exit 1
}

fail_usage() {
  echo "quickstart.sh: $*; see scripts/quickstart.sh --help" >&2
  exit 2
}

# The directory may be a mount whose daemon is gone: then only its parent can be asked.
absolute_path() {
  local parent
  [ "$1" != / ] || fail "'/' cannot be the mount point"
  parent=$(cd -- "$(dirname -- "$1")" 2>/dev/null && pwd -P) || fail "the directory above '$1' does not exist"
  printf '%s/%s\n' "${parent%/}" "$(basename -- "$1")"
}

is_kvpagefs() {
  local escaped=${1// /\\040}
  # ENVIRON: awk -v would read \040 as a blank.
  WANTED=$escaped awk '$5 == ENVIRON["WANTED"] && / - fuse\.kvpagefs / {found = 1} END {exit !found}' /proc/self/mountinfo
}

is_live() { is_kvpagefs "$1" && [ -r "$1/.kvpagefs/status" ]; }

# Quiet unless it fails.
build() {
  local root=$1 log=$1/build/quickstart.log
  mkdir -p "$root/build"
  if ! (
    cd "$root"
    [ -f build/build.ninja ] || cmake --preset release
    cmake --build --preset release --target kvpagefs kvpagebench
  ) >"$log" 2>&1; then
    tail -n 25 "$log" >&2
    fail "the build failed; the whole log is $log"
  fi
}

mount_at() {
  local root=$1 directory=$2 memory=$3 log=$1/build/quickstart-mount.log made=no
  if ! is_kvpagefs "$directory" && [ ! -e "$directory" ]; then
    mkdir -- "$directory" 2>/dev/null || fail "'$directory' cannot be made: choose another directory"
    made=yes
  fi
  # Into a file: the daemon outlives this script and must not hold its output open.
  if ! "$root/build/bin/kvpagefs" "$directory" --memory "$memory" >"$log" 2>&1; then
    cat "$log" >&2
    [ "$made" = no ] || rmdir -- "$directory"
    fail "the mount at '$directory' failed"
  fi
}

run_workload() {
  local bench=$1 directory=$2 trace=$3
  if [ -n "$trace" ]; then
    "$bench" conversation run --dir "$directory" --trace "$trace" --requests "$kTraceRequests"
  else
    "$bench" conversation write --dir "$directory"
    "$bench" conversation read --dir "$directory"
  fi
}

show_mount() (
  cd -- "$1"
  shopt -s nullglob
  local pages=(*_0_1.bin)
  say "ls -l ($kShownPages of ${#pages[@]} pages)"
  ls -l -- "${pages[@]:0:$kShownPages}"
  say "df -h $1"
  df -h .
  say "getfattr -d of the first page"
  getfattr -d -- "${pages[0]}"
  say "cat $1/.kvpagefs/status"
  cat .kvpagefs/status
)

show_next_steps() {
  local root directory stop="fusermount3 -u"
  root=$(printf '%q' "$1")
  directory=$(printf '%q' "$2")
  [ "$(id -u)" -ne 0 ] || stop="umount"
  say "the mount stays; go on with"
  cat <<TEXT
  cp FILE $directory/                                    any file becomes a page
  cat $directory/.kvpagefs/metrics
  $root/build/bin/kvpagebench micro --dir $directory     how fast, next to /dev/shm
  man -l $root/man/kvpagebench.1; README.md and docs/ in $root
stop it with
  $stop $directory
TEXT
}

main() {
  local directory="" trace="" memory=1GiB root
  while [ $# -gt 0 ]; do
    case "$1" in
      --help | -h) usage; return 0 ;;
      --trace | --memory)
        [ $# -ge 2 ] || fail_usage "$1 needs a value"
        if [ "$1" = --trace ]; then trace=$2; else memory=$2; fi
        shift
        ;;
      --trace=*) trace=${1#*=} ;;
      --memory=*) memory=${1#*=} ;;
      -*) fail_usage "unknown option '$1'" ;;
      *)
        [ -z "$directory" ] || fail_usage "two directories: '$directory' and '$1'"
        directory=$1
        ;;
    esac
    shift
  done
  if [ -n "$trace" ] && ! { [ -f "$trace" ] && [ -r "$trace" ]; }; then
    fail "trace '$trace' is not a readable file"
  fi
  root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)

  say "set-up and build"
  "$root/scripts/setup.sh"
  build "$root"

  [ -n "$directory" ] || directory=$(mktemp -u "${TMPDIR:-/tmp}/kvpagefs.XXXXXX")
  directory=$(absolute_path "$directory")
  if is_live "$directory"; then
    say "using the live mount at $directory"
  else
    say "mounting at $directory"
    mount_at "$root" "$directory" "$memory"
  fi
  say "conversation workload"
  run_workload "$root/build/bin/kvpagebench" "$directory" "$trace"
  show_mount "$directory"
  show_next_steps "$root" "$directory"
}

main "$@"
