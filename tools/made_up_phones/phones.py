"""Made-up phones: true costs drawn from a prior, and the reports that a probe would write of them.

A report differs from the truth on four levels, each by lognormal factors of mean 1. An *execution*
differs from the next; a sample is the mean over some, which also share the clock frequency of that
moment. A *round* over the catalogue finds the whole device slower or faster, and each case a little
more so. A *report* finds it so, too, and each operation a little more. Then there is the line: a
cost at one size is a bit off `fixed + per_byte * bytes`. How large each is differs from phone to
phone. What does not live here: what a calibration makes of it (`tools.made_up_phones.checking`).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit import probe_report
from pocketsim.calibration.fit.kernels import SOURCES, WAKE
from pocketsim.calibration.fit.wakes import PRICED_BYTES
from pocketsim.sim.base import streams
from pocketsim.sim.devices import profile
from pocketsim.sim.devices.prices import REFERENCE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Array = np.ndarray[Any, Any]

ENVELOPE = Path(__file__).parents[2] / "tests" / "reports" / "linux_vm.json"
"""A real report, for all that is not timed here: its device, clock, sleeps and buffers."""


@dataclass(frozen=True)
class Shape:
    """What a phone's reports are like: how many, with how many rounds, and what differs.

    The sigmas are those of logarithms: `*_common` of what the whole device shares, the others of
    what one operation (`report`, `misfit`) or one case (`round`) has beyond that.
    """

    reports: int
    rounds: int
    execution: float
    sample: float
    round_common: float
    round: float
    report_common: float
    report: float
    misfit: float


@dataclass(frozen=True)
class Made:
    """A made-up phone: what is true of it, in seconds by operation, and its reports.

    `fixed_s` is of core time and waiting, `total_s` the whole at `REFERENCE_BYTES`. Of a phone with
    one report they are what was true while that was made: it cannot tell more.
    """

    name: str
    shape: Shape
    fixed_s: dict[str, float]
    per_byte_s: dict[str, float]
    total_s: dict[str, float]
    reports: list[probe_report.Report]


def made_up(seed: int, number: int, reports: int | None = None, *, passages: bool = True) -> Made:
    """Return phone `number` of those that `seed` names, with one to five reports, or as many.

    With `passages` they have timed datagrams between two cores, so that waking who receives is an
    operation of its own. What is there without them is the same with them.
    """
    name = f"made-up phone/{number}"
    # Passages have a stream of their own: whether they are there moves nothing else.
    random, beside = streams.stream(seed, name), streams.stream(seed, f"{name}/udp_wake")
    shape = _shape(random, reports)
    truth = _Truth.drawn(random, shape)
    factors = [_report_factors(random, beside, shape) for _ in range(shape.reports)]
    found = [_report(random, beside, shape, truth, each) for each in factors]
    if not passages:
        found = [[case for case in each if case.kernel != WAKE.kernel] for each in found]
    lasting = factors[0] if shape.reports == 1 else dict.fromkeys(factors[0], 1.0)
    fixed_s, per_byte_s = truth.parts(passages=passages)
    fixed_s = {key: lasting[key] * each_s for key, each_s in fixed_s.items()}
    per_byte_s = {key: lasting[key] * each_s for key, each_s in per_byte_s.items()}
    total_s = {
        key: (fixed_s[key] + per_byte_s[key] * REFERENCE_BYTES)
        * truth.misfit.get((key, REFERENCE_BYTES), 1.0)
        for key in fixed_s
    }
    envelopes = [_enveloped(each, at) for at, each in enumerate(found)]
    return Made(name, shape, fixed_s, per_byte_s, total_s, envelopes)


@dataclass(frozen=True)
class _Truth:
    """What operations cost on the device, in seconds."""

    cpu: dict[str, float]
    per_byte: dict[str, float]
    wait: dict[str, float]
    wake: float  # of the thread that receives
    misfit: dict[tuple[str, float], float]  # by operation and size

    @classmethod
    def drawn(cls, random: np.random.Generator, shape: Shape) -> _Truth:
        centre = _centre()
        cpu = {key: cost.cpu * _factor(random, _PHONES_DIFFER) for key, cost in centre.items()}
        per_byte = {
            key: max(cost.per_byte, _LEAST_PER_BYTE_S) * _factor(random, _PHONES_DIFFER)
            if _SIZES.get(key)
            else 0.0
            for key, cost in centre.items()
        }
        wait = dict.fromkeys(centre, 0.0)
        wait["store"], wake = (
            cpu[key] * float(random.uniform(0.5, 3.0)) for key in ("store", "udp_receive")
        )
        # On two threads for all of its core time but a quarter; and on one for half of it.
        wait["endpoint_setup"], wait["endpoint_close"] = (
            cpu["endpoint_setup"] / 6,
            cpu["endpoint_close"],
        )
        misfit = {
            (key, size): _factor(random, shape.misfit)
            for key, sizes in _SIZES.items()
            for size in sizes
        }
        return cls(cpu, per_byte, wait, wake, misfit)

    def at(self, key: str, size: float) -> float:
        """Return the core time of an operation with so many bytes."""
        return (self.cpu[key] + self.per_byte[key] * size) * self.misfit.get((key, size), 1.0)

    def parts(self, *, passages: bool) -> tuple[dict[str, float], dict[str, float]]:
        """Return what is fixed, waits included, and what each byte adds, by operation."""
        fixed = {key: self.cpu[key] + self.wait[key] for key in self.cpu}
        if not passages:
            return {**fixed, "udp_receive": fixed["udp_receive"] + self.wake}, self.per_byte
        return {**fixed, "udp_wake": self.wake}, {**self.per_byte, "udp_wake": 0.0}


@functools.cache
def _centre() -> dict[str, profile.Cost]:
    found = profile.load(profile.DEVICES / "moto_g04s.toml").operations
    return {key: found[key] for key in SOURCES}


@functools.cache
def _envelope() -> probe_report.Document:
    """Return the real report without what is timed here, and without what spoiled it."""
    found = probe_report.load(ENVELOPE).document
    timed = {source.kernel for source in (*SOURCES.values(), WAKE)} | {"wake_up_latency"}
    rest = [case for case in found.measurements if case.kernel not in timed]
    return found.model_copy(update={"measurements": rest, "spoiled": []})


def _shape(random: np.random.Generator, reports: int | None) -> Shape:
    choices = random.choice(_REPORTS), random.choice(_ROUNDS)
    sigmas = {key: float(random.uniform(0.0, most)) for key, most in _MOST.items()}
    sigmas["misfit"] *= random.random() < _BENT_RATIO
    return Shape(reports or int(choices[0]), int(choices[1]), **sigmas)


def _factor(random: np.random.Generator, sigma: float) -> float:
    return float(_factors(random, sigma, ()))


def _factors(random: np.random.Generator, sigma: float, shape: tuple[int, ...]) -> Array:
    found: Array = np.exp(sigma * random.standard_normal(shape) - sigma**2 / 2)
    return found


def _report_factors(
    random: np.random.Generator, beside: np.random.Generator, shape: Shape
) -> dict[str, float]:
    common = _factor(random, shape.report_common)
    found = {key: common * _factor(random, shape.report) for key in SOURCES}
    return {**found, "udp_wake": common * _factor(beside, shape.report)}


@dataclass(frozen=True)
class _Case:
    """A case of a kernel as a report has it; `means_s` are true ones of its quantities."""

    kernel: str
    size: float
    means_s: dict[str, float]
    opened: float = 0.0
    variant: tuple[tuple[str, float], ...] = ()


def _cases(truth: _Truth, factors: dict[str, float]) -> Iterator[_Case]:
    opens_s = truth.cpu["packet_open"] + truth.per_byte["packet_open"] * _FLIGHT_BYTES
    for key, source in SOURCES.items():
        for size in _SIZES.get(key, (0.0,)):
            cpu_s = factors[key] * truth.at(key, size)
            opened = _OPENED.get(key, 0.0)
            cpu_s += opened * factors["packet_open"] * opens_s
            threads = 2 if source.parallel and key == "endpoint_setup" else 1
            waits_s = factors[key] * truth.wait[key] if source.waits == "wall" else 0.0
            means_s = {"wall_s": cpu_s / threads + waits_s, "cpu_s": cpu_s}
            yield _Case(source.kernel, size, means_s, opened)
    sent_s, receives_s = truth.cpu["udp_send"], truth.cpu["udp_receive"]
    woken_s = truth.wake + receives_s
    means_s = {
        "latency_s": factors["udp_receive"] * woken_s + factors["udp_send"] * sent_s,
        "sent_s": factors["udp_send"] * sent_s,
    }
    yield _Case("wake_up_latency", 0.0, means_s)


def _passage(truth: _Truth, factors: dict[str, float]) -> _Case:
    """Return a datagram from the call that sends it until who was woken for it has read it."""
    calls_s = [factors[key] * truth.at(key, PRICED_BYTES) for key in ("udp_send", "udp_receive")]
    means_s = {"latency_s": sum(calls_s) + factors["udp_wake"] * truth.wake}
    return _Case(WAKE.kernel, PRICED_BYTES, means_s, variant=WAKE.variant)


def _report(
    random: np.random.Generator,
    beside: np.random.Generator,
    shape: Shape,
    truth: _Truth,
    factors: dict[str, float],
) -> list[probe_report.Measurement]:
    cases = list(_cases(truth, factors))
    noise, common = _noise(random, shape, len(cases))
    passage, _ = _noise(beside, shape, 1, common)
    timed = [*zip(cases, noise, strict=True), (_passage(truth, factors), passage[0])]
    return [_measurement(case, each) for case, each in timed]


def _enveloped(measured: list[probe_report.Measurement], number: int) -> probe_report.Report:
    envelope = _envelope()
    document = envelope.model_copy(update={"measurements": envelope.measurements + measured})
    return probe_report.Report(Path(f"report_{number}.json"), f"{number:064x}", document)


def _noise(
    random: np.random.Generator, shape: Shape, cases: int, common: Array | None = None
) -> tuple[Array, Array]:
    """Return factors of samples by case, round and place in the round, and what cases share.

    That is drawn unless it is given as `common`.
    """
    samples = (cases, shape.rounds, _SAMPLES)
    single = _factors(random, shape.execution, (*samples, _ITERATIONS)).mean(axis=3)
    if common is None:
        common = _factors(random, shape.round_common, (1, shape.rounds, 1))
    own = _factors(random, shape.round, (cases, shape.rounds, 1))
    return common * own * single * _factors(random, shape.sample, samples), common


def _measurement(case: _Case, noise: Array) -> probe_report.Measurement:
    """Return what a report says; not checked again, as it is by the thousand."""
    primary_s = next(iter(case.means_s.values()))
    rounds = [
        probe_report.Round.model_construct(at_s=0.0, samples=each.size, median=primary_s * middle)
        for each, middle in zip(noise, np.median(noise, axis=1).tolist(), strict=True)
    ]
    quantities = {name: mean_s * noise.ravel() for name, mean_s in case.means_s.items()}
    if case.opened:
        quantities["opened_datagrams"] = np.full(noise.size, case.opened)
    return probe_report.Measurement.model_construct(
        kernel=case.kernel,
        group="crypto",
        parameters=({"bytes": case.size} if case.size else {}) | dict(case.variant),
        threads=1,
        status="measured",
        iterations_per_sample=_ITERATIONS,
        rounds=rounds,
        quantities=[
            probe_report.Quantity.model_construct(name=name, samples=_samples(values))
            for name, values in quantities.items()
        ],
    )


def _samples(values: Array) -> probe_report.Samples:
    return probe_report.Samples.model_construct(
        count=values.size,
        mean=float(values.mean()),
        standard_deviation=float(values.std(ddof=1)),
        minimum=float(values.min()),
        median=float(np.median(values)),
        maximum=float(values.max()),
        values=values.tolist(),
    )


# The prior. How many reports people make is not known: few. How much a phone's rounds and reports
# differ is not, either: up to what a shared virtual machine did, and then a third of that.
_REPORTS: Sequence[int] = (1, 2, 3, 5)
_ROUNDS: Sequence[int] = (2, 3)  # of a quick and of a full run
_MOST = {
    "execution": 0.3,
    "sample": 0.03,
    "round_common": 0.04,
    "round": 0.01,
    "report_common": 0.08,
    "report": 0.03,
    "misfit": 0.01,
}
_BENT_RATIO = 0.5  # of the phones: their costs are off the line
_PHONES_DIFFER = 0.5  # sigma of a cost from phone to phone: half to twice that of the centre
_LEAST_PER_BYTE_S = 0.5e-9  # the centre has none of signatures, whose message is hashed

_SAMPLES = 40  # of a case in a round: 70 to 280 in a quick run
_ITERATIONS = 8  # of a sample
_OPENED = {"handshake_respond": 1.0, "handshake_finish": 2.0, "handshake_confirm": 1.0}
_FLIGHT_BYTES = 1200.0  # of a datagram that begins a connection

# As the probe's quick run has them; packets have a third size in a full one.
_MESSAGES = (64.0, 147.0, 668.0, 4096.0)
_PACKETS = (64.0, 668.0, 1200.0)
_BLOCKS = (537.0, 668.0, 1200.0, 4096.0)
_DATAGRAMS = (128.0, 668.0, 1200.0)
_SIZES = {
    **dict.fromkeys(("sign", "verify", "hash"), _MESSAGES),
    **dict.fromkeys(("sealed_box_seal", "sealed_box_open"), _PACKETS),
    **dict.fromkeys(("encode", "decode"), _BLOCKS),
    **dict.fromkeys(("udp_send", "udp_receive", "packet_seal", "packet_open"), _DATAGRAMS),
}
