#!/usr/bin/env bash
# What scripts/ci/chroot.sh runs inside a newer Debian for .ci/run: all tests, then the read path on a live mount.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0
scripts/setup.sh
# Thrown away after one run: quicker to compile.
cmake --preset release -DKVPAGEFS_PRECOMPILED_HEADERS=ON
scripts/test.sh || status=$?
scripts/ci/smoke.sh --mount-only || status=1
exit "$status"
