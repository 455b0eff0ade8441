"""Records what notebook 5 shows where no probe is built: `python -m tools.record_loop`.

It runs the notebook on this machine, with the probe that `make probe` has built, and puts the
report and the log of that run beside it. So they are made as the notebook makes them, one after the
other. Nothing else should run meanwhile; it takes half a minute.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

import pocketsim as ps
from pocketsim.api.documents import catalog

FOLDER = catalog.PACKAGE / "notebooks"
NOTEBOOK = FOLDER / "05_close_the_loop.ipynb"
RECORDED = {"my_report.json": "loopback_report.json", "my_trade.jsonl": "loopback_trade.jsonl"}
"""What the notebook measures, and what it reads instead."""


def main() -> int:
    """Record, and print what was written; 5 where there is no probe."""
    if ps.find_probe() is None:
        print("no probe: `make probe` builds build/bin/probe", file=sys.stderr)
        return 5
    notebook = nbformat.reads(NOTEBOOK.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]  # of nbformat
    with tempfile.TemporaryDirectory(prefix="pocketsim-record-") as name:
        place = {"metadata": {"path": name}}
        NotebookClient(notebook, resources=place, kernel_name="python3", timeout=120).execute()
        for made, kept in RECORDED.items():
            shutil.copyfile(Path(name) / made, FOLDER / kept)
            print(f"{FOLDER / kept}: {(FOLDER / kept).stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
