"""The picture of README.md: `python -m tools.picture` makes it again, by running what it shows."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pocketsim as ps
from pocketsim.report.paper import print_figures
from pocketsim.report.runs.run import load
from pocketsim.report.sections import towns

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "outage.svg"
SCENARIO = "outage"
# A tenth of the town, which takes seconds.
PHONES = {"devices[0].count": 582, "devices[1].count": 388, "devices[2].count": 29}


def picture(folder: Path) -> bytes:
    """Return the picture as SVG; its runs are made in `folder`."""
    runs = ps.run(SCENARIO, PHONES, out=folder)
    assert isinstance(runs, ps.Runs)
    found = load(run.directory for run in runs)
    _, caption, chart = towns.charts(found)[0]
    return print_figures.pictures(chart, caption, print_figures.DOUBLE_IN, ["svg"])[".svg"]


def main() -> None:
    """Write the picture to where README.md shows it."""
    with tempfile.TemporaryDirectory() as folder:
        content = picture(Path(folder))
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(content)
    print(PICTURE)


if __name__ == "__main__":
    main()
