#!/usr/bin/env bash
# A cluster on this machine: one metadata daemon, N mounts, and a demonstration of prefill and decode: one node writes the
# pages of prompts, the others read them, and the other way round in the next turn. Shows who read what from where.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
Usage: scripts/cluster.sh [N] [--pages COUNT] [--page-bytes BYTES] [--keep]
  N             nodes, 2 to 16 (default 3)
  --pages       pages that each turn writes (default 64)
  --page-bytes  bytes of each page (default 262144)
  --keep        leave the cluster running until Enter is pressed
Everything lives in a temporary folder and is gone at the end.
TEXT
}

nodes=3 pages=64 page_bytes=262144 keep=no
while [ $# -gt 0 ]; do
  case "$1" in
    --help | -h) usage; exit 0 ;;
    --keep) keep=yes ;;
    --pages) pages=${2:?"--pages needs a number"}; shift ;;
    --page-bytes) page_bytes=${2:?"--page-bytes needs a number"}; shift ;;
    -*) echo "cluster.sh: unknown option '$1'; see --help" >&2; exit 2 ;;
    *) nodes=$1 ;;
  esac
  shift
done
for number in "$nodes" "$pages" "$page_bytes"; do
  [[ $number =~ ^[1-9][0-9]{0,8}$ ]] || { echo "cluster.sh: '$number' is not a number; see --help" >&2; exit 2; }
done
if [ "$nodes" -lt 2 ] || [ "$nodes" -gt 16 ]; then
  echo "cluster.sh: '$nodes' nodes: 2 to 16 are possible" >&2
  exit 2
fi

if [ ! -x build/bin/kvpagemetad ] || [ ! -x build/bin/kvpagefs ]; then
  scripts/setup.sh
  cmake --preset release
  cmake --build --preset release --target kvpagefs kvpagemetad
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/kvpagefs-cluster.XXXXXX")
meta_pid=
node_pids=()

stop() {
  local pid
  for pid in "${node_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${node_pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ -n "$meta_pid" ]; then
    kill "$meta_pid" 2>/dev/null || true
    wait "$meta_pid" 2>/dev/null || true
  fi
  # Never into what is still mounted.
  rm -rf --one-file-system "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM

# wait_for SECONDS WHAT COMMAND...
wait_for() {
  local limit=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ "$SECONDS" -ge "$limit" ]; then
      echo "cluster.sh: $what did not start; its log:" >&2
      cat "$folder"/*.log >&2
      exit 1
    fi
    sleep 0.05
  done
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# A port of loopback that nobody answers on.
free_port() {
  local port
  for _ in $(seq 100); do
    port=$((20000 + RANDOM % 20000))
    if ! answers "$port"; then echo "$port"; return; fi
  done
  echo "cluster.sh: no free port found" >&2
  exit 1
}

mount_of() { echo "$folder/node$1"; }

port=$(free_port)
build/bin/kvpagemetad -f --listen "127.0.0.1:$port" --state-dir "$folder/meta" >"$folder/meta.log" 2>&1 &
meta_pid=$!
wait_for 30 kvpagemetad answers "$port"
for i in $(seq "$nodes"); do
  mkdir "$(mount_of "$i")"
  build/bin/kvpagefs -f "127.0.0.1:$port" "$(mount_of "$i")" --node-name "node$i" --memory 256MiB \
    --ssd-dir "$folder/ssd$i" --ssd 1GiB >"$folder/node$i.log" 2>&1 &
  node_pids+=($!)
done
for i in $(seq "$nodes"); do wait_for 60 "node$i" test -r "$(mount_of "$i")/.kvpagefs/status"; done
echo "metadata daemon on 127.0.0.1:$port, $nodes nodes mounted below $folder"

counter() { awk -v key="$2" '$1 == key { print $2 }' "$(mount_of "$1")/.kvpagefs/status"; }

# prefill NODE TURN: the pages of a prompt, written as engines do: under a temporary name, then renamed.
prefill() {
  local at page
  at=$(mount_of "$1")
  head -c $((pages * page_bytes)) /dev/urandom >"$folder/turn$2"
  for ((page = 0; page < pages; page++)); do
    dd if="$folder/turn$2" of="$at/turn$2-$page.tmp" bs="$page_bytes" skip="$page" count=1 status=none
    mv "$at/turn$2-$page.tmp" "$at/turn$2-$page"
  done
}

# decode NODE TURN: all pages of that turn, in order; every byte is compared.
decode() {
  local page at
  at=$(mount_of "$1")
  for ((page = 0; page < pages; page++)); do cat "$at/turn$2-$page"; done | cmp - "$folder/turn$2"
}

turns=0
for writer in 1 2; do
  turns=$((turns + 1))
  echo
  echo "turn $turns: node$writer writes $pages pages of $page_bytes bytes"
  prefill "$writer" "$turns"
  for i in $(seq "$nodes"); do
    if [ "$i" = "$writer" ]; then continue; fi
    before=$(counter "$i" remote_fetches)
    start=$(date +%s%N)
    decode "$i" "$turns"
    ms=$((($(date +%s%N) - start) / 1000000))
    echo "  node$i read them in $ms ms, every byte right: $(($(counter "$i" remote_fetches) - before)) pages came from other nodes"
  done
done

echo
echo "where the first page of each turn is:"
for turn in $(seq "$turns"); do
  echo "  turn$turn-0: $(getfattr --absolute-names --only-values -n user.kvpagefs.replicas "$(mount_of 1)/turn$turn-0")"
done
echo
echo "who served whom:"
for i in $(seq "$nodes"); do
  echo "  node$i: served $(counter "$i" served_pages) pages, fetched $(counter "$i" remote_fetches)"
done
echo
cat "$(mount_of 1)/.kvpagefs/nodes"
if [ "$keep" = yes ]; then
  echo
  read -r -p "The cluster runs below $folder. Enter stops it. "
fi
