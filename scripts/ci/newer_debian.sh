#!/usr/bin/env bash
# What scripts/ci/chroot.sh runs inside a newer Debian for .ci/run: the programs, and the tests of what meets the newer
# libraries and compiler (FUSE, the network, mounts), then the read path on a live mount. `scripts/test.sh` in there runs
# everything.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly programs=(kvpagefs kvpagemetad kvpagectl kvpagebench)
readonly tests=(fake_kernel unit_net unit_fs mount_contract mount_clients mount_faults mount_options mount_ssd mount_cluster)
status=0
scripts/setup.sh
# Thrown away after one run: quicker to compile.
cmake --preset release -DKVPAGEFS_PRECOMPILED_HEADERS=ON
cmake --build --preset release --target "${programs[@]}" "${tests[@]}"
ctest --preset release --parallel "${CTEST_PARALLEL_LEVEL:-2}" \
  -R '^(fake_kernel|unit/net|unit/fs|mount/(contract|clients|faults|options|ssd|cluster))/' || status=$?
scripts/ci/smoke.sh --mount-only || status=1
exit "$status"
