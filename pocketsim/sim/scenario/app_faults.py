"""Whether an implementation loses the connection that it keeps, as its profile says.

These faults are frequencies among runs of one experiment, two phones for 25 s, and no mechanism is
known. They act there, and elsewhere only when the scenario asks for them. How often they come is in
that profile; when they come to which phone is drawn in `sim.plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.scenario.workloads import Paced

if TYPE_CHECKING:
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.load import Document


def act(document: Document) -> bool:
    """Return whether kept connections of a scenario are lost as its implementation loses them."""
    keep, asked = document.implementation.quic_keep, document.scenario.transport.app_faults
    if keep is None or keep.kept_connection is None:
        return False
    return is_benchmark(document.scenario) if asked is None else asked


def are_stretched(document: Document) -> bool:
    """Return whether faults act on a kept connection where nobody has seen them."""
    scenario = document.scenario
    keeps = KEPT in scenario.transport.mode
    return keeps and act(document) and not is_benchmark(scenario)


def is_benchmark(scenario: Scenario) -> bool:
    """Return whether `scenario` is the experiment that the faults were fitted to."""
    return (
        isinstance(scenario.workload, Paced)
        and scenario.protocol.kind == "trustchain"
        and scenario.phone_count() == _BENCHMARK_PHONES
        and scenario.run.duration <= LONGEST_BENCHMARK_S
    )


KEPT = "quic_keep"
LONGEST_BENCHMARK_S = 25.0
"""A run of the throughput thesis (Chirila 2025, section 4.2); `break_rate` is fitted to these."""
_BENCHMARK_PHONES = 2
