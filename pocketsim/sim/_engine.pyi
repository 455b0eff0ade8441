# Types of the compiled engine (sim/engine). What simulates loads it in child processes only;
# validation asks it for a replay and a plan for meetings, which need no SimGrid, in their own.
from collections.abc import Mapping
from typing import Any

OPERATIONS: list[str]

def run(plan: Mapping[str, Any], progress: object = None, own: object = None) -> dict[str, Any]: ...
def option_schemas() -> list[str]: ...
def platform_routes(
    library: str, path: str, named: list[str], with_hosts: bool
) -> tuple[list[str], list[str], list[str], list[tuple[float, float, bool, bool] | None]]: ...
def meetings(
    columns: tuple[Any, ...], range_m: float, duration_s: float
) -> tuple[bytes, bytes, bytes, bytes]: ...
def replay_chain(
    payload_bytes: int, first_index: int, count: int, outstanding: int
) -> list[int]: ...
