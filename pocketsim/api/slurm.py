"""A sweep as an array job of SLURM: the script, and its submission. What a shard does is not here.

Each element of the array runs one shard, so it finds what an earlier start of it made; the script
needs no root, no module of the cluster's, and nothing of SLURM that another site may not have.
"""

from __future__ import annotations

import math
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.sim import __version__
from pocketsim.sim.base.errors import EnvironmentMissingError, UserError, shown
from pocketsim.sim.base.units import DURATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.api.study import Keep, Study


@dataclass(frozen=True)
class Request:
    """What is asked of SLURM; of what is None, the site's own setting holds.

    `elements` of the array run, `at_a_time` of them, with `cores` each, for `time` at most, which
    is a duration such as "90min" or what SLURM takes. `options` are further ones of sbatch, `setup`
    lines of shell that come first, such as `module load python`.
    """

    elements: int
    at_a_time: int | None = None
    time: str | None = None
    partition: str | None = None
    account: str | None = None
    cores: int = 1
    options: Sequence[str] = ()
    setup: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse, by UserError, what would not be one word or line of the script."""
        if self.time is not None:
            limit(self.time)
        for name, value, form, such in (
            ("--partition", self.partition, _NAME, "long"),
            ("--account", self.account, _NAME, "physics"),
            *(("--sbatch", option, _OPTION, "--mem=4G") for option in self.options),
            *(("--setup", line, _LINE, "module load python") for line in self.setup),
        ):
            if value is not None and not re.fullmatch(form, value):
                raise UserError(f"{name}: {shown(repr(value))} is not such as {such}")


def elements_of(array: str, points: int) -> tuple[int, int | None]:
    """Return the elements of an array that is written N or N%M, and how many run at a time.

    Raises UserError where it is neither, or has more elements than there are points.
    """
    match = re.fullmatch(r"([1-9]\d{0,6})(?:%([1-9]\d{0,6}))?", array)
    if match is None:
        raise UserError(f"--array: {shown(repr(array))} is not such as 200, or 200%20")
    elements = int(match[1])
    if elements > points:
        raise UserError(f"--array: {elements} elements for {points} points; at most one for each")
    return elements, int(match[2]) if match[2] else None


def limit(time: str) -> str:
    """Return a limit of time as SLURM writes it; raises UserError where it is none.

    It is what sbatch(1) takes for --time, or durations one after the other: "1h", "90m", "1h30min".
    Parts of a second count as one.
    """
    if re.fullmatch(_TIME, time):
        return time
    parts = re.findall(_DURATION, time)
    try:
        seconds = sum(DURATION.parse(number + _MINUTES.get(unit, unit)) for number, unit in parts)
    except ValueError as error:
        raise UserError(f"--time: {error}") from None
    if "".join(map("".join, parts)) != re.sub(r"\s", "", time) or seconds <= 0:
        such = "1h, 90m, 4:00:00 or 2-12"
        raise UserError(f"--time: {shown(repr(time))} is not such as {such}")
    minutes, second = divmod(math.ceil(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours // 24}-{hours % 24:02d}:{minute:02d}:{second:02d}"


def script(
    study: Study, request: Request, keep: Keep = "metrics", *, allow_code: bool = False
) -> str:
    """Return the batch script that runs what a study lacks; nobody can be asked there.

    With `allow_code` it runs code outside the scenarios' folders, too.
    """
    command = [sys.executable, "-P", "-m", "pocketsim.cli", "sweep", "run"]
    command += [str(study.file.absolute()), "--out", str(study.out.absolute()), "--keep", keep]
    command += ["--allow-code"] if allow_code else []
    return _SCRIPT.format(
        directives="\n".join(f"#SBATCH {option}" for option in _options(study, request)),
        version=__version__,
        setup="".join(f"{line}\n" for line in request.setup),
        elements=request.elements,
        cores=request.cores,
        command=shlex.join(command),
        ending_s=_ENDING_S,
    )


def submit(text: str) -> str:
    """Give a script to sbatch; return the number of the job.

    Raises EnvironmentMissingError where there is no SLURM, UserError where it refuses the job.
    """
    program = shutil.which("sbatch")
    if program is None:
        raise EnvironmentMissingError(_NO_SBATCH)
    done = subprocess.run(
        [program, "--parsable"], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UserError(done.stderr.strip().replace("\n", "; ") or "sbatch failed, without a word")
    return done.stdout.strip().partition(";")[0]


def _options(study: Study, request: Request) -> list[str]:
    at_a_time = f"%{request.at_a_time}" if request.at_a_time else ""
    time = None if request.time is None else limit(request.time)
    asked = {"time": time, "partition": request.partition, "account": request.account}
    return [
        f"--job-name={re.sub('[^A-Za-z0-9_.-]', '_', study.file.stem)}",
        f"--array=0-{request.elements - 1}{at_a_time}",
        *(f"--{name}={value}" for name, value in asked.items() if value is not None),
        "--ntasks=1",
        f"--cpus-per-task={request.cores}",
        "--requeue",
        "--open-mode=append",
        f"--signal=B:TERM@{_SIGNAL_S}",
        *request.options,
    ]


_TIME = r"(?:\d{1,4}-)?\d{1,9}(?::\d{1,2}){0,2}"
_DURATION = r"(\d+\.?\d*)\s*([a-z]+)"
_MINUTES = {"m": "min", "day": "d", "days": "d"}
"""What a duration of ours is not written with, and a limit of time is elsewhere."""
_NAME = r"[\w.,@+-]+"
_OPTION = r"--?[A-Za-z][^\x00-\x1f\x7f]*"
_LINE = r"[^\x00-\x08\x0a-\x1f\x7f]+"
_NO_SBATCH = "there is no sbatch here; without --submit the script is printed, for where there is"
_SIGNAL_S = 60
"""Seconds before the limit at which SLURM has whatever runs ended; it may be a minute early."""
_ENDING_S = 150
"""Seconds before the limit by which runs are to have ended, so that no such signal comes."""

# The shell of an element waits beside the command, since it handles no signal while it waits for a
# command in the foreground. squeue is asked where SLURM is older than 23.02 and sets no end.
_SCRIPT = """\
#!/bin/bash
{directives}
# By pocketsim {version}. Each element runs one shard of {elements}.
# Submitted again, it runs what is not there yet.
{setup}scratch=$(mktemp -d "${{SLURM_TMPDIR:-${{TMPDIR:-/tmp}}}}/pocketsim-XXXXXXXX") || exit 5
trap 'rm -rf -- "$scratch"' EXIT

# No run is begun that would not end before the limit of this job.
end=${{SLURM_JOB_END_TIME:-$(squeue --noheader --job="$SLURM_JOB_ID" --format=%e)}}
case $end in
  *T*:*) end=$(date --date="$end" +%s) ;;
esac
limit=()
if [[ $end =~ ^[0-9]+$ ]]; then limit=(--before $((end - {ending_s}))); fi

running=
trap '[ -z "$running" ] || kill -TERM "$running"' TERM
{command} --quiet --json \\
  --shard $((SLURM_ARRAY_TASK_ID + 1))/{elements} --jobs "${{SLURM_CPUS_PER_TASK:-{cores}}}" \\
  --scratch "$scratch" "${{limit[@]}}" >"$scratch/told.json" &
running=$!
wait "$running"
code=$?
while kill -0 "$running" 2>/dev/null; do
  wait "$running"
  code=$?
done
running=

if [ ! -s "$scratch/told.json" ]; then
  echo "this element ended with exit code $code; what was complete is kept" >&2
  exit "$code"
fi
count() {{ grep -c "\\"status\\": \\"$1\\"" "$scratch/told.json"; }}
echo "$(count ran) ran, $(count reused) reused, $(count failed) failed, $(count busy) busy," \\
  "$(count left) left for want of time" >&2
if [ "$(count left)" -gt 0 ]; then
  if [ "$(count ran)" -gt 0 ]; then
    echo "this element goes back to the queue for what is left" >&2
    scontrol requeue "$SLURM_JOB_ID" && exit 0
  fi
  echo "submit it again for what is left, with a longer --time if nothing ran" >&2
fi
exit "$code"
"""
