#!/usr/bin/env bash
# Builds with clang (thread-safety warnings are errors) and a sanitizer, and runs the tests.
# Usage: scripts/ci/sanitizer.sh asan|tsan [CTEST ARGUMENT]...
set -euo pipefail
# shellcheck source=scripts/ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "${1:-}" in
  asan | tsan) preset=$1 ;;
  *) echo "Usage: scripts/ci/sanitizer.sh asan|tsan [CTEST ARGUMENT]..." >&2; exit 2 ;;
esac
shift
version=$(clang_version)
need "clang++-$version"
# Readable stacks in the reports of the sanitizers.
symbolizer=$(command -v "llvm-symbolizer-$version" || true)
if [ -n "$symbolizer" ]; then export ASAN_SYMBOLIZER_PATH=$symbolizer TSAN_SYMBOLIZER_PATH=$symbolizer; fi

cd "$top"
cmake --preset "$preset" -DCMAKE_CXX_COMPILER="clang++-$version"
cmake --build --preset "$preset"
# The rules of the tree do not depend on the compiler.
exec ctest --preset "$preset" --parallel "${CTEST_PARALLEL_LEVEL:-2}" --label-exclude '^lint$' "$@"
