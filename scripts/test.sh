#!/usr/bin/env bash
# Sets up, builds and tests this tree; the exit status is ctest's. Arguments go to ctest: scripts/test.sh -R unit/base
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
cmake --preset release
cmake --build --preset release
# Two at a time at least: tests of mounts wait more than they compute.
exec ctest --preset release --parallel "${CTEST_PARALLEL_LEVEL:-2}" "$@"
