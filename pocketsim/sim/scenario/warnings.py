"""What a valid scenario asks for and its author may not mean: warnings, with key and reason.

A mistake that cannot be run is an error of `sim.scenario.consistency` or `limits`. Nothing is
printed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.base.engine_facts import MESSAGE_BYTES_MAX
from pocketsim.sim.base.units import DURATION
from pocketsim.sim.scenario import app_faults, data_files, family_rules, limits, rows_used
from pocketsim.sim.scenario.document import FEWEST_PHONES
from pocketsim.sim.scenario.workloads import Paced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pocketsim.sim.scenario.load import Document


def warnings(document: Document) -> list[tuple[str, str]]:
    """Return pairs of a key path and what to know about it, in order of the document's sections."""
    found = (_idle_phones, _hardly_any, _long, _oversized, _stretched_faults, _little_used)
    return [warning for warn in found for warning in warn(document)]


def lines(documents: Iterable[Document]) -> list[str]:
    """Return the warnings of some documents, each once, with the file and the key path."""
    found = (
        f"{document.path}: {key_path}: {text}"
        for document in documents
        for key_path, text in warnings(document)
    )
    return list(dict.fromkeys(found))


def _idle_phones(document: Document) -> Iterator[tuple[str, str]]:
    """Yield how many phones never have anything to do, where others than partners have nothing."""
    scenario = document.scenario
    phones, kind = scenario.phone_count(), scenario.workload.kind
    if scenario.protocol.kind not in _BETWEEN_TWO:
        return
    if kind == "paced":
        used, who = FEWEST_PHONES, f'the first {FEWEST_PHONES} trade in a workload of kind "paced"'
    elif data_files.TRADES in document.files:
        used = document.files[data_files.TRADES].phones
        who = f"{used} are in {data_files.TRADES}"
    else:
        return
    if phones > used:
        yield "devices", f"of {phones} phones only {who}; {phones - used} will do nothing"


def _hardly_any(document: Document) -> Iterator[tuple[str, str]]:
    """Yield a rate at which nothing is to be expected, or one proposal alone."""
    workload, asked = document.scenario.workload, limits.asked(document.scenario)
    if isinstance(workload, Paced):
        per_s = min(workload.rate)
        if workload.pacing != "unpaced" and per_s * DURATION.maximum < 1:
            text = (
                f"at {per_s:.3g}/s a loop sends one proposal, when it starts; its second is after "
            )
            yield "workload.rate", f"{text}any run, of at most {DURATION.maximum_text}"
    elif asked is not None and asked.expected < _HARDLY_ANY:
        text = f"asks for about {asked.expected:.2g} {asked.what} in each repetition: next to all "
        yield asked.place, f"{text}have none"


def _long(document: Document) -> Iterator[tuple[str, str]]:
    """Yield what is asked for so often that a repetition takes long, and how long."""
    asked = limits.asked(document.scenario)
    # Of another transport nobody has measured what a trade takes.
    modes = [mode for mode in document.scenario.transport.mode if mode in _PROPOSAL_S]
    if asked is None or not modes:
        return
    longest = max(modes, key=lambda mode: _PROPOSAL_S[mode])
    expected_s = asked.expected * _PROPOSAL_S[longest]
    groups = document.scenario.devices
    comes = document.scenario.churn is not None or any(group.churn for group in groups)
    among = " if all phones were on" if comes else ""
    if expected_s > _LONG_S:
        text = (
            f"asks for about {asked.expected:.2g} {asked.what} in each repetition, which take "
            f"{expected_s / _HOUR_S:.1g} h of a core or more over {longest}{among}"
        )
        yield asked.place, text


def _oversized(document: Document) -> Iterator[tuple[str, str]]:
    """Yield payloads whose messages a transport drops instead of sending."""
    scenario = document.scenario
    place, payloads_bytes = "workload.payload", scenario.workload.payload
    if data_files.TRADES in document.files:
        place = data_files.TRADES
        payloads_bytes = [document.files[place].largest_payload_bytes]
    limits_bytes = {**MESSAGE_BYTES_MAX, "eva": scenario.transport.eva.binary_size_limit}
    for mode in dict.fromkeys(scenario.transport.mode):
        for payload_bytes in dict.fromkeys(payloads_bytes):
            message_bytes = family_rules.of(scenario).message_bytes(scenario, payload_bytes)
            limit_bytes = limits_bytes.get(mode)
            if limit_bytes is not None and message_bytes > limit_bytes:
                text = (
                    f"{payload_bytes:,} B makes messages of up to {message_bytes:,} B; {mode} "
                    f"sends at most {limit_bytes:,} B and loses what is larger as `oversized`"
                )
                yield place, text


def _stretched_faults(document: Document) -> Iterator[tuple[str, str]]:
    if app_faults.are_stretched(document):
        text = (
            "kept connections stall and break as those of the theses' app did, which is known of "
            f"two paced phones that trade for {app_faults.LONGEST_BENCHMARK_S:g} s, and not of this"
        )
        yield "transport.app_faults", text


def _little_used(document: Document) -> Iterator[tuple[str, str]]:
    """Yield files of which a run uses few rows, or whose times look like milliseconds."""
    for place, used in document.used.items():
        for text in rows_used.warnings(used):
            yield place, text


_HARDLY_ANY = 0.01
_BETWEEN_TWO = ("trustchain", "transfer")
"""Protocol families in which a phone does nothing for others' trades."""
_PROPOSAL_S = {
    "udp": 25e-6,
    "ipv8": 25e-6,
    "ipv8_sealed": 25e-6,
    "tftp": 60e-6,
    "eva": 75e-6,
    "quic_reconnect": 250e-6,
    "quic_keep": 250e-6,
}
"""Time of a core for a trade of two small messages among 500 phones, a second apart or more.

Of the order of it, on a virtual machine of 2026: enough to tell minutes from hours. Where kept
connections do not rest (`transport.keep_alive_events`), pings take many times as long.
"""
_LONG_S = 1200.0
"""Beyond it somebody who has not meant it would rather know before."""
_HOUR_S = 3600.0
