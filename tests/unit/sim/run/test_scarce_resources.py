"""A process with little memory or closed streams: a line and an exit code, no traceback."""

import subprocess
import sys

import pytest

COMMAND = f"{sys.executable} -m pocketsim.cli"


def ran(line):
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", ["list devices", "--help", "--version", "check payload"])
def test_a_closed_standard_output_is_no_traceback(words):
    done = ran(f"{COMMAND} {words} >&-")
    assert (done.returncode, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr


# What Python takes before a command begins differs between machines: the limit counts from there.
LIMITED = """
import pathlib, resource
from pocketsim import cli
{loaded}
held = pathlib.Path("/proc/self/statm").read_text().split()[0]
limit_bytes = int(held) * resource.getpagesize() + 2_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))
cli.main()
"""


@pytest.mark.parametrize("loaded", ["", "from pocketsim.sim.scenario import load, resolve"])
def test_no_memory_is_one_line_and_exit_5(loaded):
    command = [sys.executable, "-c", LIMITED.format(loaded=loaded), "check", "payload"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.startswith("no memory is left")
    assert done.stderr.count("\n") == 1
