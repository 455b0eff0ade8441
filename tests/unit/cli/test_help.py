"""What every command says of itself: help, examples that can be pasted, names in a shell."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from pocketsim.api.documents import catalog, schema
from pocketsim.calibration.validate import published
from pocketsim.cli import app
from pocketsim.cli.ui import examples
from pocketsim.sim.base.files import read_toml

PROGRAM = typer.main.get_command(app)
OF_THE_RELAY = [
    f"network.relay.{key}" for key in ("up", "down", "queue", "client_rate", "client_burst")
]
FILES = {"report.json", "log.csv"}  # of what only the user has
SLOW = {"networkx", "numpy", "pandas", "plotly", "pyarrow", "pydantic", "rich", "scipy"}
OUTAGE = schema.keys("scenario", read_toml(catalog.files("scenario")["outage"])[1])


def commands(command=PROGRAM, words=()):
    """Yield every command and group of commands, with its words."""
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*words, name))


EVERY = dict(commands())


def parsed(line):
    """Return the contexts of a line's command and of the groups that it is in; runs nothing."""
    first, *arguments = shlex.split(line)
    assert first == "pocketsim"
    contexts = [PROGRAM.make_context(first, arguments)]
    while hasattr(contexts[-1].command, "commands"):
        outer = contexts[-1]
        left = [*outer._protected_args, *outer.args]
        name, inner, rest = outer.command.resolve_command(outer, left)
        contexts.append(inner.make_context(name, rest, parent=outer))
    return contexts


def test_every_command_has_examples():
    assert len(EVERY) >= 20
    assert sorted(examples.EXAMPLES) == sorted(" ".join(words) for words in EVERY)


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_has_a_short_name_and_shows_the_examples_as_they_are(words):
    # `calibrate` alone shows the help of its first command, whose examples are the same.
    said = {
        option: CliRunner().invoke(app, [*words, option], prog_name="pocketsim").stdout
        for option in ("-h", "--help")
    }
    assert said["-h"] == said["--help"]
    assert "-h, --help" in said["-h"]
    for line in examples.EXAMPLES[" ".join(words)]:
        assert f"    {line}\n" in said["-h"]


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_example_is_of_its_command_and_understood(words):
    for line in examples.EXAMPLES[" ".join(words)]:
        contexts = parsed(line.partition(" >")[0])
        found = tuple(context.info_name for context in contexts[1:])
        assert found[: len(words)] == words


def test_the_rule_on_examples_bites():
    for line in ("pocketsim run udp_100b --sed 3", "pocketsim runs x", "pocketsim sweep run"):
        with pytest.raises(Exception, match=r"No such|Missing"):
            parsed(line)


@pytest.mark.parametrize("line", [line for some in examples.EXAMPLES.values() for line in some])
def test_names_in_examples_are_of_what_is_there(line):
    context = parsed(line.partition(" >")[0])[-1]
    for parameter in context.command.params:
        if parameter._custom_shell_complete is None:
            continue
        given = context.params[parameter.name]
        for value in given if isinstance(given, list) else [given] if given else []:
            name, equals, _ = str(value).partition("=")
            is_own = not equals and (Path(value).suffix or value in FILES)
            assert is_own or name in complete(parameter, context, name), line


def complete(parameter, context, incomplete):
    return [item.value for item in parameter.shell_complete(context, incomplete)]


def completed(folder, line):
    """Return what a shell that stands in `folder` is offered at the end of a line."""
    variables = {
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
        "_POCKETSIM_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pocketsim.cli"],
        env={**os.environ, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("pocketsim run ", ["scenario"]),
        ("pocketsim show ", ["scenario"]),
        ("pocketsim new mine --from ", ["scenario"]),
        ("pocketsim check ", catalog.KINDS),
        ("pocketsim sweep run ", ["sweep"]),
        ("pocketsim sweep plan ", ["sweep"]),
        ("pocketsim sweep collect ", ["sweep"]),
        ("pocketsim profile show ", ["device", "implementation"]),
        ("pocketsim profile compare ", ["device"]),
        ("pocketsim profile compare moto_g04s ", ["device"]),
        ("pocketsim profile lint ", ["device", "implementation"]),
        ("pocketsim profile export ", ["device"]),
        ("pocketsim calibrate this-machine --base ", ["device"]),
        ("pocketsim calibrate published ", ["fit"]),
        ("pocketsim calibrate report.json --base ", ["device"]),
    ],
)
def test_names_of_documents_are_completed(tmp_path, line, kinds):
    assert set(completed(tmp_path, line)) == {
        name for kind in kinds for name in catalog.files(kind)
    }


@pytest.mark.parametrize("command", ["validate", "calibrate sensitivity -o x.toml"])
def test_names_of_subsets_are_completed(tmp_path, command):
    line = f"pocketsim {command} --subset k"
    assert completed(tmp_path, line) == [name for name in published.groups() if name[0] == "k"]


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("pocketsim run udp_100b --set workload.p", ["workload.payload", "workload.pacing"]),
        ("pocketsim show udp_100b --set run.se", ["run.seed"]),
        # Names and elements are those of the scenario, wherever it stands.
        (
            "pocketsim run --seed 3 outage --set run.seed=1 --set network.access.o",
            [key for key in OUTAGE if key.startswith("network.access.office.")],
        ),
        ("pocketsim run outage --set devices[3].cou", ["devices[3].count"]),
        ("pocketsim run outage --set devices[4]", []),
        # Without one there are the others.
        ("pocketsim run --set network.re", ["network.relay_latency", *OF_THE_RELAY]),
        ("pocketsim run --set network.core.pl", ["network.core.platform"]),
        ("pocketsim run nowhere.toml --set run.se", ["run.seed"]),
        ("pocketsim run udp_100b --set run.seed=", []),
    ],
)
def test_keys_of_a_scenario_are_completed(tmp_path, line, keys):
    assert completed(tmp_path, line) == keys


def test_keys_are_those_of_a_file_of_the_users_own(tmp_path):
    text = catalog.files("scenario")["udp_100b"].read_text()
    (tmp_path / "mine.toml").write_text(text.replace("home_wifi", "my_wifi"))
    found = completed(tmp_path, "pocketsim run mine.toml --set network.access.my_wifi.la")
    assert found == ["network.access.my_wifi.latency"]


def test_to_complete_keys_loads_no_library_that_takes_long(root, tmp_path):
    code = (
        "import sys\nfrom pocketsim.api.documents import schema\n"
        "schema.keys('scenario', {})\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not {name.partition(".")[0] for name in done.stdout.split()} & SLOW


def test_names_stand_beside_documents_and_folders_of_the_user(tmp_path):
    (tmp_path / "udp_mine.toml").touch()
    (tmp_path / "udp_notes.txt").touch()
    (tmp_path / "udp_runs").mkdir()
    (tmp_path / ".hidden").mkdir()
    names = [name for name in catalog.files("scenario") if name.startswith("udp")]
    assert completed(tmp_path, "pocketsim run udp") == [*names, "udp_mine.toml", "udp_runs/"]
    assert ".hidden/" not in completed(tmp_path, "pocketsim run ")


def test_paths_alone_are_left_to_the_shell(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "udp.toml").touch()
    assert completed(tmp_path, "pocketsim run mine/u") == []
    assert completed(tmp_path, "pocketsim report mi") == []


def test_words_to_choose_from_are_completed(tmp_path):
    assert completed(tmp_path, "pocketsim list s") == ["scenarios", "sweeps", "subsets"]
    assert completed(tmp_path, "pocketsim schema p") == ["profile", "presence"]
    assert completed(tmp_path, "pocketsim export run --to g") == ["graphml", "gexf"]
    assert completed(tmp_path, "pocketsim profile export --to r") == ["rates"]


def test_commands_are_completed(tmp_path):
    assert completed(tmp_path, "pocketsim calibrate p") == ["published", "presence"]
    assert completed(tmp_path, "pocketsim re") == ["report"]
