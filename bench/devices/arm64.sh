#!/usr/bin/env bash
# The probe for arm64 under qemu, as another device: pocketsim validate host --no-bar --other.
#
# It takes `make probe-arm64`, which installs the emulator.
set -euo pipefail

PROBE=${PROBE:-build/android/probe}
for needed in qemu-aarch64 "$PROBE"; do
  command -v "$needed" >/dev/null || { echo "no $needed: make probe-arm64" >&2 && exit 1; }
done
exec qemu-aarch64 "$PROBE" "$@"
