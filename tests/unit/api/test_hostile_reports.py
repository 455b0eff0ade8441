"""Reports with a number changed, a key gone, a kernel skipped: a profile comes out, or a refusal.

Nothing is drawn: each place of a report is changed in the same ways each time. Of a list that is
the first item, as all others are read alike.
"""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest

from pocketsim.api import calibrate
from pocketsim.calibration.fit import probe_report
from pocketsim.calibration.fit.write import write_implementation, write_profile
from pocketsim.sim.base.errors import ScenarioError, UserError
from pocketsim.sim.devices import implementation, profile
from support import synthetic_reports as synthetic

pytestmark = pytest.mark.slow

GONE = object()
CHANGES = (-1.0, 0, 1e308, math.nan, math.inf, None, "text", [], True, GONE)
SIZES = (0.0, 1e-12, 3e8)
"""What all samples of a kernel are at once: nothing, the least that is read, and the most."""
RECONNECTS_S = {2e-3: 3e-3, 10e-3: 4e-3, 100e-3: 5e-3}
SKIPPED = {"status": "not_measured", "reason": "skipped", "quantities": [], "rounds": []}


def made():
    """Return a report of few samples that has all that a profile or an implementation asks for."""
    phone = synthetic.Phone(count=6)
    report = phone.sleeping_report()
    turns = [one for one in phone.turning_report()["measurements"] if one["kernel"] == "tftp_turn"]
    for rest_s, rtt_s in RECONNECTS_S.items():
        told = {"rtt_s": phone.times(rtt_s, iterations=1)}
        asked = {"bytes": 668, "rest_s": rest_s}
        turns.append(
            synthetic.measurement("quic_reconnect_at_pace", "quic", told, parameters=asked)
        )
    report["measurements"] += turns
    return json.loads(json.dumps(report))


REPORT = made()
FITTED = {"made", "device", "clock", "measurements"}
"""What a fit reads; the rest is for people."""
KERNELS = sorted({one["kernel"] for one in REPORT["measurements"]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a profile of the report as it is."""
    found = tmp_path_factory.mktemp("reports")
    (found / "whole.json").write_text(json.dumps(REPORT))
    write_profile(fitted(found / "whole.json", found).profile_, found / "device.toml")
    return found


def fitted(report, folder):
    options = {"name": None, "measured_by": "x", "store": "file_append", "allow_spoiled": True}
    return calibrate.fitted([report], folder / "made.toml", "thinkpad_l13", **options)


def use(report, folder):
    """Do all that is done with a report; raises what that raises."""
    made = folder / "made.toml"
    write_profile(fitted(report, folder).profile_, made)
    profile.load(made)
    found = calibrate.timed_steps([report], made, folder / "device.toml", "probe")
    write_implementation(found.described, found.implementation, made)
    implementation.load(made)
    calibrate.pinned(folder / "device.toml", made, [report])


def is_taken(report, folder):
    """Return whether a report is taken; where it is not, the refusal has to name the file."""
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return is_fine(lambda: use(path, folder))


def is_read(report, folder):
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    return is_fine(lambda: probe_report.load(path))


def is_fine(do):
    """Return whether something is done; where it is refused, that has to name the report."""
    try:
        do()
    except UserError as error:
        said = str(error)
    else:
        return True
    assert "report.json" in said, said
    return False


def places(part, way=()):
    """Yield the way to each value of a report; of a list the first item."""
    items = part.items() if isinstance(part, dict) else enumerate(part[:1])
    for key, value in items:
        yield (*way, key)
        if isinstance(value, dict | list):
            yield from places(value, (*way, key))


def changed(report, way, value):
    report = copy.deepcopy(report)
    at = report
    for key in way[:-1]:
        at = at[key]
    if value is GONE:
        del at[way[-1]]
    else:
        at[way[-1]] = value
    return report


def with_all(kernel, value, quantity=None):
    """Return the report with all samples of a kernel the same, or of one of its quantities."""
    report = copy.deepcopy(REPORT)
    for one in report["measurements"]:
        if one["kernel"] != kernel:
            continue
        for number, each in enumerate(one["quantities"]):
            if quantity in {None, each["name"]}:
                each["samples"] = synthetic.samples(np.full(6, value))
                for part in one["rounds"] if number == 0 else ():
                    part["median"] = value
    return report


PLACES = list(places(REPORT))
SHORT = {**REPORT, "measurements": REPORT["measurements"][:1]}
"""Read sooner, with the same places."""


@pytest.mark.slow
@pytest.mark.parametrize("top", list(REPORT))
def test_a_report_with_anything_changed_is_taken_or_refused_with_its_file(top, folder):
    for way in PLACES:
        if way[0] != top:
            continue
        for value in CHANGES:
            if is_read(changed(SHORT, way, value), folder) and top in FITTED:
                is_taken(changed(REPORT, way, value), folder)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_whose_times_are_extreme_is_taken_or_refused(kernel, folder):
    for value in SIZES:
        is_taken(with_all(kernel, value), folder)
    assert not is_read(with_all(kernel, -1e-3), folder)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_that_was_skipped_is_no_traceback(kernel, folder):
    measurements = [
        {**one, **SKIPPED} if one["kernel"] == kernel else one for one in REPORT["measurements"]
    ]
    is_taken({**REPORT, "measurements": measurements}, folder)


@pytest.mark.parametrize(
    ("kernel", "quantity", "value", "said"),
    [
        ("ed25519_verify", "cpu_s", -1e-3, "cpu_s is negative: -0.001"),
        ("trade_at_pace", "countersign_s", 0.0, "countersign_s is 0 s in the median"),
        ("sleep_overshoot", "overshoot_s", -1e-3, "overshoot_s is negative"),
        ("ed25519_sign", "wall_s", 0.0, "wall_s is 0 s in the median"),
        ("udp_buffer_capacity", "granted_bytes", -1.0, "granted_bytes is negative: -1"),
    ],
)
def test_impossible_measurements_are_named(kernel, quantity, value, said, folder):
    path = folder / "report.json"
    path.write_text(json.dumps(with_all(kernel, value, quantity)))
    with pytest.raises(ScenarioError, match=r"measurements\[\d+\]") as caught:
        probe_report.load(path)
    assert said in str(caught.value)


def test_samples_that_contradict_their_summary_are_refused(folder):
    report = copy.deepcopy(REPORT)
    report["measurements"][0]["quantities"][0]["samples"]["values"][3] *= 1000
    path = folder / "report.json"
    path.write_text(json.dumps(report))
    with pytest.raises(ScenarioError, match="not between minimum and maximum"):
        probe_report.load(path)
