"""`pocketsim list` and `pocketsim schema`: names with titles, and what documents may hold."""

import json
import re

import jsonschema
import pytest

from pocketsim.api.documents import catalog, schema
from pocketsim.calibration.validate import published
from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import key_path
from pocketsim.sim.scenario.load import load

HINT = "run `python -m pocketsim.api.documents.schema`"
OF_CATALOG = {kind: kind for kind in catalog.KINDS} | {"device": "profile"}
SHIPPED = [(kind, path) for kind in catalog.KINDS for path in catalog.files(kind).values()]


def validator(kind):
    found = json.loads(schema.file(kind).read_text())
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def plural(kind):
    """Return what `list` calls documents of a kind."""
    return kind if kind == "presence" else f"{kind}s"


def plain(path):
    """Return a document as an editor hands it to a schema: dates are text."""
    return json.loads(json.dumps(read_toml(path)[1], default=str))


@pytest.mark.parametrize("kind", schema.KINDS)
def test_schemas_are_current(kind):
    assert schema.file(kind).read_text() == schema.generated(kind), HINT


def test_every_schema_is_of_a_kind():
    folder = schema.file("scenario").parent
    assert set(folder.iterdir()) == {schema.file(kind) for kind in schema.KINDS}


@pytest.mark.parametrize(("kind", "path"), SHIPPED, ids=lambda value: str(value).split("/")[-1])
def test_shipped_documents_match_their_schemas(kind, path):
    checker, document = validator(OF_CATALOG[kind]), plain(path)
    assert not list(checker.iter_errors(document))
    assert list(checker.iter_errors({**document, "nonsense": 1}))


def test_a_sweep_has_one_seed_or_several():
    checker = validator("sweep")
    for seed, is_valid in ((1, True), ([1, 2], True), ([], False), (-1, False), ("1", False)):
        document = {"sweep": {"scenario": "x.toml", "seed": seed}}
        assert checker.is_valid(document) == is_valid


@pytest.mark.parametrize("kind", ["scenario", "sweep"])
def test_first_lines_lead_editors_to_the_schema(kind):
    for path in catalog.files(kind).values():
        line, _, _ = path.read_text().partition("\n")
        target = path.parent / line.removeprefix("#:schema ")
        assert target.resolve() == schema.file(kind), path


def said(value, parts=()):
    """Yield the paths of what a document says: values, lists of values, empty lists."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from said(inner, (*parts, name))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for number, item in enumerate(value):
            yield from said(item, (*parts, number))
    else:
        yield key_path(parts)


@pytest.mark.parametrize(("kind", "path"), SHIPPED, ids=lambda value: str(value).split("/")[-1])
def test_every_key_of_what_is_shipped_is_among_the_keys(kind, path):
    document = plain(path)
    free = ("sweep.axes.", "points.")  # what a sweep sets are keys of its scenario
    keys = {key for key in said(document) if not key.startswith(free)}
    assert len(keys) > 3
    assert keys <= set(schema.keys(OF_CATALOG[kind], document))


@pytest.mark.parametrize("name", ["udp_100b", "outage", "sign_and_verify"])
def test_every_key_of_a_scenario_is_one_that_overrides_may_have(name):
    path = catalog.files("scenario")[name]
    keys = schema.keys("scenario", plain(path))
    assert len(keys) == len(set(keys)) > 40
    # These tables may be left out, or their kind: then they have keys of all kinds.
    for key in (key for key in keys if not re.search(r"\b(churn|contacts)\.", key)):
        try:
            load(path, [f"{key}='nonsense'"])
        except ScenarioError as error:
            assert error.reason != "unknown key", key  # noqa: PT017 - most values are refused


def test_kinds_of_tables_have_keys_of_their_own():
    def keys(**workload):
        every = schema.keys("scenario", {"workload": workload} if workload else {})
        return {key for key in every if key.startswith("workload.")}

    paced, town = keys(kind="paced"), keys(kind="town")
    assert "workload.pacing" in paced - town
    assert "workload.amount.mean" in town - paced
    assert paced | town < keys() == keys(kind="nonsense")


@pytest.mark.parametrize("kind", schema.KINDS)
def test_schema_prints_the_file(cli, kind):
    assert cli("schema", kind).stdout == schema.file(kind).read_text()


@pytest.mark.parametrize(
    ("command", "known"),
    [("schema", list(schema.KINDS)), ("list", [plural(kind) for kind in catalog.KINDS])],
)
def test_an_unknown_kind_is_exit_2_and_told_the_nearest(cli, command, known):
    for said, meant in (("scenaro", known[0]), ("zzz", "")):
        done = cli(command, said)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"KIND: '{said}' is not one of {', '.join(known)}")
        assert line.endswith(f"(did you mean {meant}?)") == bool(meant)


def test_an_unknown_kind_is_shown_as_it_may_stand_in_a_line(cli):
    (line,) = cli("list", "a\n\x1b[31m").stderr.splitlines()
    assert line.startswith(r"KIND: 'a\n\x1b[31m' is not")


@pytest.mark.parametrize("command", ["schema", "list"])
def test_a_missing_kind_is_exit_2_and_told_all(cli, command):
    done = cli(command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Missing argument 'KIND'" in done.stderr
    assert "sweep" in done.stderr


def listed(cli, kind):
    """Return the titles that `list` prints, by name, and that its JSON has the same."""
    done = cli("list", kind)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.fullmatch(r"(\S+) +(\S.*)", line) for line in done.stdout.splitlines()]
    found = {line[1]: line[2] for line in lines}
    assert len(found) == len(lines)
    rows = json.loads(cli("list", kind, "--json").stdout)
    assert {row["name"]: row["title"] for row in rows} == found
    return found


@pytest.mark.parametrize("kind", catalog.KINDS)
def test_documents_are_listed_with_titles(cli, kind):
    found = listed(cli, plural(kind))
    assert list(found) == list(catalog.files(kind))
    assert not {name for name, title in found.items() if name == title}, "has no title"


def test_titles_are_those_of_documents(cli):
    assert listed(cli, "scenarios")["udp_100b"] == "UDP, 100 B"
    assert listed(cli, "devices")["moto_g04s"] == "Motorola Moto G04s"


def test_subsets_are_listed_with_titles(cli):
    found = listed(cli, "subsets")
    assert found == {name: group.title for name, group in published.groups().items()}
    assert "latency" in found


def test_metrics_are_those_of_their_page(cli, root):
    page = (root / "docs/metrics.md").read_text()
    row = re.compile(r"^\| (`\w.*`) \| (\S+) \| `(.*)` \| (.*) \|$", re.MULTILINE)
    of_page = {
        name: {"name": name, "unit": unit, "title": title, "formula": formula}
        for names, unit, formula, title in row.findall(page)
        for name in re.findall(r"`(\w+)`", names)
    }
    rows = json.loads(cli("list", "metrics", "--json").stdout)
    assert len(rows) > 60
    assert sorted(row["name"] for row in rows) == sorted(of_page)
    for row in rows:
        # The page has energy in one row for both, with a payment's formula.
        same = row["formula"].replace("/ stored", "/ completed")
        is_energy = row["name"].endswith("_per_transaction")
        assert (row | {"formula": same} if is_energy else row) == of_page[row["name"]]
    lines = cli("list", "metrics").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[row["name"], row["unit"]] for row in rows]
    assert lines[0].endswith(rows[0]["title"])
