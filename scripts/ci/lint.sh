#!/usr/bin/env bash
# clang-format and clang-tidy over the sources. Usage: scripts/ci/lint.sh [--format-only | --tidy-only | --tidy-quick]
# --tidy-quick leaves the static analyzer out, which takes more time than all other checks together.
set -euo pipefail
# shellcheck source=scripts/ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=$(clang_version)

check_format() {
  need "clang-format-$version"
  echo "clang-format-$version"
  find "$top" \( -path "$top/build*" -o -path "$top/.git" \) -prune -o \( -name '*.h' -o -name '*.cc' \) -print0 |
    xargs -0 "clang-format-$version" --dry-run --Werror
}

# All sources but the tests, whose macros expand to what the checks forbid.
check_tidy() {
  local checks=()
  if [ "${1:-}" = quick ]; then checks=('-checks=-clang-analyzer-*'); fi
  need "clang-tidy-$version" "run-clang-tidy-$version" "clang++-$version"
  echo "clang-tidy-$version"
  (cd "$top" && cmake --preset clang -DCMAKE_CXX_COMPILER="clang++-$version" -DKVPAGEFS_TESTS=OFF) >/dev/null
  # Sources include what is generated from the messages.
  cmake --build "$top/build-clang" --target meta/meta.pb.h fs/peer.pb.h >/dev/null
  local output status=0
  output=$("run-clang-tidy-$version" -p "$top/build-clang" -j "$(nproc)" -quiet "${checks[@]}" "^$top/(base|daemon|spill|meta|net|fs|tools)/" \
    2>/dev/null) || status=$?
  # Only findings: not the command line of every file.
  grep -vE '^\[ *[0-9]+/[0-9]+\]|^clang-tidy-|^$' <<<"$output" || true
  return "$status"
}

main() {
  local status=0
  case "${1:-}" in
    --format-only) check_format ;;
    --tidy-only) check_tidy ;;
    --tidy-quick) check_tidy quick ;;
    "")
      (check_format) || status=$?
      (check_tidy) || status=$?
      return "$status"
      ;;
    *) echo "lint.sh: unknown argument '$1'" >&2; return 2 ;;
  esac
}

main "$@"
