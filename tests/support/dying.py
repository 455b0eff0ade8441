"""Signals the command line at a chosen file operation in a folder, whichever process does it.

Operations are Python's audit events on paths in the folder: opening, making, renaming and removing,
each before it is done. The processes of a command count theirs together, by the bytes of a file.
"""

import os
import sys
from pathlib import Path

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir"}


def begin(with_signal, at, folder, count):
    """Count from here on, in this process and those that it starts."""
    Path(count).touch()
    os.environ["DYING"] = f"{os.getpid()} {with_signal} {at} {count} {folder}"


def watch():
    """Count the operations of this process, and of its forks."""
    process, with_signal, at, count, folder = os.environ["DYING"].split(" ", 4)
    counted = os.open(count, os.O_WRONLY | os.O_APPEND)

    def hook(event, arguments):
        if event not in EVENTS or not arguments or not str(arguments[0]).startswith(folder):
            return
        os.write(counted, b".")
        # Where two write at once, both may see the second: it is done once.
        if os.fstat(counted).st_size == int(at):
            os.kill(int(process), int(with_signal))

    sys.addaudithook(hook)
