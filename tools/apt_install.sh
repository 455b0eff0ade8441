#!/usr/bin/env bash
# Installs Debian packages, with sudo unless whoever asks is root: `apt_install.sh PACKAGE...`.
set -euo pipefail

echo "installing: $*" >&2
if ! command -v apt-get >/dev/null; then
  echo "no apt-get here: install these packages' equivalents and run again" >&2
  exit 5
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
as_root+=(env DEBIAN_FRONTEND=noninteractive)

# After an installation that was stopped half-way, apt refuses everything until this is done.
if [ -n "$(dpkg --audit)" ] || [ -n "$(ls -A "${DPKG_UPDATES:-/var/lib/dpkg/updates}" 2>/dev/null)" ]; then
  echo "an earlier installation was stopped half-way: finishing it (dpkg --configure -a)" >&2
  "${as_root[@]}" dpkg --configure -a
fi

# apt-get update ends well without a network, with the lists of before: so what counts is the second.
if ! { "${as_root[@]}" apt-get update -q &&
  "${as_root[@]}" apt-get install -qy --no-install-recommends "$@"; }; then
  echo "could not install $* by apt-get. If Debian's packages could not be reached: connect and run" \
    "the same again, it goes on where it stopped" >&2
  exit 5
fi
