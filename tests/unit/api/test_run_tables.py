"""Runs as a table of HTML and as arrays over the axes of their points."""

import importlib.util
import math

import numpy as np
import pytest

import pocketsim as ps
from pocketsim import testing
from pocketsim.api import run_tables
from pocketsim.api.results import Run, Runs
from pocketsim.sim.base.errors import EnvironmentMissingError, UserError

SHAPE = testing.Shape(lost_ratio=0.1)


def made(folder, rates=(4.0, 16.0), payloads=(100,), repetitions=2, **sections):
    sections.setdefault("run", {"seed": 1, "duration_s": 10.0, "repetitions": repetitions})
    for rate in rates:
        for payload in payloads:
            resolved = testing.resolved("mine", rate, payload, repetitions=repetitions, **sections)
            testing.run_dir(folder, resolved, SHAPE)
    return ps.load(folder)


def test_a_table_of_html_has_points_and_main_metrics(tmp_path):
    table = made(tmp_path)._repr_html_()
    assert "<caption>means over 2 repetitions</caption>" in table
    assert "<th>run</th><th>sent/s</th>" in table
    assert "<td>udp rate 4/s</td>" in table
    assert table.count("<tr>") == 3


def test_a_run_has_a_table_of_its_own(tmp_path):
    runs = made(tmp_path)
    assert runs[0]._repr_html_() == runs[:1]._repr_html_()
    assert runs[0]._repr_html_().count("<tr>") == 2


def test_of_many_runs_the_first_are_shown(tmp_path):
    run = made(tmp_path, rates=(4.0,))[0]
    assert Runs([run] * 20)._repr_html_().count("<tr>") == 21
    assert "more" not in Runs([run] * 20)._repr_html_()
    many = Runs([run] * 22)._repr_html_()
    assert many.count("<tr>") == 21
    assert "; 2 more runs</caption>" in many
    assert Runs([])._repr_html_() == "<p>no runs</p>"


def test_what_documents_say_is_text_in_html(tmp_path):
    resolved = testing.resolved("mine", run={"duration_s": 5.0})
    for name in ("<script>", "<b>"):
        testing.run_dir(tmp_path, resolved, SHAPE, {"x.name": {"value": name, "unit": ""}})
    table = ps.load(tmp_path)._repr_html_()
    assert "<script>" not in table
    assert "name &lt;script&gt;" in table


def test_repetitions_that_differ_are_a_range(tmp_path):
    made(tmp_path, rates=(4.0,), repetitions=1)
    assert "<caption>one repetition</caption>" in made(tmp_path, rates=())._repr_html_()
    assert "means over 1 to 3 repetitions" in made(tmp_path, (8.0,), repetitions=3)._repr_html_()


def test_a_grid_of_points_is_arrays_over_its_axes(tmp_path):
    runs = made(tmp_path, payloads=(100, 1200))
    found = runs.to_xarray()
    assert dict(found.sizes) == {"workload.payload_bytes": 2, "workload.rate_per_s": 2,
                                 "repetition": 2}  # fmt: skip
    assert found["workload.rate_per_s"].values.tolist() == [4.0, 16.0]
    for run in runs:
        at = {f"{key}_{'bytes' if key.endswith('payload') else 'per_s'}": run.point[key]["value"]
              for key in ("workload.payload", "workload.rate")}  # fmt: skip
        there = found.sel(at)
        assert there["store_rate_per_s"].values.tolist() == run.values("store_rate_per_s")
        assert set(there["directory"].values.tolist()) == {str(run.directory)}
        assert there["sent"].values.tolist() == [fate["sent"] for fate in run.metrics["fates"]]
    assert found["transport.mode"].item() == "udp"
    assert not {"transport", "payload_bytes", "rate_per_s"} & set(found.variables)


def test_arrays_say_their_units_and_what_they_are(tmp_path):
    found = made(tmp_path).to_xarray()
    assert found["rtt_ms_p50"].attrs == {
        "long_name": "round trip of stored transactions, storing included: median",
        "units": "ms",
    }
    assert found["workload.rate_per_s"].attrs["units"] == "1/s"
    assert "units" not in found["repetition"].attrs
    assert found.attrs == {"pocketsim_version": ps.__version__}


def test_what_is_not_there_is_nan(tmp_path):
    made(tmp_path, rates=(4.0,), payloads=(100,), repetitions=3)
    found = made(tmp_path, rates=(16.0,), payloads=(1200,), repetitions=2).to_xarray()
    known = np.isfinite(found["success_ratio"].values)
    assert known.shape == (2, 2, 3)
    assert known.sum() == 5
    assert not found["directory"].values[~known].any()


def test_values_of_an_axis_are_in_order_and_text_as_it_comes():
    def axis(values):
        values, at = run_tables._axis(values)
        return values.tolist(), at.tolist()

    assert axis([16, 4.0, 16]) == ([4.0, 16.0], [1, 0, 1])
    assert axis(["b", "a", None, "b"]) == (["b", "a", ""], [0, 1, 2, 0])
    assert axis([True, False]) == (["true", "false"], [0, 1])
    (numbers, missing), at = axis([None, 1.0, None])
    assert (numbers, math.isnan(missing), at) == (1.0, True, [1, 0, 1])


def test_two_runs_at_one_point_are_refused_by_name(tmp_path):
    run = made(tmp_path, rates=(4.0,))[0]
    with pytest.raises(UserError, match=r"mine/.* and .*mine/.* are at the same point"):
        Runs([run, run]).to_xarray()


def test_points_that_are_no_grid_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tables, "_CELLS_MAX", 7)
    with pytest.raises(UserError, match=r"8 rows are no grid, .* 8 cells; use to_frame"):
        made(tmp_path, payloads=(100, 1200)).to_xarray()


def test_without_xarray_it_is_said_what_has_it(tmp_path, monkeypatch):
    runs = made(tmp_path, rates=(4.0,))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentMissingError, match=r"pip install 'pocketsim\[xarray\]'"):
        runs.to_xarray()


def test_a_run_alone_has_only_repetitions(tmp_path):
    found = Runs([Run(run.directory, run.point) for run in made(tmp_path, rates=(4.0,))])
    assert dict(found.to_xarray().sizes) == {"repetition": 2}
