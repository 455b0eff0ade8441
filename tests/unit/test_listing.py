"""`pocketsim list` and `pocketsim schema`: names with titles, and what documents may hold."""

import json
import re

import jsonschema
import pytest

from pocketsim import catalog, schema
from pocketsim.calibration.validate import published
from pocketsim.sim.base.documents import read_toml

HINT = "run `python -m pocketsim.schema`"
OF_CATALOG = {kind: kind for kind in catalog.KINDS} | {"device": "profile"}
SHIPPED = [(kind, path) for kind in catalog.KINDS for path in catalog.files(kind).values()]


def validator(kind):
    found = json.loads(schema.file(kind).read_text())
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


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
def test_what_is_shipped_is_as_its_schema_says(kind, path):
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


@pytest.mark.parametrize("kind", schema.KINDS)
def test_schema_prints_the_file(cli, kind):
    assert cli("schema", kind).stdout == schema.file(kind).read_text()


@pytest.mark.parametrize("command", ["schema", "list"])
def test_an_unknown_kind_is_exit_2_and_told_the_others(cli, command):
    done = cli(command, "scenaro")
    assert (done.returncode, done.stdout) == (2, "")
    assert "'scenario" in done.stderr
    assert "Traceback" not in done.stderr


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
    found = listed(cli, f"{kind}s")
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
