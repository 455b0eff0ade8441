"""Runs cargo for a phone: `python3 -m tools.android.cargo TARGET build --release ...`.

The Makefile calls it with a Python that has pyelftools.
"""

from __future__ import annotations

import os
import sys

from tools.android.environment import ROOT, exit_with, need_command
from tools.android.toolchain import TARGETS, environment


def main() -> None:
    """Replace this process by cargo, with the target and all that it needs."""
    if len(sys.argv) < ARGUMENTS_MIN or sys.argv[1] not in TARGETS:
        print(
            f"usage: python3 -m tools.android.cargo {'|'.join(TARGETS)} COMMAND ...",
            file=sys.stderr,
        )
        sys.exit(EXIT_USAGE)
    target, command = TARGETS[sys.argv[1]], sys.argv[2]
    cargo = need_command("cargo", "cargo")
    arguments = ["cargo", command, f"--target={target.triple}", *sys.argv[3:]]
    os.chdir(ROOT)  # the linker's paths are relative to it
    os.execve(cargo, arguments, environment(target))  # noqa: S606  # no shell is wanted


# The script, the target and cargo's own command.
ARGUMENTS_MIN = 3
EXIT_USAGE = 2


if __name__ == "__main__":
    sys.exit(exit_with(main))
