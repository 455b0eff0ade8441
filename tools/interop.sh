#!/usr/bin/env bash
# Fetches the TFTP client and server that tests/interop talk to, and a browser, from Debian's packages.
#
# The TFTP programs are unpacked into build/interop and not installed: tftpd-hpa would start a service
# for the whole network. The Python side (aioquic, playwright) comes with the other Python packages.
set -euo pipefail

# Installs the package of a command that is not there.
needs() {
  if command -v "$1" >/dev/null || ! command -v apt-get >/dev/null; then return; fi
  tools/apt_install.sh "$2" || echo "without $1, tests that need it are left out" >&2
}

# A network of its own for a test of the probe's listener (device_probe/core/tests/trade/crowd.rs).
needs ip iproute2

# A browser for tests/system/test_view.py, which brings none of its own.
needs chromium chromium

packages=(tftp-hpa tftpd-hpa libwrap0 libnsl2 libtirpc3
  libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libssl3)
folder=build/interop
if [ -x $folder/usr/sbin/in.tftpd ] && [ -x $folder/usr/bin/tftp ]; then exit 0; fi
if ! command -v apt-get >/dev/null; then
  echo "no apt-get here: the interoperability tests of TFTP will be skipped" >&2
  exit 0
fi

mkdir -p $folder/packages
fetch() { (cd $folder/packages && apt-get download -qq "${packages[@]}"); }
if ! fetch 2>/dev/null; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  "${as_root[@]}" apt-get update -q
  fetch
fi
for package in $folder/packages/*.deb; do dpkg-deb -x "$package" $folder; done
