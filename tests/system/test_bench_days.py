"""The table of docs/models.md of what days come to is what its command prints."""

import subprocess
import sys

from conftest import ROOT


def test_the_table_of_days_is_what_its_command_prints():
    command = [sys.executable, ROOT / "bench/days.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    printed = dict(line.split(" | ")[:2] for line in done.stdout.splitlines()[2:])
    page = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    start = page.index("| of a person and day | days | counted |")
    rows = [line.split(" | ")[:2] for line in page[start:].split("\n\n")[0].splitlines()[2:]]
    assert len(rows) == 5
    for name, found in rows:
        digits = len(found.partition(".")[2])
        assert f"{float(printed[name]):.{digits}f}" == found
