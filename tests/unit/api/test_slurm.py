"""The batch script of a sweep: its directives, its shell, and what is refused."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import shutil
import subprocess
import sys

import pytest

from pocketsim.api import slurm
from pocketsim.api.study import Study
from pocketsim.sim.base.errors import EnvironmentMissingError, UserError

SWEEP = '[sweep]\nscenario = "small.toml"\nseed = [1, 2, 3]\n'
# Stands in for pocketsim: tells what it was called with, and as many runs as it is told to.
COMMAND = """#!{python}
import json, os, sys
told = {{"arguments": sys.argv[1:]}}
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(told) + "\\n")
rows = [{{"status": word}} for word in os.environ["STATUS"].split()]
print(json.dumps({{"runs": rows}}, indent=1))
sys.exit(int(os.environ["CODE"]))
"""


@pytest.fixture
def study(scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return Study("sweep.toml")


def directives(text):
    return [line.removeprefix("#SBATCH ") for line in text.splitlines() if line[:8] == "#SBATCH "]


def test_options_become_sbatch_directives(study):
    request = slurm.Request(3, 2, "4:00:00", "long", "physics", 8, ["--mem=4G"], ["module load x"])
    text = slurm.script(study, request)
    assert directives(text) == [
        "--job-name=sweep",
        "--array=0-2%2",
        "--time=4:00:00",
        "--partition=long",
        "--account=physics",
        "--ntasks=1",
        "--cpus-per-task=8",
        "--requeue",
        "--open-mode=append",
        "--signal=B:TERM@60",
        "--mem=4G",
    ]
    lines = text.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert lines.index("module load x") < next(
        number for number, line in enumerate(lines) if line.startswith("scratch=")
    )


def test_unset_options_are_left_to_the_site(study):
    told = directives(slurm.script(study, slurm.Request(3)))
    assert "--array=0-2" in told
    names = {option.partition("=")[0] for option in told}
    assert not names & {"--time", "--partition", "--account"}


@pytest.mark.parametrize(
    ("array", "found"), [("1", (1, None)), ("24%20", (24, 20)), ("3%9", (3, 9))]
)
def test_arrays_are_read(array, found):
    assert slurm.elements_of(array, 24) == found


@pytest.mark.parametrize("array", ["", "0", "0-9", "5%0", "5%", "1e2", "-3", "9" * 9])
def test_invalid_array_is_refused(array):
    with pytest.raises(UserError, match=r"--array: .* is not such as 200, or 200%20"):
        slurm.elements_of(array, 24)


def test_no_more_elements_than_points():
    with pytest.raises(UserError, match="--array: 25 elements for 24 points; at most one for each"):
        slurm.elements_of("25", 24)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"time": "4.5"}, "--time"),
        ({"time": "0h"}, "--time"),
        ({"time": "1h30"}, "--time"),
        ({"time": "1:00\n#SBATCH --exclusive"}, "--time"),
        ({"partition": "a b"}, "--partition"),
        ({"account": "$(id)"}, "--account"),
        ({"options": ["mem=4G"]}, "--sbatch"),
        ({"options": ["--mem=4G\nrm -rf ~"]}, "--sbatch"),
        ({"setup": ["module load x\nexit"]}, "--setup"),
    ],
)
def test_options_with_shell_syntax_are_refused(asked, name):
    with pytest.raises(UserError, match=f"{name}: .* is not such as"):
        slurm.Request(1, **asked)


@pytest.mark.parametrize(
    ("time", "written"),
    [
        ("1h", "0-01:00:00"),
        ("90m", "0-01:30:00"),
        ("90min", "0-01:30:00"),
        ("1h30m", "0-01:30:00"),
        ("1.5 h", "0-01:30:00"),
        ("2d", "2-00:00:00"),
        ("0.2s", "0-00:00:01"),
    ],
)
def test_limits_may_be_durations(study, time, written):
    text = slurm.script(study, slurm.Request(1, time=time))
    assert f"#SBATCH --time={written}" in text.splitlines()


@pytest.mark.parametrize("time", ["90", "90:00", "4:00:00", "2-12", "2-12:30", "2-12:30:00"])
def test_limits_are_written_as_slurm_writes_them(time):
    assert slurm.Request(1, time=time).time == time


@pytest.fixture
def element(study, tmp_path, monkeypatch):
    """Run the script of the study as an element of a SLURM whose commands are stand-ins."""
    stand_ins = tmp_path / "bin"
    stand_ins.mkdir()
    python = stand_ins / "python of mine"
    python.write_text(COMMAND.format(python=sys.executable))
    (stand_ins / "squeue").write_text('#!/bin/sh\nprintf "%s\\n" "$SQUEUE"\n')
    (stand_ins / "scontrol").write_text('#!/bin/sh\necho "$@" >>"$CALLS.scontrol"\nexit $REFUSED\n')
    for path in stand_ins.iterdir():
        path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    text = slurm.script(study, slurm.Request(3, cores=2))
    scratch = tmp_path / "node"
    scratch.mkdir()

    def run(status="ran reused", code=0, **variables):
        environment = {
            "PATH": f"{stand_ins}{os.pathsep}{os.environ['PATH']}",
            "CALLS": str(tmp_path / "calls"),
            "STATUS": status,
            "CODE": str(code),
            "SQUEUE": "NONE",
            "REFUSED": "0",
            "SLURM_JOB_ID": "17",
            "SLURM_ARRAY_TASK_ID": "1",
            "SLURM_TMPDIR": str(scratch),
            "TZ": "UTC",
        }
        bash = shutil.which("bash")
        assert bash is not None
        done = subprocess.run(
            [bash, "-s"],
            input=text,
            env=environment | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not list(scratch.iterdir()), "the scratch folder goes with the element"
        return done, json.loads((tmp_path / "calls").read_text().splitlines()[-1])

    run.requeued = tmp_path / "calls.scontrol"
    run.scratch = scratch
    return run


def test_an_element_runs_its_shard_in_a_folder_of_the_node(element, study):
    done, told = element()
    assert done.returncode == 0
    arguments = told["arguments"]
    words = shlex.join(arguments)
    assert words.startswith(
        f"-P -m pocketsim.cli sweep run {shlex.quote(str(study.file.absolute()))}"
    )
    options = dict(itertools.pairwise(arguments))
    assert options["--shard"] == "2/3"
    assert options["--jobs"] == "2"
    assert options["--out"] == str(study.out.absolute())
    assert options["--keep"] == "metrics"
    assert options["--scratch"].startswith(f"{element.scratch}/pocketsim-")
    assert "--before" not in options, "there is no limit"
    assert "1 ran, 1 reused, 0 failed, 0 busy, 0 left for want of time" in done.stderr


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_JOB_END_TIME": "2000000000", "SQUEUE": "never asked"},
        {"SQUEUE": "2033-05-18T03:33:20"},
    ],
)
def test_an_element_asks_for_its_limit(element, variables):
    _, told = element(**variables)
    arguments = told["arguments"]
    assert arguments[arguments.index("--before") + 1] == str(2_000_000_000 - 150)


@pytest.mark.parametrize("said", ["NONE", "N/A", "Unknown", ""])
def test_unknown_time_limit_sets_no_deadline(element, said):
    assert "--before" not in element(SQUEUE=said)[1]["arguments"]


def test_element_with_runs_left_is_requeued(element):
    done, _ = element("ran left failed", 4)
    assert done.returncode == 0
    assert element.requeued.read_text() == "requeue 17\n"


def test_where_nothing_was_made_an_element_does_not_go_back_for_ever(element):
    done, _ = element("reused left", 4)
    assert done.returncode == 4
    assert not element.requeued.exists()
    assert "submit it again for what is left, with a longer --time if nothing ran" in done.stderr


def test_an_element_that_may_not_go_back_says_so(element):
    done, _ = element("ran left", 4, REFUSED="1")
    assert done.returncode == 4
    assert "submit it again for what is left" in done.stderr


def test_a_run_that_failed_is_no_reason_to_go_back(element):
    done, _ = element("ran failed", 4)
    assert done.returncode == 4
    assert not element.requeued.exists()


def test_submitting_without_sbatch_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentMissingError, match="there is no sbatch here"):
        slurm.submit("")


@pytest.mark.parametrize(
    ("code", "said", "error"),
    [(0, "17;cluster", None), (1, "", "sbatch: error: no; sorry")],
)
def test_submission_gives_the_number_or_what_slurm_says(monkeypatch, tmp_path, code, said, error):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    program = tmp_path / "sbatch"
    program.write_text(
        f'#!/bin/sh\ncat >"{tmp_path}/given"\necho "{said}"\n'
        f'printf "sbatch: error: no\\nsorry\\n" >&2\nexit {code}\n'
    )
    program.chmod(0o755)
    if error is None:
        assert slurm.submit("#!/bin/bash\n") == "17"
    else:
        with pytest.raises(UserError, match=error):
            slurm.submit("#!/bin/bash\n")
    assert (tmp_path / "given").read_text() == "#!/bin/bash\n"


def test_the_command_prints_a_script_that_bash_reads(cli, scenario, tmp_path):
    name = 'it\'s $(a) "name"; & *.toml'
    (tmp_path / name).write_text(SWEEP)
    done = cli("sweep", "slurm", name, "--array", "3", "--out", "runs $HOME")
    assert done.returncode == 0, done.stderr
    bash = shutil.which("bash")
    assert bash is not None
    subprocess.run([bash, "-n"], input=done.stdout, text=True, check=True)
    assert f"sweep run {shlex.quote(str(tmp_path / name))} --out " in done.stdout
    assert "--job-name=it_s___a___name______\n" in done.stdout
    assert not (tmp_path / "runs $HOME").exists()


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        (["--array", "4"], 2, "--array: 4 elements for 3 points"),
        (["--array", "3", "--time", "soon"], 2, "--time: 'soon' is not such as"),
        (["--array", "3", "--keep", "all"], 2, "'all' is not one of events, metrics"),
        ([], 2, "Missing option '--array'"),
    ],
)
def test_mistakes_are_said_before_anything_is_submitted(
    cli, scenario, tmp_path, options, code, reason
):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    done = cli("sweep", "slurm", "sweep.toml", *options, "--submit")
    assert done.returncode == code
    assert reason in " ".join(done.stderr.split())
    assert not (tmp_path / "runs").exists()
