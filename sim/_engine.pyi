# Types of the compiled engine (sim/engine). Whatever simulates loads it in a child process; validation
# asks it for a replay, without SimGrid, in its own.
from collections.abc import Mapping
from typing import Any

OPERATIONS: list[str]

def run(plan: Mapping[str, Any]) -> dict[str, Any]: ...
def replay_chain(
    payload_bytes: int, first_index: int, count: int, outstanding: int
) -> list[int]: ...
