# Sourced by the scripts in this folder.
# shellcheck shell=bash
set -euo pipefail

# shellcheck disable=SC2034 # for the scripts that source this file
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Exit status 77: this machine cannot do it, and .ci/run goes on.
skip() {
  echo "SKIP: $*"
  exit 77
}

# need COMMAND...: all of them, or a skip that says how to get them.
need() {
  local command
  for command in "$@"; do
    command -v "$command" >/dev/null || skip "$command is missing; scripts/setup.sh --ci installs it"
  done
}

# The version of the clang tools: 19, to which the checks are tuned, else the newest that is installed.
clang_version() {
  local version
  for version in 19 22 21 20 18 17 16; do
    if command -v "clang-tidy-$version" >/dev/null; then echo "$version"; return; fi
  done
  echo 19
}
