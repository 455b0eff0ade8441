"""What the engine tells of a repetition beside its trace. What it means, `sim.metrics` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping


class Told(TypedDict):
    """What the engine tells of one repetition beside its trace; empty where nothing was told.

    `counters` by name, `cpu_s` core seconds by operation over all phones, `kept_cents` what each
    token is worth that somebody signed over and kept, by serial, `energy_j` joules by component,
    `own` what functions of one's own made of its rows, None for what is undefined.
    """

    counters: Mapping[str, int]
    cpu_s: Mapping[str, float]
    kept_cents: Mapping[str, int]
    energy_j: Mapping[str, float]
    own: Mapping[str, float | None]


NOTHING: Told = {"counters": {}, "cpu_s": {}, "kept_cents": {}, "energy_j": {}, "own": {}}
