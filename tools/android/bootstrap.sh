#!/usr/bin/env bash
# Makes sure that the system has what the Android build and its tests need; installs what lacks.
#
# Looks first and asks for rights only when something is missing. Rust's libraries for phones are
# installed by rustup when they are first needed, jars by Maven, what the tools import by uv;
# everything lies in build/android.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
need_command() { command -v "$1" >/dev/null || missing+=("$2"); }

need_command clang-14 clang-14
need_command llvm-ar llvm # which is what cc asks for where the target is Android
need_command aapt2 aapt
need_command apksigner apksigner
need_command zipalign zipalign
need_command qemu-aarch64 qemu-user
need_command mvn maven
need_command javac openjdk-17-jdk-headless

if ! command -v apt-get >/dev/null; then
  if [ ${#missing[@]} -gt 0 ] || [ ! -d build/android/musl ]; then
    echo "no apt-get here: install the equivalents of ${missing[*]} and musl-dev for arm64" >&2
    exit 5
  fi
fi
if [ ${#missing[@]} -gt 0 ]; then tools/apt_install.sh "${missing[@]}"; fi

# musl for arm64: its headers build SQLite for the static command, its loader runs the library of
# the app under qemu. Unpacked, not installed, with lists of packages of their own, so that the
# system's architectures stay as they are.
if [ ! -d build/android/musl ]; then
  mkdir -p build
  made=$(mktemp -d build/android.XXXX)
  trap 'rm -rf "$made"' EXIT
  mkdir -p "$made/lists/partial" "$made/cache/archives/partial" "$made/tree" build/android
  options=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State::Lists=$PWD/$made/lists"
    -o "Dir::Cache=$PWD/$made/cache" -o APT::Sandbox::User=)
  apt-get "${options[@]}" -q update
  (cd "$made" && apt-get "${options[@]}" -q download musl musl-dev)
  for package in "$made"/*.deb; do dpkg -x "$package" "$made/tree"; done
  mv "$made/tree" build/android/musl
fi
