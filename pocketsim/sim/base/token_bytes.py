"""How long an offline token is on the wire, by its recipients, and the other way round.

The layout itself is sim/protocols/src/token/layout.rs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    Array = np.ndarray[Any, Any]

BARE_BYTES = 149
"""A token without recipients (offline token thesis, equation 1)."""

RECIPIENT_BYTES = 138
"""What each recipient adds (offline token thesis, equation 1)."""


def size(count: int) -> int:
    """Return the bytes of a token of `count` recipients, in the prototype's layout."""
    return BARE_BYTES + count * RECIPIENT_BYTES


def recipients(size_bytes: Array, *, challenged: bool = False) -> Array:
    """Return how many recipients tokens of `size_bytes` have, whole; `challenged` in our layout."""
    import numpy as np

    challenge_bytes = _CHALLENGE_BYTES if challenged else 0
    own_bytes = size_bytes - BARE_BYTES + challenge_bytes
    count: Array = np.rint(own_bytes / (RECIPIENT_BYTES + challenge_bytes))
    return count


_CHALLENGE_BYTES = 16  # in every pair but the first
