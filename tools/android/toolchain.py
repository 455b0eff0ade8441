"""What cargo needs to link for bionic and for static musl, made from Rust's own parts.

Android's C library is represented by stubs: empty libraries with the right names and symbols. The
symbols are those of the bionic of API level 23 inside the jar of unidbg, so a function that a phone
lacks fails the link. The unwinder is the one that Rust ships for musl, plus a shim of two
functions.

What deliberately does not live here: fetching jars and packages, and what is built with all this.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tools.android.elf import Elf, Symbol
from tools.android.environment import BUILD, ROOT, Missing, need_command


@dataclass(frozen=True)
class Target:
    """A Rust target: its musl sister has the unwinder, `clang` is what the C compiler calls it."""

    triple: str
    musl: str
    clang: str

    @property
    def is_bionic(self) -> bool:
        """Whether its C library is Android's."""
        return self.triple.endswith("-android")

    @property
    def folder(self) -> Path:
        """Where its parts lie."""
        return BUILD / "toolchain" / self.triple


def environment(target: Target) -> dict[str, str]:
    """Make what is missing; return the variables that cargo needs for `target`."""
    clang = need_command(CLANG, f"{CLANG}, which compiles ring and SQLite for phones")
    need_rust(target.triple)
    flags = bionic_flags(target) if target.is_bionic else MUSL_FLAGS
    suffix = target.triple.replace("-", "_")
    return {
        **os.environ,
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        f"CC_{suffix}": clang,
        f"CFLAGS_{suffix}": " ".join(c_flags(target)),
        f"CARGO_TARGET_{suffix.upper()}_LINKER": "rust-lld",
    }


def bionic_flags(target: Target) -> list[str]:
    """Make stubs, unwinder and shim; return rustc's flags for a library of 16 KiB pages."""
    need_rust(target.musl)
    target.folder.mkdir(parents=True, exist_ok=True)
    make_stubs(target)
    unwinder = sysroot() / "lib/rustlib" / target.musl / "lib/self-contained/libunwind.a"
    shutil.copyfile(unwinder, target.folder / "libunwind.a")
    shim = make_shim(target)
    # Only what is linked reads these, which cargo does in the root: paths that name no checkout let
    # several checkouts share what crates of others compile to.
    stubs, shim = (path.relative_to(ROOT) for path in (target.folder, shim))
    linked = [f"-L{stubs}", str(shim), "-z", "max-page-size=16384", "-z", "defs"]
    flags = ["-C", "linker-flavor=ld.lld", "-C", "strip=symbols"]
    return flags + [part for argument in linked for part in ("-C", f"link-arg={argument}")]


def c_flags(target: Target) -> list[str]:
    """Return the C compiler's flags: no headers but those meant for the target."""
    source = BIONIC_HEADERS if target.is_bionic else musl_headers(target)
    include = HEADERS / target.clang
    shutil.copytree(source, include, dirs_exist_ok=True)
    return [f"--target={target.clang}", "-nostdlibinc", "-isystem", str(include), "-fPIC"]


def make_stubs(target: Target) -> None:
    """Make a stub of each of bionic's libraries, unless it is there."""
    for name in STUBS:
        stub = target.folder / f"{name}.so"
        if not stub.exists():
            real = Elf(bionic_library(name))
            source = stub.with_suffix(".s")
            source.write_text(stub_source(public_symbols(real)))
            assemble(target, source, stub.with_suffix(".o"))
            link_stub(target, stub.with_suffix(".o"), stub, real.soname or f"{name}.so")


def public_symbols(library: Elf) -> list[Symbol]:
    """Return what a library offers to everybody."""
    return [symbol for symbol in library.exported if symbol.version != "LIBC_PRIVATE"]


def stub_source(symbols: list[Symbol]) -> str:
    """Write assembly that defines every symbol with its type and size, and nothing behind it."""
    lines = [".text"]
    for symbol in sorted(symbols, key=lambda symbol: symbol.name):
        kind = "%function" if symbol.is_function else "%object"
        lines += [f".globl {symbol.name}", f".type {symbol.name}, {kind}"]
        lines += [f"{symbol.name}: .zero 16", f".size {symbol.name}, {symbol.size_bytes or 16}"]
    return "\n".join(lines) + "\n"


def assemble(target: Target, source: Path, made: Path) -> None:
    """Assemble for the target."""
    run(need_command(CLANG, CLANG), f"--target={target.clang}", "-c", source, "-o", made)


def link_stub(target: Target, part: Path, made: Path, soname: str) -> None:
    """Link an object into a library that says it is `soname`; rename it into place last."""
    draft = made.with_suffix(".draft")
    emulation = "aarch64linux" if target.triple.startswith("aarch64") else "elf_x86_64"
    run(
        linker(),
        "-flavor",
        "gnu",
        "-shared",
        "-m",
        emulation,
        f"-soname={soname}",
        part,
        "-o",
        draft,
    )
    draft.rename(made)


def make_shim(target: Target) -> Path:
    """Compile the two functions that the unwinder misses in bionic."""
    made = target.folder / "shim.o"
    source = Path(__file__).with_name("shim.rs")
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        options = ["--crate-type=lib", "--emit=obj", "--edition=2021", "-O", "-Cpanic=abort"]
        run("rustc", f"--target={target.triple}", *options, source, "-o", made)
    return made


def bionic_library(name: str) -> bytes:
    """Return the bytes of one of bionic's libraries from the jar of unidbg."""
    jar = BUILD / "jars/unidbg-android.jar"
    if not jar.exists():
        raise Missing(f"{jar.relative_to(ROOT)} is missing: run make apk")
    with zipfile.ZipFile(jar) as archive:
        return archive.read(f"android/sdk23/lib64/{name}.so")


def musl_headers(target: Target) -> Path:
    """Return musl's headers of Debian's package for the target's architecture."""
    headers = BUILD / "musl/usr/include" / target.clang
    if not headers.exists():
        raise Missing(
            f"musl's headers for {target.clang} are missing: run tools/android/bootstrap.sh"
        )
    return headers


def need_rust(triple: str) -> None:
    """Make sure that Rust's libraries for a target are installed."""
    if (sysroot() / "lib/rustlib" / triple / "lib").is_dir():
        return
    if not shutil.which("rustup"):
        raise Missing(f"rustup is missing, which installs Rust's libraries for {triple}")
    run("rustup", "target", "add", triple)


def sysroot() -> Path:
    """Return where rustc keeps its parts."""
    command = [need_command("rustc", "rustc"), "--print", "sysroot"]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def linker() -> Path:
    """Return the linker that comes with Rust for this machine."""
    found = sorted((sysroot() / "lib/rustlib").glob("*/bin/rust-lld"))
    if not found:
        raise Missing("rust-lld is missing, which Rust of rustup brings along")
    return found[0]


def run(*command: str | Path) -> None:
    """Run a command that must not fail."""
    subprocess.run([str(part) for part in command], check=True)


TARGETS = {
    target.triple: target
    for target in (
        Target("aarch64-linux-android", "aarch64-unknown-linux-musl", "aarch64-linux-android"),
        Target("x86_64-linux-android", "x86_64-unknown-linux-musl", "x86_64-linux-android"),
        Target("aarch64-unknown-linux-musl", "aarch64-unknown-linux-musl", "aarch64-linux-musl"),
    )
}

# The newest that Debian 12 has under its default name; any later one would do.
CLANG = "clang-14"
BIONIC_HEADERS = Path(__file__).parent / "include"
# C is compiled in folders of cargo's, so the path is absolute; who builds in several checkouts may
# give them one, or cargo compiles ring and SQLite, and all that needs them, anew in each.
HEADERS = Path(os.environ.get("POCKETSIM_ANDROID_HEADERS", BUILD / "headers")).absolute()
# What Rust's standard library links on Android.
STUBS = ("libc", "libm", "libdl", "liblog")
MUSL_FLAGS = [
    part
    for option in ("linker-flavor=ld.lld", "link-self-contained=yes", "strip=symbols")
    for part in ("-C", option)
]
