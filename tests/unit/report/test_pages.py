"""What is written around the package: gallery, picture, manual page, files of the community."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tomllib
from itertools import pairwise
from xml.etree import ElementTree as ET

import plotly.graph_objects as go
import pytest
import yaml

import pocketsim as ps
from pocketsim import sim
from pocketsim.api.documents import catalog
from pocketsim.report.html.page import Page
from pocketsim.sim.scenario.resolve import resolve
from tools import manual, picture

PICTURE_BYTES_MAX = 60_000
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@pytest.fixture(scope="module")
def gallery(root):
    spec = importlib.util.spec_from_file_location("gallery", root / "docs" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_scenario_has_a_place_in_the_gallery_and_says_what_it_is(gallery):
    files = catalog.files("scenario")
    assert {path.parent.name for path in files.values()} == set(gallery._PLACES)
    assert set(gallery._CHANGES) <= set(files)
    for name, path in files.items():
        assert len(gallery.description(path).split()) >= 5, name


@pytest.mark.parametrize("name", catalog.files("scenario"))
def test_a_picture_has_several_points_and_its_changes_are_valid(gallery, name):
    changes = dict(gallery.changes_of(name))
    one = {key: value[0] if isinstance(value, list) else value for key, value in changes.items()}
    assert list(resolve(ps.scenario(name, one)))


def test_the_gallery_shows_the_first_of_what_tells_most(gallery):
    page = Page("")
    for section in ("fates", "success", "rates"):
        page.section(section, section)
        page.figures([(section, "one", go.Figure()), (section, "two", go.Figure())])
    chosen = gallery.chosen(page.charts)
    assert (chosen.section, chosen.caption) == ("rates", "one")


@pytest.mark.engine
def test_an_entry_says_what_was_run_and_shows_it(gallery, tmp_path):
    path = catalog.files("scenario")["recipients"]
    text = gallery._entry("recipients", path, tmp_path, tmp_path / "runs")
    assert text.startswith(f"### {ps.scenarios()['recipients']}\n")
    assert "Here with `run.duration` 2s." in text
    assert "pocketsim run recipients" in text
    assert "```{image} recipients.svg" in text
    assert ET.parse(tmp_path / "recipients.svg").getroot().tag.endswith("svg")  # noqa: S314 - ours


def numbers_and_words(text):
    return [float(one) for one in NUMBER.findall(text)], NUMBER.sub("#", text)


@pytest.mark.engine
def test_the_picture_of_the_readme_is_of_these_runs(tmp_path):
    kept = picture.PICTURE.read_text()
    made = picture.picture(tmp_path).decode()
    (kept_numbers, kept_words), (made_numbers, made_words) = map(numbers_and_words, (kept, made))
    assert made_words == kept_words, "python -m tools.picture"
    assert made_numbers == pytest.approx(kept_numbers, abs=0.5), "python -m tools.picture"


def test_the_readme_opens_with_its_picture(root):
    text = (root / "README.md").read_text()
    screen = text.splitlines()[:14]
    assert any(f"]({picture.PICTURE.relative_to(root)})" in line for line in screen)
    assert picture.PICTURE.stat().st_size < PICTURE_BYTES_MAX
    phones = sum(picture.PHONES.values()) + 1
    assert phones == 1000
    assert "a thousand phones" in text
    said = " ".join(text.split())
    assert "A simulation" in said
    document = catalog.files("scenario")[picture.SCENARIO].read_text()
    profiles = set(re.findall(r'^profile = "(.*)"$', document, re.MULTILINE))
    assert len(profiles) == 3
    assert all(name.replace("_", " ") in said.lower() for name in profiles)


def test_the_manual_has_every_command_option_and_exit_code(root):
    text = manual.manual().replace("\\-", "-").replace("\\(aq", "'")
    words = [name for name, _ in manual.commands(manual.typer.main.get_command(manual.app))]
    assert len(words) >= 20
    for name, command in manual.commands(manual.typer.main.get_command(manual.app)):
        (section,) = re.findall(
            rf"^\.SS pocketsim {name} \[OPTIONS\].*?(?=^\.S[HS])", text, re.MULTILINE | re.DOTALL
        )
        for parameter in command.params:
            for option in (word for word in parameter.opts if word.startswith("-")):
                assert re.search(rf"^\.B .*{option}\b", section, re.MULTILINE), (name, option)
    page = (root / "docs" / "commands.md").read_text()
    assert set(re.findall(r"^\| (\d+) \| ", page, re.MULTILINE)) == set(manual._EXIT)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="no mandoc")
def test_the_manual_is_well_formed(tmp_path):
    page = tmp_path / "pocketsim.1"
    page.write_text(manual.manual())
    line = ["mandoc", "-T", "lint", "-W", "warning", page]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    found = [one for one in done.stdout.splitlines() if "missing date" not in one]
    assert not found


def test_the_manual_turns_no_text_into_a_request():
    assert manual._text(".SH x") == "\\&.SH x"
    assert manual._text("a-b 'c' \\d") == "a\\-b \\(aqc\\(aq \\ed"


def test_the_citation_is_of_this_version_and_names_nobody(root):
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert {"cff-version", "message", "authors", "title"} <= set(cited)
    assert cited["version"] == project["version"] == sim.__version__
    assert cited["license"] == project["license"]
    assert cited["authors"] == project["authors"]


def test_templates_of_issues_are_forms(root):
    folder = root / ".github" / "ISSUE_TEMPLATE"
    names = {path.stem for path in folder.glob("*.yml")}
    assert names == {"bug_report", "new_device_profile", "question", "config"}
    for name in names - {"config"}:
        form = yaml.safe_load((folder / f"{name}.yml").read_text())
        assert {"name", "description", "body"} <= set(form)
        fields = [one for one in form["body"] if one["type"] != "markdown"]
        ids = [one["id"] for one in fields]
        assert len(ids) == len(set(ids)) >= 2
        assert all(one["attributes"]["label"] for one in fields)
        assert any(one.get("validations", {}).get("required") for one in fields)


def test_links_of_templates_and_security_exist(root):
    texts = [path.read_text() for path in (root / ".github/ISSUE_TEMPLATE").glob("*.yml")]
    links = [link for text in texts for link in re.findall(r"\]\(\.\./blob/main/([^)]+)\)", text)]
    assert len(links) >= 3
    assert all((root / link).is_file() for link in links)


def test_every_page_is_in_the_index_once(root):
    text = (root / "docs" / "index.md").read_text()
    trees = re.findall(
        r"```\{toctree\}\n:caption: (.*?)\n:maxdepth: 1\n\n(.*?)```", text, re.DOTALL
    )
    assert [caption for caption, _ in trees] == ["Learn", "Do", "Look up", "Understand"]
    listed = [line for _, tree in trees for line in tree.split()]
    pages = {path.stem for path in (root / "docs").glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(pages | {"generated/gallery"})


def test_every_command_of_the_first_study_is_a_command(root):
    text = (root / "docs" / "first_study.md").read_text()
    lines = re.findall(r"^pocketsim .*", text, re.MULTILINE)
    assert len(lines) >= 5
    known = {name for name, _ in manual.commands(manual.typer.main.get_command(manual.app))}
    for line in lines:
        words = line.split()[1:]
        assert words[0] in known or " ".join(words[:2]) in known, line
    assert all(first != second for first, second in pairwise(lines))
