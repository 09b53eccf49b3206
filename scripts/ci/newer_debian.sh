#!/usr/bin/env bash
# What scripts/ci/chroot.sh runs inside a newer Debian for .ci/run: all tests, then the read path on a live mount.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
status=0
scripts/test.sh || status=$?
scripts/ci/smoke.sh --mount-only || status=1
exit "$status"
