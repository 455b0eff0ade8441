"""A toy family, a toy transport and a toy metric, added where ARCHITECTURE says and nowhere else.

The Python half: the packages are copied, changed in the places that "Where to add" names, and used
as a user would. That a machine is all that the engine asks for is shown in
sim/engine/tests/driver/toy.rs.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EVERY_TRANSPORT = Path(__file__).parents[1] / "support/every_transport.toml"

RECORD = '    Family("toy", ("poisson",), "toy", "nothing but a test"),\n]\n"""A list'
SCENARIO_PART = '''"""A toy, as a protocol family of scenarios: no more than two phones play."""

from pocketsim.sim.base.errors import ScenarioError


def check(scenario, path):
    if scenario.phone_count() > 2:
        raise ScenarioError(path, "devices", "no more than two play")


def message_bytes(scenario, payload_bytes):
    return 1 + payload_bytes
'''
METRICS_PART = '''"""What a toy achieved."""

RATIOS = {"toy_lost_ratio": "toy_count"}
COUNTS = ("toy_count",)


def names(resolved):
    return ("toy_count", "toy_lost_ratio")


def measure(part, told, resolved):
    sent, stored = (part.of_kind(kind).time_s.size for kind in ("send", "store"))
    return {"toy_count": float(sent), "toy_lost_ratio": 1 - stored / sent}
'''
TFTP = '    tftp: Tftp | None = Field(default=None, description="TFTP.")\n'
NEW = {"pocketsim/sim/scenario/toy.py": SCENARIO_PART, "pocketsim/sim/metrics/toy.py": METRICS_PART}
CHANGED = {
    "pocketsim/sim/base/families.py": (']\n"""A list', RECORD),
    "pocketsim/sim/scenario/transports.py": ('"eva", "none"\n]', '"eva", "none", "toy"\n]'),
    "pocketsim/sim/devices/implementation.py": (TFTP, f"{TFTP}{TFTP.replace('tftp', 'toy')}"),
    "pocketsim/sim/devices/contents.py": (
        "    tftp: Tftp | None\n",
        "    tftp: Tftp | None\n    toy: Tftp | None\n",
    ),
}
# What the bullets of "Where to add" call these places.
NAMED = {
    "A protocol family": (
        "pocketsim/sim/base/families.py",
        "pocketsim/sim/scenario",
        "pocketsim/sim/metrics",
    ),
    "A transport": (
        *("pocketsim/sim/scenario/transports.py", "pocketsim/sim/devices/implementation.py"),
        "pocketsim/sim/devices/contents.py",
    ),
    "A metric": ("pocketsim/sim/metrics",),
}
USE = """
import json, sys
from pathlib import Path
from pocketsim import testing
from pocketsim.sim import metrics
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
(rung,) = resolve(load(Path(sys.argv[1])))
plan = build_plan(rung.resolved, 0)
invented = {**testing.resolved(repetitions=1), "protocol": rung.resolved["protocol"]}
shape = testing.Shape(lost_ratio=0.25)
found = metrics.measure(testing.events(invented, shape), invented)["metrics"]
kinds = [plan["protocol"]["kind"], plan["transport"]["mode"], rung.resolved["rung"]["transport"]]
print(json.dumps({"kinds": kinds, "metrics": {name: found[name] for name in found}}))
"""


@pytest.fixture
def changed(root, tmp_path):
    """Return a folder with the packages, a toy added to them."""
    kept = shutil.ignore_patterns("*.so", "*.pyc")
    shutil.copytree(root / "pocketsim", tmp_path / "pocketsim", ignore=kept)
    for path, text in NEW.items():
        (tmp_path / path).write_text(text)
    for path, (old, new) in CHANGED.items():
        text = (root / path).read_text()
        assert text.count(old) == 1, path
        (tmp_path / path).write_text(text.replace(old, new))
    return tmp_path


@pytest.fixture
def document(scenario):
    text = scenario.read_text().replace('kind = "paced"', 'kind = "poisson"')
    text = text.replace('rate = ["4/s", "8/s"]', 'rate = "4/s"')
    text = text.replace(str(EVERY_TRANSPORT), "toy.toml")
    scenario.with_name("toy.toml").write_text(EVERY_TRANSPORT.read_text() + "\n[toy]\n")
    scenario.write_text(text.replace('"udp"', '"toy"') + '\n[protocol]\nkind = "toy"\n')
    return scenario


def python(folder, *arguments):
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={"PYTHONPATH": str(folder), "PATH": ""},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_toy_family_runs_and_is_measured(changed, document):
    done = python(changed, "-c", USE, document)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kinds"] == ["toy", "toy", "toy"]
    (sent,) = found["metrics"]["toy_count"]["values"]
    assert sent > 0
    assert found["metrics"]["toy_lost_ratio"]["ci95_method"] == "wilson"
    assert 0 < found["metrics"]["toy_lost_ratio"]["mean"] < 1
    assert "rtt_ms_p50" in found["metrics"]


def test_toy_rules_are_checked_and_the_toy_is_suggested(changed, document):
    assert python(changed, "-m", "pocketsim.cli", "check", document).returncode == 0
    document.write_text(document.read_text().replace("count = 2", "count = 3"))
    done = python(changed, "-m", "pocketsim.cli", "check", document)
    assert (done.returncode, "no more than two play" in done.stderr) == (2, True)
    document.write_text(document.read_text().replace('kind = "toy"', 'kind = "tooy"'))
    done = python(changed, "-m", "pocketsim.cli", "check", document)
    assert "did you mean toy?" in done.stderr


def test_toy_is_refused_where_it_was_not_added(root, document):
    done = python(root, "-m", "pocketsim.cli", "check", document)
    assert (done.returncode, "must be one of" in done.stderr) == (2, True)


def test_changed_files_are_those_that_architecture_names(root):
    section = (root / "ARCHITECTURE.md").read_text().split("## Where to add\n")[1]
    bullets = dict(re.findall(r"- \*\*(.*?)\.\*\*(.*?)(?=\n- \*\*|\Z)", section, re.DOTALL))
    for title, places in NAMED.items():
        named = re.findall(r"`([\w/.]+)`", bullets[title])
        assert set(places) <= set(named), title
    touched = {*NEW, *CHANGED}
    said = {place for places in NAMED.values() for place in places}
    assert all(any(path.startswith(place) for place in said) for path in touched)
