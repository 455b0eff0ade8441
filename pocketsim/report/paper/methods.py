"""What the methods section of a paper has to say of some runs, as one paragraph with citations.

Everything in it is read off the runs: versions, seeds, repetitions, what profiles rest on, and what
nobody has validated. How it is set in Markdown and in LaTeX is in `prose`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pocketsim.calibration.validate import published
from pocketsim.report.answer.limits import UNPROBED
from pocketsim.report.page_layout import BARS
from pocketsim.report.paper import prose
from pocketsim.report.paper.prose import Cite, Code, joined
from pocketsim.report.runs import round_trips
from pocketsim.report.runs.points import Setting, listed
from pocketsim.report.runs.run import answers, by_scenario, is_of_trades, transport_name
from pocketsim.report.sections import provenance
from pocketsim.sim.devices import numbers
from pocketsim.sim.metrics.predicted import LOW

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from pocketsim.report.paper.prose import Piece
    from pocketsim.report.runs.run import Run


def paragraph(runs: Sequence[Run]) -> list[Piece]:
    """Return the paragraph about `runs`, in pieces."""
    return [
        *_simulator(runs),
        *(piece for group in by_scenario(runs).values() for piece in _scenario(group)),
        *_repetitions(runs),
        *_profiles(runs),
        *_compared(runs),
        *_not_validated(runs),
    ]


def files(runs: Sequence[Run]) -> dict[str, str]:
    """Return the paragraph in Markdown and in LaTeX, and the works that it cites, by file name."""
    pieces = paragraph(runs)
    return {
        "methods.md": prose.markdown(pieces),
        "methods.tex": prose.latex(pieces),
        "references.bib": prose.bibliography(pieces, joined(versions(runs, "pocketsim"))),
    }


def versions(runs: Sequence[Run], name: str) -> list[str]:
    """Return the versions of a program or library that `runs` were made with, sorted."""
    said = (dict(run.resolved["versions"]).get(name) for run in runs)
    return sorted({version for version in said if version})


def _simulator(runs: Sequence[Run]) -> Iterator[Piece]:
    yield "The runs were simulated with pocketsim "
    yield f"{joined(versions(runs, 'pocketsim'))} (build "
    yield Code(joined(versions(runs, "build")))
    yield ")"
    yield Cite("pocketsim")
    yield ", which drives the state machines of its protocols"
    yield from _worlds(runs)
    libraries = [name for name in _LIBRARIES if versions(runs, name)]
    for place, name in enumerate(libraries):
        yield f"{', with' if place == 0 else ' and'} {_LIBRARIES[name]} "
        yield joined(versions(runs, name))
        yield Cite(name)
    yield ". "
    if any(is_of_trades(run) for run in runs):
        yield "Phones trade over TrustChain"
        yield Cite("trustchain")
        yield ". "


def _worlds(runs: Sequence[Run]) -> Iterator[Piece]:
    """Say what keeps the time of links and cores, which is one of two things."""
    # Runs of before there were two had flows.
    found = {run.resolved["run"].get("fidelity", "flow") for run in runs}
    if "hybrid" in found:
        yield (
            "; radios are finite FIFO queues that store and forward, and the cores of a phone and"
            " the capacity of a site are shared max-min fairly"
        )
    if "flow" in found:
        yield f"; datagrams are flows of SimGrid {joined(versions(runs, 'simgrid'))}"
        yield Cite("simgrid")
        options = {
            f"{key} {value}"
            for run in runs
            for key, value in run.resolved["engine_options"].items()
        }
        yield f" ({', '.join(sorted(options))})" if options else ""


def _scenario(runs: Sequence[Run]) -> Iterator[Piece]:
    said = [run.resolved["run"] for run in runs]
    rates = [Setting(run.rate_per_s, "/s") for run in runs if run.rate_per_s]
    payloads = [Setting(run.payload_bytes, "B") for run in runs if run.payload_bytes]
    each = " for each phone" if any(run.senders > 1 for run in runs) else ""
    parts = [
        _counted(len(runs), "run"),
        ", ".join(sorted({transport_name(run.transport) for run in runs})),
        f"{listed(Setting(run.phones) for run in runs)} phones",
        f"payload {listed(payloads)}" if payloads else "",
        f"rate {listed(rates)}{each}" if rates else "",
        *provenance.settings(runs),
        f"{listed(Setting(one['duration_s'], 's') for one in said)} of simulated time",
        f"{listed(Setting(one['repetitions']) for one in said)} repetitions",
        f"seed {listed(Setting(one['seed']) for one in said)}",
        f"costs {joined(sorted({_DRAWS[one['draw']] for one in said}))}",
    ]
    yield f'Scenario "{runs[0].title}" ('
    yield Code(runs[0].scenario)
    yield f"): {'; '.join(part for part in parts if part)}. "


def _repetitions(runs: Sequence[Run]) -> Iterator[Piece]:
    yield "Every repetition draws from streams of its own that the seed names. "
    if any(run.resolved["run"]["repetitions"] > 1 for run in runs):
        yield f"{BARS} "
    if any(LOW in told for run in runs for told in run.metrics["metrics"].values()):
        yield PREDICTED
    if about := round_trips.about(runs):
        yield f"{about} "


def _profiles(runs: Sequence[Run]) -> Iterator[Piece]:
    for name, profile in provenance.profiles(runs).items():
        device = profile["device"]
        probe = device["probe"]
        probed = "no probe has run on it" if probe == "none" else f"probe {probe} has run on it"
        about = f"{device['name']}, {device['soc']}, {device['os']}; {probed}"
        yield from _rests("device profile", name, about, profile)
    for name, content in provenance.implementations(runs).items():
        app = content["implementation"]
        about = f"{app['name']}, described by {app['described_by']}"
        yield from _rests("implementation", name, about, content)


def _rests(kind: str, name: str, about: str, content: Mapping[str, Any]) -> Iterator[Piece]:
    counts = numbers.bases(content)
    yield f"The {kind} "
    yield Code(name)
    yield f" ({about}; SHA-256 "
    yield Code(content["digest"][:_DIGITS])
    rest = joined([f"{count} {basis}" for basis, count in counts.most_common()])
    yield f"...) has {_counted(counts.total(), 'number')}: {rest}. "


def _compared(runs: Sequence[Run]) -> Iterator[Piece]:
    """Say which published figures are of these very experiments, and which of them are no test."""
    rows = [row for row in published.rows() if row.value is not None]
    rows = [row for row in rows if any(_is_of(run, row.target) for run in runs)]
    if not rows:
        yield "Nothing here has been compared with a measurement. "
        return
    told = published.documents()
    for document in dict.fromkeys(row.document for row in rows):
        own = Counter(row.basis for row in rows if row.document == document)
        counts = [f"{count} {basis}" for basis, count in own.most_common()]
        yield f"{_counted(own.total(), 'published figure')} of {told[document]['author']}"
        yield Cite(document)
        yield f" {'are' if own.total() > 1 else 'is'} of the same experiments: {joined(counts)}. "
    yield "What was fitted validates nothing; how near the others come, "
    yield Code("pocketsim validate")
    yield " says. "


def _is_of(run: Run, target: published.Target) -> bool:
    at_rate = target.rate_min_per_s <= run.rate_per_s <= target.rate_max_per_s
    return at_rate and answers(run, target)


def _not_validated(runs: Sequence[Run]) -> Iterator[Piece]:
    if provenance.unprobed(provenance.profiles(runs)):
        yield f"{UNPROBED} "
    yield " ".join(f"{text}." for text in provenance.not_claimed(runs))


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


_LIBRARIES = {"numpy": "NumPy", "scipy": "SciPy", "networkx": "NetworkX"}
PREDICTED = (
    "Predictive intervals of 90 % are of one run: the range of repetitions and the error of the "
    "model that sessions which were left out tell, added as squares of log ratios by Student's t. "
)
_DRAWS = {"mean": "at their means", "posterior": "drawn from their uncertainty"}
_DIGITS = 12
