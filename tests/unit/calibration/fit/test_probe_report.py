"""Reading reports: what the probe writes is read, and what is wrong with it is said."""

from __future__ import annotations

import copy
import json

import pytest

from pocketsim.calibration.fit import device, kernels, probe_report
from pocketsim.calibration.fit.costs import price
from pocketsim.sim.base.errors import ScenarioError
from support import synthetic_reports as synthetic


@pytest.fixture
def small():
    """A report with one case of each way to keep samples, and one that was not measured."""
    report = synthetic.envelope()
    raw = synthetic.measurement("ed25519_sign", "crypto", {"wall_s": [1e-5, 3e-5, 2e-5]})
    sketched = synthetic.measurement("sha256", "crypto", {"wall_s": [1e-6]})
    sketched["quantities"][0]["samples"] = synthetic.samples([1e-6, 2e-6, 4e-6], keep=False)
    missing = synthetic.measurement("battery_current", "battery", {})
    missing |= {"status": "not_measured", "reason": "no battery"}
    report["measurements"] = [raw, sketched, missing]
    return report


def read(folder, report):
    (loaded,) = synthetic.loaded(folder, report)
    return loaded


def test_a_report_is_read_as_it_is(tmp_path, small):
    loaded = read(tmp_path, small)
    assert loaded.document.model_dump(exclude_unset=True) == small
    assert loaded.started_at.isoformat() == "2026-03-01T10:00:00+00:00"
    assert loaded.document.measurements[0].quantity("wall_s").median == 2e-5
    assert loaded.document.measurements[0].quantity("cpu_s") is None


def test_a_report_of_an_earlier_probe_is_read_with_what_it_no_longer_has(tmp_path, small):
    small["made"] |= {"near": True, "awake": True}
    cores_apart = {"condition": "cores_apart", "detail": "2 of 9 steps of two cores"}
    small["spoiled"] = [cores_apart]
    small["measurements"].append(
        synthetic.measurement("core_to_core", "scheduling", {"latency_s": [42e-9]})
    )
    loaded = read(tmp_path, small)
    assert loaded.document.spoiled[0].condition == "cores_apart"
    assert loaded.document.conditions.before.core_to_core_s is None


def test_the_digest_is_of_the_bytes(tmp_path, small):
    import hashlib

    loaded = read(tmp_path, small)
    assert loaded.digest == hashlib.sha256(loaded.path.read_bytes()).hexdigest()


def change(report, path, value):
    """Set, or with `...` remove, what `path` leads to."""
    *way, last = path
    at = report
    for key in way:
        at = at[key]
    if value is ...:
        del at[last]
    else:
        at[last] = value


CASE = ("measurements", 0)
SAMPLES = (*CASE, "quantities", 0, "samples")
SKETCH = ("measurements", 1, "quantities", 0, "samples")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("schema_version",), 2, "schema_version: version 2 is not known"),
        (("schema_version",), ..., "schema_version: is required"),
        (("mode",), {}, "mode: unknown key (did you mean made?)"),
        (("made", "probe_versoin"), "1", "did you mean probe_version?"),
        (("made", "libc"), "glibc", "made.libc: must be one of gnu, musl, bionic"),
        (("made", "started_at"), "yesterday", "made.started_at: "),
        (("made", "started_at"), "2026-03-01T10:00:00", "has no time zone"),
        (("made", "stopped"), 1, "made.stopped: must be true or false"),
        (("clock", "resolution_s"), -1.0, "clock.resolution_s: should be greater"),
        (("clock", "resolution_s"), float("nan"), "clock.resolution_s: "),
        (("clock", "resolution_s"), "50ns", "clock.resolution_s: must be a plain number"),
        (("device", "cores"), {}, "device.cores: must be a list"),
        (("spoiled",), [{"condition": "noise", "detail": ""}], "(did you mean noisy?)"),
        ((*CASE, "group"), "cripto", "measurements[0].group: must be one of crypto"),
        ((*CASE, "threads"), 0, "measurements[0].threads: "),
        ((*CASE, "quantities"), [], "measured, but without quantities"),
        ((*CASE, "status"), "not_measured", "not measured, but without a reason"),
        ((*CASE, "quantities", 0, "samples", "values"), None, "needs either values or quantiles"),
        ((*SAMPLES, "count"), 4, "3 values, but count is 4"),
        ((*SAMPLES, "minimum"), 1.0, "not in order"),
        ((*SAMPLES, "maximum"), 1e12, "wall_s is longer than 3660d"),
        ((*SKETCH, "quantiles"), [2e-6] * 200, "at least 201 items"),
        ((*SKETCH, "quantiles", 3), 1.0, "not in rising order"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, small, path, value, expected):
    change(small, path, value)
    with pytest.raises(ScenarioError, match=r"^\S+report_0\.json: ") as caught:
        read(tmp_path, small)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 1, column 1: not JSON: expecting value"),
        ('{"a": 1,\n "b" 2}', "line 2, column 6: not JSON: expecting ':' delimiter"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_said(tmp_path, text, expected):
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        probe_report.load(path)
    assert expected in str(caught.value)


def test_a_missing_file_suggests_its_neighbour(tmp_path):
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(ScenarioError, match=r"no such file \(did you mean .*report\.json\?\)"):
        probe_report.load(tmp_path / "raport.json")


def shape(schema, root):
    """Reduce a schema to what a document of it may look like, without names and descriptions.

    Keys, which of them are required, whether unknown ones are refused, types, enums and the limits
    of lists; a number's limits and formats are left to each side.
    """
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    kinds = schema.get("anyOf") or [
        {**schema, "type": kind} for kind in schema["type"] if isinstance(schema["type"], list)
    ]
    if kinds:
        return merged([shape(kind, root) for kind in kinds])
    if schema["type"] == "object":
        return keys(schema, root)
    if schema["type"] == "array":
        limits = {key: schema[key] for key in ("minItems", "maxItems") if key in schema}
        return {"items": shape(schema["items"], root), **limits}
    return {"enum": sorted(schema["enum"])} if "enum" in schema else schema["type"]


def keys(schema, root):
    if "properties" not in schema:
        return {"values": shape(schema["additionalProperties"], root)}
    found = {key: shape(part, root) for key, part in schema["properties"].items()}
    required = sorted(schema.get("required", []))
    return {"keys": found, "required": required, "open": not closed(schema)}


def closed(schema):
    return schema.get("additionalProperties") is False


def merged(kinds):
    """Return one shape for a value that may be null, whichever way a schema puts it."""
    others = [kind for kind in kinds if kind != "null"]
    assert len(others) == 1, kinds
    return {"nullable": others[0]} if len(others) < len(kinds) else others[0]


def test_both_halves_agree_on_the_format(root):
    theirs = json.loads((root / "device_probe/report.schema.json").read_text())
    ours = probe_report.Document.model_json_schema()
    # A literal 1 here, an integer from 1 to 1 there.
    assert ours["properties"]["schema_version"].pop("const") == 1
    assert theirs["properties"]["schema_version"]["maximum"] == 1
    assert shape(ours, ours) == shape(theirs, theirs)


def test_a_report_of_ours_is_one_of_the_schema(root, small):
    import jsonschema

    schema = json.loads((root / "device_probe/report.schema.json").read_text())
    jsonschema.validate(small, schema)
    jsonschema.validate(synthetic.Phone().report(), schema)
    for path in (("made", "libc"), ("spoiled",), (*SAMPLES, "quantiles"), ("clock", "name")):
        broken = copy.deepcopy(small)
        change(broken, path, "nonsense" if path != ("clock", "name") else ...)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)


def test_reports_of_the_probe_are_read(root):
    """What the probe wrote: some kernels, in reports that say where, and what its tests keep."""
    import jsonschema

    schema = json.loads((root / "device_probe/report.schema.json").read_text())
    ours = sorted((root / "tests/reports").glob("*.json"))
    theirs = sorted((root / "device_probe").glob("*/tests/**/*report*.json"))
    assert [path.stem for path in ours] == ["arm64_qemu", "linux_vm"]
    for path in (*ours, *theirs):
        jsonschema.validate(json.loads(path.read_text()), schema)
        report = probe_report.load(path).document
        assert any(one.condition in {"emulator", "virtual_machine"} for one in report.spoiled)


def test_a_report_of_a_machine_prices_what_it_measured(root):
    """Within a factor of some, on which any core of this century would agree."""
    report = probe_report.load(root / "tests/reports/linux_vm.json")
    sign = price(kernels.SOURCES["sign"], [report], 2).cost
    assert 5e-6 < sign.cpu < 500e-6
    # Its two rounds of 668 bytes had medians of 18.55 and 28.18 us, so their mean errs by half of
    # what is between them, 21 % of it; of two the error is hardly known.
    assert sign.standard_error / sign.cpu == pytest.approx(0.206, rel=0.02)
    assert sign.degrees_of_freedom == pytest.approx(1.0, rel=0.01)
    assert 0.1e-9 < sign.per_byte < 100e-9
    assert price(kernels.SOURCES["verify"], [report], 2) is None
    assert price(kernels.STORES["sqlite_journal"], [report], 2).cost.wait > 1e-4
    assert price(kernels.SOURCES["endpoint_setup"], [report], 2).cost.cpu > 10e-6
    assert device.socket_buffer_bytes([report]) == 212992
