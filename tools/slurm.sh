#!/usr/bin/env bash
# Fetches the SLURM that tests/cluster run one node of, from Debian's packages.
#
# They are unpacked into build/slurm and not installed: installed, they would start services.
set -euo pipefail

folder=$PWD/build/slurm
if [ -x "$folder/usr/sbin/slurmctld-wlm" ] && [ -x "$folder/usr/sbin/munged" ]; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo "no apt-get here: the tests of SLURM will be skipped" >&2
  exit 0
fi

mkdir -p "$folder/packages/partial"
# With what of their dependencies is not there.
fetch() {
  apt-get install -qy --no-install-recommends --download-only \
    -o Debug::NoLocking=1 -o Dir::Cache::archives="$folder/packages" \
    slurmctld slurmd slurm-client munge >/dev/null
}
if ! fetch 2>/dev/null; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  "${as_root[@]}" apt-get update -q
  fetch
fi
for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder"; done
