"""The command line, which signals itself at a chosen file operation in a folder, for tests.

Arguments: signal number, number of the operation (0 for never), folder, file to write the count of
operations to, then those of `pocketsim`. Operations are Python's audit events on paths in the
folder: opening, making, renaming and removing, each before it is done.
"""

import os
import sys
import threading
from pathlib import Path

WHICH, AT, FOLDER, COUNT = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir"}
lock = threading.Lock()
seen = []


def hook(event, arguments):
    if event not in EVENTS or not arguments or not str(arguments[0]).startswith(FOLDER):
        return
    with lock:
        seen.append(event)
        now = len(seen) == AT
    if now:
        os.kill(os.getpid(), WHICH)


sys.argv[1:] = sys.argv[5:]
from pocketsim.cli import main  # noqa: E402 - its own imports are not what is interrupted

sys.addaudithook(hook)
try:
    main()
finally:
    COUNT.write_text(str(len(seen)))
