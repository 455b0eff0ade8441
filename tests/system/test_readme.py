"""Every command of README.md and docs/commands.md is exercised, in a short form.

Both pages are read, so that a command without a short form fails here. Commands of `pocketsim` and
of the probe run here; targets of make are tests/system/test_makefile.py's.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, SCENARIO, command_line

from pocketsim.api.documents import catalog
from support.interop_programs import built, running
from tools import manual

NAMES = {name for kind in catalog.KINDS for name in catalog.files(kind)}
PAGES = ("README.md", "docs/commands.md")
TEXT = "\n".join((ROOT / page).read_text() for page in PAGES)
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
SPANS = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", PROSE)]

# By the words before the first argument; the calls stand in for every command that begins so, and
# together have every option and every file that the pages name. {run}, {worked}, {tokens}:
# finished runs. What the pages do not name is not run; "; " separates calls of which the last needs
# the others.
SHOWN = "--metric send_rate_per_s --x workload.rate --by devices[0].count"
SHORT = {
    "pocketsim run": [
        "run small.toml --set workload.rate=4/s --seed 3 --jobs 1 --out runs --json --allow-code",
        "run outage --dry-run",
    ],
    "pocketsim list": ["list scenarios --json"],
    "pocketsim new": ["new other --from small.toml"],
    "pocketsim notebooks": ["notebooks course --force"],
    "pocketsim schema": ["schema scenario"],
    "pocketsim show": ["show small.toml"],
    "pocketsim check": ["check small.toml sweep.toml moto_g04s"],
    "pocketsim sweep run": [
        "sweep run sweep.toml --shard 1/2 --out swept --keep events --allow-code",
        "sweep run sweep.toml --out packed --keep metrics --scratch . --before 3000-01-01",
    ],
    "pocketsim sweep slurm": [
        "sweep slurm sweep.toml --array 2%1 --time 60 --partition main --account me --setup true",
        "sweep slurm sweep.toml --array 2 --sbatch --mem=4G --allow-code",
    ],
    "pocketsim sweep plan": ["sweep plan sweep.toml --json"],
    "pocketsim sweep status": [
        "sweep run sweep.toml --out swept; sweep status sweep.toml --out swept --watch"
    ],
    "pocketsim sweep report": [
        f"sweep run grid.toml --out grid; sweep report grid.toml --out grid -o page.html {SHOWN}",
        f"sweep run grid.toml --out grid; sweep report grid.toml --out grid --paper one {SHOWN}",
    ],
    "pocketsim sensitivity": [
        "sweep run design.toml; sensitivity design.toml --metric rtt_ms_p50 -o page.html"
    ],
    "pocketsim view": [
        "view {run} --dry-run --port 0",
        "sweep run sweep.toml --out swept; view sweep.toml --out swept --dry-run",
    ],
    "pocketsim compare": ["compare {run} {run} --detect 5%"],
    "pocketsim sweep collect": [
        "sweep run sweep.toml --out swept; sweep collect sweep.toml --out swept -o table.csv"
    ],
    "pocketsim report": [
        "run udp_100b --set run.duration=5s; report runs/udp_100b -o udp.html",
        "report {run} -o page.html --plotly-js plotly.js",
        f"sweep run grid.toml --out grid; report grid -o page.html {SHOWN}",
        "report {run} --paper figures --force",
    ],
    "pocketsim export": [
        "export {run} --to csv -o events.csv",
        "export {run} --to graphml --repetition 0 -o phones.graphml",
        "export {run} --to gexf -o phones.gexf",
        "export {run} --to json -o phones.json",
        "export {run} -o phones.gexf",
        "export {worked} --to perfetto -o run.pftrace",
        "export {tokens} --to tokens -o tokens",
        "export {run} --to ro-crate -o crate --licence CC-BY-4.0",
    ],
    "pocketsim import": [
        "import tij near.dat -o near --window 20 --time-unit s --origin 0 --json",
        "import snap edges.txt -o edges --undirected --force",
        (
            "import payments paid.csv -o paid --amount-unit EUR"
            " --columns payer=from,payee=to,amount=value,time=ts"
        ),
    ],
    "pocketsim verify": ["verify {tokens} --repetition 0 --json"],
    "pocketsim calibrate": [
        (
            "calibrate {root}/tests/reports/linux_vm.json --base moto_g04s --allow-spoiled "
            "-o mine.toml --json"
        )
    ],
    "pocketsim calibrate this-machine": [
        "calibrate this-machine --seconds 0.5 --base moto_g04s -o machine.toml"
    ],
    "pocketsim calibrate implementation": [
        (
            "calibrate implementation {root}/tests/reports/linux_vm.json --device thinkpad_l13 "
            "--base probe -o program.toml --json"
        )
    ],
    "pocketsim profile pin": [
        "profile pin thinkpad_l13 --report {root}/tests/reports/linux_vm.json -o one_core.toml"
    ],
    "pocketsim profile list": ["profile list --json"],
    "pocketsim profile show": ["profile show moto_g04s"],
    "pocketsim profile compare": [
        "profile compare moto_g04s thinkpad_l13 --payload 1200 --plot ratios.svg --json"
    ],
    "pocketsim profile lint": ["profile lint moto_g04s --json"],
    "pocketsim profile export": [
        "profile export --to rates moto_g04s --payload 1200 -o rates.json"
    ],
    "pocketsim calibrate presence": [
        (
            "calibrate presence {root}/tests/support/presence.csv "
            "--watched {root}/tests/support/presence_watched.csv -o law.toml --json"
        )
    ],
    "pocketsim calibrate sensitivity": [
        "calibrate sensitivity --only *l13*.sign.cpu --subset F3_sign --samples 0 -o table.toml"
    ],
    "pocketsim profile split": ["profile split {root}/tests/support/profile_0_1.toml -o split"],
    "pocketsim calibrate contacts": [
        (
            "calibrate contacts people.dat --format tij --origin 0s --until 2 --resolution 20s"
            " --title T --source S --licence CC0 -o law.toml"
        )
    ],
    "pocketsim calibrate published": ["calibrate published laptop_cores -o cores.toml"],
    "pocketsim metrics": ["metrics log.csv --json"],
    "pocketsim validate": [
        "validate --subset block_sizes --report page.html --json",
        "validate --subset block_sizes --rows",
        "validate --subset block_sizes --brief",
    ],
    "pocketsim validate host": [
        "validate host --quick --probe {root}/tests/support/fake_probe.py -o host --json",
        (
            "validate host --quick --no-bar --other {root}/tests/support/fake_probe.py -o other"
            " --profile {root}/tests/reports/linux_vm_device.toml --json"
        ),
    ],
    "pocketsim doctor": ["doctor"],
}
# What takes a cluster: tests/cluster has one.
ON_A_CLUSTER = {
    "pocketsim sweep run": {"--executor", "--scheduler"},
    "pocketsim sweep slurm": {"--submit"},
}
# What opens a browser.
ON_A_SCREEN = {"pocketsim view": {"--open"}}
# Run by the tests below with these names.
PROBE = {
    "probe run": "test_the_probe_measures_and_checks",
    "probe check": "test_the_probe_measures_and_checks",
    "probe trade": "test_the_probe_trades_over_its_link",
    "probe trade listen": "test_the_probe_trades_over_its_link",
    "probe trade dial": "test_the_probe_trades_over_its_link",
    "probe link": "test_the_probe_trades_over_its_link",
    "probe tokens": "test_the_probe_pays_as_its_page_says",
}
SWEEP = '[sweep]\nscenario = "small.toml"\nseed = [1]\n[axes]\n"workload.rate" = ["4/s", "8/s"]\n'
DESIGN = (
    '[sweep]\nscenario = "small.toml"\n[design]\nkind = "morris"\ntrajectories = 2\nseed = 1\n'
    '[design.ranges]\n"devices[0].cost.sign" = { from = 0.5, to = 2.0 }\n'
)
TOKENS = ["run.duration=10min", "outages=[]", "protocol.crypto=real", "output.tokens=true"]


@dataclass(frozen=True)
class Command:
    """A command of the pages: its words before the first argument, and all of it."""

    name: str
    text: str


def commands(*programs: str) -> list[Command]:
    """Return the commands of the pages that call one of `programs`, in blocks and in prose."""
    lines = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]
    texts = [line.partition(" #")[0].strip() for line in lines] + SPANS
    found = []
    for text in texts:
        first, *rest = text.replace("\\|", "|").split()
        if Path(first).name in programs and rest:
            words = [Path(first).name]
            for word in rest:
                if not re.fullmatch("[a-z][a-z-]*", word) or word in NAMES:
                    break
                words.append(word)
            found.append(Command(" ".join(words), " ".join(rest)))
    return found


def rows() -> list[tuple[str, set[str]]]:
    """Return the name of each row of the tables of commands, and every option that it mentions."""
    found = []
    for line in TEXT.splitlines():
        if match := re.match(r"\| `(pocketsim [^`]*)`", line):
            spans = " ".join(re.findall(r"`([^`]+)`", line))
            name = re.match(r"pocketsim( [a-z]+(-[a-z]+)*)+", match[1])
            assert name is not None
            found.append((name[0], set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", spans))))
    return found


NAMED = sorted({command.name for command in commands("pocketsim")})


def test_the_pages_are_read():
    assert len(rows()) >= 10
    assert {"pocketsim run", "pocketsim sweep run"} <= set(NAMED)
    assert "probe trade dial" in {command.name for command in commands("probe")}


def test_every_command_has_a_row():
    defaults = {"calibrate reports": "calibrate", "validate published": "validate"}
    names = [name for name, _ in manual.commands(manual.typer.main.get_command(manual.app))]
    there = {f"pocketsim {defaults.get(name, name)}" for name in names}
    assert {name for name, _ in rows()} == there


def test_every_command_has_a_short_form():
    known = {**SHORT, **PROBE}
    found = {command.name for command in commands("pocketsim", "probe")}
    assert not found - set(known), "give them short forms above"


@pytest.mark.parametrize(("name", "options"), rows())
def test_every_option_of_the_table_is_in_a_short_form(name, options):
    used = {word for call in SHORT[name] for word in call.split()}
    elsewhere = ON_A_CLUSTER.get(name, set()) | ON_A_SCREEN.get(name, set())
    assert not options - used - elsewhere


def test_what_takes_a_cluster_is_tested_on_one():
    text = "".join(path.read_text() for path in (ROOT / "tests" / "cluster").glob("test_*.py"))
    for options in ON_A_CLUSTER.values():
        assert {option for option in options if f'"{option}"' in text} == options


def test_every_choice_and_file_is_in_a_short_form():
    used = {word for calls in SHORT.values() for call in calls for word in call.split()}
    for command in commands("pocketsim"):
        for choices in re.findall(r"--[a-z-]+ ((?:[a-z-]+\|)+[a-z-]+)", command.text):
            assert set(choices.split("|")) <= used
        assert {word for word in command.text.split() if word in NAMES} <= used


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the documents that the short forms name."""
    path = tmp_path_factory.mktemp("readme")
    small = SCENARIO.replace("repetitions = 2", "").replace('["4/s", "8/s"]', '"4/s"')
    (path / "small.toml").write_text(small)
    (path / "sweep.toml").write_text(SWEEP)
    (path / "grid.toml").write_text(f'{SWEEP}"devices[0].count" = [2, 3]\n')
    (path / "design.toml").write_text(DESIGN)
    (path / "near.dat").write_text("20 1 2\n40 1 2\n")
    often = [f"{30000 + 60 * at} 1 {2 + at % 3}\n" for at in range(60)]
    (path / "people.dat").write_text("".join(often))
    (path / "edges.txt").write_text("1 2\n2 3\n")
    (path / "paid.csv").write_text("from,to,value,ts\na,b,1.50,3\n")
    return path


@pytest.fixture(scope="module")
def pocketsim(folder):
    # `validate host` takes a minute of a computer that does nothing else.
    # Each begins anew: a command has to import by itself what it needs.
    return command_line(folder, sys.executable, "-m", "pocketsim.cli", timeout_s=300, anew=True)


@pytest.fixture(scope="module")
def finished(pocketsim):
    """Return what stands for {run}, {worked} and {tokens}, and leave log.csv."""

    def directory(*arguments):
        done = pocketsim("run", *arguments, "--out", "finished")
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[0]

    small = directory("small.toml")
    assert pocketsim("export", small, "-o", "log.csv").returncode == 0
    settings = [word for setting in TOKENS for word in ("--set", setting)]
    market = ROOT / "pocketsim/scenarios" / "tokens" / "market.toml"
    worked = directory("small.toml", "--set", "output.trace=work")
    return {"run": small, "worked": worked, "tokens": directory(market, *settings)}


@pytest.mark.engine
@pytest.mark.parametrize("calls", [call for name in NAMED for call in SHORT.get(name, [])])
def test_a_short_form_runs(calls, pocketsim, finished):
    for call in calls.split("; "):
        done = pocketsim(*call.format(root=ROOT, **finished).split())
        assert done.returncode == 0, done.stderr


@pytest.mark.engine
def test_the_example_of_events_runs(folder, finished):
    # README's is tests/unit/api/test_library.py's.
    _, example = (block for kind, block in BLOCKS if kind == "python")
    path = folder / finished["run"] / "events.parquet"
    code, replaced = re.subn('"runs/[^"]*"', repr(str(path)), example)
    assert replaced == 1
    code += "\nassert (rtt_s.dropna() > 0).any()\n"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="session")
def probe():
    return built() / "probe"


def run_probe(probe, *arguments):
    done = subprocess.run(
        [probe, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_tests_of_the_probe_are_here():
    assert all(name in globals() for name in PROBE.values())


@pytest.mark.slow
def test_the_probe_measures_and_checks(probe, tmp_path):
    report = tmp_path / "report.json"
    run_probe(probe, "run", "--quick", "--only", "ed25519_sign", "--quiet", "-o", report)
    assert "ed25519_sign" in run_probe(probe, "check", "--table", report)


@contextmanager
def link(probe, to):
    options = ["--listen", "127.0.0.1:0", "--to", to, "--delay", "2ms", "--loss", "0%"]
    with running(probe, "link", *options) as (process, line):
        yield line.split()[-1]
        process.send_signal(signal.SIGTERM)


@pytest.mark.slow
def test_the_probe_trades_over_its_link(probe):
    with (
        running(probe, "trade", "listen", "--bind", "127.0.0.1:0") as (_process, line),
        link(probe, line.split()[2]) as address,
    ):
        short = ["--duration", "200ms", "--rate", "50", "--repetitions", "1", "--json"]
        text = run_probe(probe, "trade", "dial", address, "--carrier", "quic_keep", *short)
    assert json.loads(text)["complete"]


def test_the_probe_pays_as_its_page_says(probe, tmp_path):
    page = (ROOT / "docs" / "tokens.md").read_text()
    block = re.search(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    bash = shutil.which("bash")
    assert block is not None
    assert bash is not None
    path = f"{probe.parent}{os.pathsep}{os.environ['PATH']}"
    command = [bash, "-euo", "pipefail", "-c", block[1]]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "PATH": path}, check=True)
