"""What a command loads, in a process of its own: what takes long, only where it is used."""

import json
import os
import subprocess
import sys

import pytest

from pocketsim.api.documents.catalog import document_file
from pocketsim.cli.commands import COMMANDS
from pocketsim.cli.ui import groups
from pocketsim.sim.run.job import read
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

DRAW = {"jinja2", "markupsafe", "matplotlib", "plotly"}
COMPUTE = {"networkx", "numpy", "pandas", "pyarrow", "scipy"}
HEAVY = DRAW | COMPUTE | {"distributed", "nacl", "rich", "tomli_w", "tomlkit"}
MODELS = {"pydantic"}
COMMAND = """
from pocketsim.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def loaded(root, folder, code, *arguments):
    """Return the modules that a new Python has when it has run some code."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys\n{code}", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


def tops(modules):
    return {name.partition(".")[0] for name in modules}


def commands_in(modules):
    """Return the modules of commands among some."""
    places = {f"pocketsim.cli.{entry.place.partition(':')[0]}" for entry in COMMANDS.values()}
    return modules & places


@pytest.mark.parametrize("words", ["", "sweep", "profile"])
def test_help_of_a_group_loads_no_command(root, tmp_path, words):
    found = loaded(root, tmp_path, COMMAND, *words.split(), "--help")
    assert "typer" in found
    # To read the options before a command's name, typer takes pydantic.
    assert not tops(found) & (HEAVY if words else HEAVY | MODELS)
    assert not commands_in(found)


def test_help_of_a_command_loads_that_command(root, tmp_path):
    found = loaded(root, tmp_path, COMMAND, "run", "--help")
    assert not tops(found) & HEAVY
    assert commands_in(found) == {"pocketsim.cli.runs.run"}


def test_to_check_a_scenario_takes_models_and_nothing_else(root, tmp_path):
    found = loaded(root, tmp_path, COMMAND, "check", "udp_100b")
    assert "pydantic" in found
    assert not tops(found) & HEAVY


@pytest.mark.engine
def test_to_run_a_scenario_leaves_computing_to_children(root, tmp_path, scenario):
    found = loaded(root, tmp_path, COMMAND, "run", scenario, "--set", "workload.rate=4/s")
    assert (tmp_path / "runs" / scenario.stem).is_dir()
    assert not tops(found) & HEAVY


CHILD = """
import json
from pathlib import Path
from pocketsim.sim import _engine
from pocketsim.sim.run import assembly, child, forkserver
asked = json.loads(Path(sys.argv[1]).read_text())
forkserver.load()
for job in asked["jobs"]:
    forkserver.load_for({"job": job})
before = set(sys.modules)
for job in asked["jobs"]:
    child.run(job, _engine, lambda _share: None)
forkserver.load_for({"measure": asked["measure"]})
before |= set(sys.modules) if asked["measure"]["resolved"]["run"]["repetitions"] > 1 else set()
assembly.measured(Path(asked["measure"]["folder"]), asked["measure"]["resolved"])
Path(sys.argv[2]).write_text(json.dumps([*before]))
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.engine
@pytest.mark.parametrize(
    ("name", "overrides", "has_scipy"),
    [
        ("udp_100b", [], False),
        ("udp_100b", ["run.repetitions=3"], True),
        ("udp_100b", ["run.draw=posterior"], True),
        ("tests/support/1k_churn.toml", ["devices[1].count=20"], True),
    ],
)
def test_a_child_loads_what_its_job_needs_before_it_forks(
    root, tmp_path, name, overrides, has_scipy
):
    asked = ["run.repetitions=1", "run.duration=2s", *overrides]
    document = load(
        document_file(root / name if name.endswith(".toml") else name, "scenario"), asked
    )
    resolved = resolve(document)[0].resolved
    jobs = [
        {
            "resolved": resolved,
            "repetition": number,
            "first_index": None,
            "out_dir": str(tmp_path / "run"),
            "files": document.paths(),
        }
        for number in range(resolved["run"]["repetitions"])
    ]
    work = {"resolved": resolved, "folder": str(tmp_path / "run")}
    (tmp_path / "asked.json").write_text(json.dumps({"jobs": jobs, "measure": work}))
    found = loaded(root, tmp_path, CHILD, tmp_path / "asked.json", tmp_path / "before.json")
    before = set(read(tmp_path / "before.json"))
    assert ("scipy" in found) == has_scipy
    assert not tops(found) & (MODELS | DRAW | {"networkx", "pandas", "rich", "typer"})
    assert not {name for name in found - before if tops({name}) & COMPUTE}


def test_a_child_reads_a_users_files_without_models(root, tmp_path):
    code = (
        "from pocketsim.sim.scenario import phone_ids, presence_files, resolved, trade_files\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    assert not tops(loaded(root, tmp_path, code)) & (MODELS | HEAVY)


@pytest.mark.parametrize("words", COMMANDS)
def test_the_help_of_a_group_says_what_a_command_says_of_itself(words):
    command = groups.of(COMMANDS, words.rpartition(" ")[0])(name="").commands[words.split()[-1]]
    first = " ".join(command.help.split("\n\n")[0].split())
    summary = COMMANDS[words].summary
    assert first == summary or first.startswith(f"{summary} ")
    assert summary.endswith(".")
