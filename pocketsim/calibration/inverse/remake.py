"""A fit document made: search, intervals, leave-one-session-out errors, and the result as TOML.

The same document, seed and build give the same bytes, also after an interruption. What does not
live here: the time that it took, which is the command line's.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pocketsim import sim
from pocketsim.calibration.inverse import document, intervals, key_paths, priors
from pocketsim.calibration.inverse.search import Search, Space
from pocketsim.calibration.inverse.trials import Trial, Trials, session
from pocketsim.sim.base.build import build_digest
from pocketsim.sim.run.forks import Forks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pocketsim.calibration.inverse.document import Loaded, Parameter
    from pocketsim.calibration.inverse.intervals import Interval
    from pocketsim.calibration.inverse.trials import Values


@dataclass(frozen=True)
class LeftOut:
    """A session whose rows a fit has not seen: their errors, and the values without them."""

    session: str
    median_error_ratio: float | None
    rows: int
    values: Values


@dataclass(frozen=True)
class Result:
    """What a fit came to; `intervals` by the names of parameters that are no choice."""

    loaded: Loaded
    space: Space
    today: Trial
    best: Trial
    intervals: dict[str, Interval]
    choices: dict[str, dict[Any, float]]
    left_out: tuple[LeftOut, ...]
    evaluations: int


def remake(
    path: Path, journal: Path, jobs: int, told: Callable[[Trial, int], None] | None = None
) -> Result:
    """Return what the fit document at `path` comes to, with `jobs` repetitions at a time.

    `journal` is a file that keeps trials, for the case that this is interrupted. `told` gets each
    trial and its number. Raises ScenarioError for a document that cannot be made.
    """
    with _prepared(path, journal, jobs) as (loaded, space, trials, today):
        trials.told = told or trials.told
        search = Search(
            space, trials, loaded.fit.trials, loaded.fit.seed, lambda trial: trial.loss()
        )
        # What is wrong with a document shows here. The search does not get to know of it.
        (as_today,) = trials.look([today])
        best = search.best(today)
        found: dict[str, Interval] = {}
        for _ in range(_ROUNDS):
            found = {
                name: intervals.interval(search, best, number, loaded.fit.steps)
                for number, name in enumerate(space.scales)
            }
            again = min(trials.asked.values(), key=search.loss)
            if search.loss(best) - search.loss(again) < _SAME:
                break
            best = again
        left_out = tuple(_left_out(search, loaded, best))
        choices = _choices(space, trials)
        return Result(loaded, space, as_today, best, found, choices, left_out, len(trials.asked))


def as_toml(result: Result) -> str:
    """Return the result as a TOML document."""
    import tomli_w

    loaded = result.loaded
    head = {
        "title": loaded.fit.title,
        "fit": loaded.path.name,
        "fit_sha256": loaded.digest,
        "version": sim.__version__,
        "build": build_digest(),
        "evaluations": result.evaluations,
        "loss": _short(result.best.loss()),
        "loss_today": _short(result.today.loss()),
    }
    parameters = [parameter_table(result, number) for number in range(len(loaded.fit.parameters))]
    rows = [
        {
            "id": name,
            **{
                key: _short(value)
                for key, value in (
                    ("published", term.published),
                    ("simulated", term.simulated),
                    ("loss", term.loss),
                )
                if value is not None
            },
        }
        for name, term in result.best.terms.items()
    ]
    left_out = [_as_table(result, one) for one in result.left_out]
    text = tomli_w.dumps({**head, "parameters": parameters, "rows": rows, "left_out": left_out})
    return f"{_HEAD}\n{text}"


def is_inside(result: Result, number: int) -> bool:
    """Tell whether the value that a parameter has today is in its interval."""
    parameter = result.loaded.fit.parameters[number]
    today = result.today.values[number]
    if parameter.name in result.choices:
        losses = result.choices[parameter.name]
        return losses.get(today, float("inf")) < intervals.THRESHOLD
    said = result.intervals[parameter.name]
    return bool(said.low <= today <= said.high)


@contextlib.contextmanager
def _prepared(
    path: Path, journal: Path, jobs: int
) -> Iterator[tuple[Loaded, Space, Trials, Values]]:
    loaded = document.load(path)
    documents, units = key_paths.read(loaded)
    scales = {
        parameter.name: priors.scale(parameter, units[parameter.name], path, f"parameters[{n}]")
        for n, parameter in enumerate(loaded.fit.parameters)
        if parameter.prior.kind != "choice"
    }
    space = Space(loaded.fit.parameters, units, scales)
    today = tuple(
        _today(parameter, units[parameter.name], key_paths.today(documents, parameter))
        for parameter in loaded.fit.parameters
    )
    with Forks(jobs) as forks:
        yield loaded, space, Trials(loaded, documents, units, forks, journal), today


def _today(parameter: Parameter, unit: key_paths.Unit, written: Any) -> Any:
    return written if parameter.prior.kind == "choice" else unit.number(written)


def _choices(space: Space, trials: Trials) -> dict[str, dict[Any, float]]:
    """Return for each choice how far its best trial is above the best of all, by value."""
    least = min(trial.loss() for trial in trials.asked.values())
    found: dict[str, dict[Any, float]] = {}
    for number, parameter in enumerate(space.parameters):
        if parameter.prior.kind != "choice":
            continue
        found[parameter.name] = {}
        for value in parameter.prior.values:
            losses = [
                trial.loss() for trial in trials.asked.values() if trial.values[number] == value
            ]
            found[parameter.name][value] = min(losses, default=float("inf")) - least
    return found


def _left_out(search: Search, loaded: Loaded, best: Trial) -> Iterator[LeftOut]:
    """Yield for each session what comes of a fit without it, of what other sessions inform."""
    sections = {row.id: row.section for target in loaded.targets for row in target.rows}
    for name in dict.fromkeys(session(section) for section in sections.values()):
        free = []
        for parameter in loaded.fit.parameters:
            informing = {session(sections[row]) for row in loaded.rows_of(parameter)}
            if parameter.name in search.space.scales:
                free.append(informing - {name} != set() and name in informing)
        if not any(free):
            continue
        others = replace(search, loss=functools.partial(Trial.loss, without=name))
        found = others.best(best.values, free)
        errors = [
            abs(term.simulated / term.published - 1)
            for term in found.terms.values()
            if session(term.sections[0]) == name and term.simulated is not None and term.published
        ]
        yield LeftOut(
            name, statistics.median(errors) if errors else None, len(errors), found.values
        )


def parameter_table(result: Result, number: int) -> dict[str, Any]:
    """Return what a fit says of a parameter, as its result document has it."""
    parameter = result.loaded.fit.parameters[number]
    unit = result.space.units[parameter.name]
    table = {
        "name": parameter.name,
        "document": parameter.document,
        "key": parameter.key,
        "value": _written(unit, result.best.values[number]),
    }
    if parameter.name in result.choices:
        losses = result.choices[parameter.name]
        fits = [value for value in losses if losses[value] < intervals.THRESHOLD]
        table |= {
            "within": fits,
            "verdict": _CHOICE[len(fits) == 1, len(fits) == len(losses)],
        }
    else:
        said = result.intervals[parameter.name]
        table |= {
            "low": _written(unit, said.low),
            "high": _written(unit, said.high),
            "verdict": said.verdict,
        }
    return table | {
        "today": _written(unit, result.today.values[number]),
        "today_is_within": is_inside(result, number),
        "rows": result.loaded.rows_of(parameter),
    }


def _as_table(result: Result, one: LeftOut) -> dict[str, Any]:
    pairs = zip(result.loaded.fit.parameters, one.values, strict=True)
    values = {
        parameter.name: _written(result.space.units[parameter.name], value)
        for parameter, value in pairs
    }
    errors = (
        {}
        if one.median_error_ratio is None
        else {"median_error_ratio": _short(one.median_error_ratio)}
    )
    return {"session": one.session, "rows": one.rows, **errors, "values": values}


def _written(unit: key_paths.Unit, value: Any) -> Any:
    if isinstance(value, bool | str):
        return value
    if not isinstance(value, float):
        return value
    text = unit.write(value)
    if not isinstance(text, str):
        return _short(text)
    suffix = text.lstrip("0123456789.+-")
    return f"{_short(float(text.removesuffix(suffix))):g}{suffix}"


def _short(value: float) -> float:
    """Return a number to six digits: more would say more than a simulation knows."""
    return float(f"{value:.6g}")


_HEAD = "# Made by `pocketsim calibrate published`; docs/fits.md says how to read it."
_CHOICE = {
    (True, False): "identified",
    (False, True): "not identified",
    (False, False): "some excluded",
}
_ROUNDS = 2  # of intervals: where one finds a better trial, they are made again from there
_SAME = 0.1  # of the loss: far less than what ends an interval
