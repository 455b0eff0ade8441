"""Builds the small C program that calls the app's library under qemu-user."""

from __future__ import annotations

import sys

from tools.android.environment import BUILD, ROOT, exit_with, need_command
from tools.android.toolchain import CLANG, TARGETS, linker, musl_headers, run


def main() -> None:
    """Compile and link `build/android/harness` against Debian's musl for arm64."""
    target = TARGETS["aarch64-unknown-linux-musl"]
    include = musl_headers(target)
    libraries = BUILD / "musl/usr/lib" / target.clang
    source = ROOT / "device_probe/android/tests/harness/harness.c"
    part, made = BUILD / "harness.o", BUILD / "harness"
    options = [
        "-std=gnu11",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-nostdlibinc",
        "-isystem",
        str(include),
    ]
    clang = need_command(CLANG, CLANG)
    run(clang, f"--target={target.clang}", *options, "-c", source, "-o", part)
    loader = ["-dynamic-linker", "/lib/ld-musl-aarch64.so.1", "--export-dynamic"]
    # The package's link to it is absolute, so it leads nowhere here.
    shared = BUILD / "musl/lib" / target.clang / "libc.so"
    objects = [libraries / "crt1.o", libraries / "crti.o", part, libraries / "crtn.o"]
    run(linker(), "-flavor", "gnu", *loader, *objects, shared, "-o", made)


if __name__ == "__main__":
    sys.exit(exit_with(main))
