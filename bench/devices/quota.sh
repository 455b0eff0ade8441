#!/usr/bin/env bash
# The probe with a quota of core time, as another device: pocketsim validate host --no-bar --other.
#
# All processes that it starts share QUOTA_PERCENT of a core, in periods of PERIOD_US. It takes root,
# and the controller `cpu` of cgroups, version 2 or 1; without them it says so and ends.
set -euo pipefail

PROBE=${PROBE:-build/bin/probe}
QUOTA_PERCENT=${QUOTA_PERCENT:-50}
PERIOD_US=100000 # as container runtimes have it
quota_us=$((PERIOD_US * QUOTA_PERCENT / 100))
name=pocketsim-quota-$QUOTA_PERCENT
root=${CGROUP_ROOT:-/sys/fs/cgroup}

fail() {
  echo "no quota: $1" >&2
  exit 1
}

if [ -e "$root/cgroup.controllers" ]; then
  group=$root/$name
  mkdir -p "$group" 2>/dev/null || fail "$root cannot be written to"
  echo "$quota_us $PERIOD_US" 2>/dev/null >"$group/cpu.max" || fail "$group has no controller cpu"
elif [ -e "$root/cpu/cpu.cfs_quota_us" ]; then
  group=$root/cpu/$name
  mkdir -p "$group" 2>/dev/null || fail "$root/cpu cannot be written to"
  echo "$PERIOD_US" >"$group/cpu.cfs_period_us"
  echo "$quota_us" >"$group/cpu.cfs_quota_us"
else
  fail "$root has no controller cpu"
fi
echo $$ >"$group/cgroup.procs"
exec "$PROBE" "$@" # the same process: who has started it ends it
