#!/usr/bin/env bash
# Makes sure that the system has what the build needs; installs what a Debian 12 lacks.
# `bootstrap.sh simgrid`: and what SimGrid's build needs.
#
# Looks first and asks for rights only when something is missing. Everything else (Python packages,
# SimGrid, the engine) goes into .venv and build/, which `make clean` removes.
set -euo pipefail

# Oldest Rust that the workspace supports (rust-version in Cargo.toml) is what Debian 12 packages
# as rustc-web; its plain rustc is 1.63.
rust_minimum=1.85
uv_minimum=0.8.14
missing=()

need_command() { command -v "$1" >/dev/null || missing+=("$2"); }
need_file() { [ -e "$1" ] || missing+=("$2"); }
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1)" = "$2" ]; }
version_of() { "$1" --version 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+)+' | head -n1; }

find_python() {
  for candidate in python3 python3.11 python3.12 python3.13; do
    if at_least "$(version_of "$candidate" || echo 0)" 3.11; then echo "$candidate"; return; fi
  done
}

need_command g++ build-essential
need_command make build-essential
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
python=$(find_python)
[ -n "$python" ] || missing+=(python3 python3-venv)
if [ "${1-}" = simgrid ]; then
  need_command cmake cmake
  need_file /usr/include/boost/version.hpp libboost-dev
  # Its Python distribution is compiled, against Python's headers.
  headers='import os, sysconfig; raise SystemExit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
  if [ -z "$python" ] || ! "$python" -c "$headers"; then missing+=(python3-dev); fi
fi
if ! at_least "$(version_of cargo || echo 0)" "$rust_minimum"; then
  missing+=(rustc-web cargo-web rustfmt-web rust-web-clippy)
fi

uv_ready() { at_least "$(version_of "$1" || echo 0)" "$uv_minimum"; }
if ! uv_ready uv && ! uv_ready build/tools/bin/uv; then
  if [ -z "$python" ] || ! "$python" -c 'import ensurepip' 2>/dev/null; then missing+=(python3-venv); fi
fi

if [ ${#missing[@]} -gt 0 ]; then tools/apt_install.sh "${missing[@]}"; fi

# uv: the one on the path if it is recent enough, else one of our own.
if ! uv_ready uv && ! uv_ready build/tools/bin/uv; then
  "$(find_python)" -m venv build/tools
  # Of what it says when it fails the last line is the reason; those before are tries.
  if ! said=$(build/tools/bin/pip install --quiet --retries 1 --disable-pip-version-check "uv>=$uv_minimum" 2>&1); then
    echo "could not install uv by pip: ${said##*$'\n'}" >&2
    echo "If the package index could not be reached: connect and run the same again, it goes on where it stopped" >&2
    exit 5
  fi
fi
mkdir -p build/bin
if uv_ready uv; then uv=$(command -v uv); else uv=$PWD/build/tools/bin/uv; fi
ln -sfn "$uv" build/bin/uv
