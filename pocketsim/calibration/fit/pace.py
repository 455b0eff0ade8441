"""How many times as long as in hot loops a message's steps take on a thread that was woken for it.

Other kernels repeat one operation on a core that does nothing else. `message_at_pace` does each
step of a message once, after system calls and a rest: caches and branch predictors are cold, and
the core's frequency may be low. Signing, verifying and hashing a block serialise it there, and the
time is that of the wall: some hundredths of the ratio are that. The ratio is that of whole
messages, since steps of a microsecond are timed too roughly to tell each its own. What does not
live here: how long waking takes (`calibration.fit.wakes`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.calibration.fit.looks import cases, estimate_of, estimates
from pocketsim.calibration.fit.rests import Rested, pooled
from pocketsim.calibration.fit.wakes import PRICED_BYTES, answer_s, by_asked_s

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.sim.devices.profile import AfterRest

KERNEL = "message_at_pace"
STEPS = {
    "decode_s": "block_decode",
    "verify_s": "ed25519_verify",
    "sign_s": "ed25519_sign",
    "hash_s": "sha256",
    "encode_s": "block_encode",
}
"""Steps that only compute, by quantity, and the kernel that times each in a hot loop."""


def after(reports: Sequence[Report]) -> list[AfterRest]:
    """Return the ratio by rest; nothing where not every report has timed it."""
    said = (
        f"kernel {KERNEL}: its steps that compute, together, over the core time of "
        f"{', '.join(STEPS.values())} at {PRICED_BYTES:g} bytes or the size nearest to it"
    )
    return pooled([_by_rest(report) for report in reports], reports, said)


def _by_rest(report: Report) -> dict[float, Rested]:
    hot = [estimates(report, kernel, "cpu_s") for kernel in STEPS.values()]
    if not all(hot):
        return {}
    near = [each[min(each, key=lambda size: abs(size - PRICED_BYTES))] for each in hot]
    hot_s = math.fsum(one.mean for one in near)
    hot_error = math.hypot(*(one.standard_error for one in near)) / hot_s
    found = {}
    rested = by_asked_s(report, KERNEL, "verify_s")
    queued = cases(report, KERNEL, "verify_s", (("queued", 1.0),))
    for asked_s, case in [*((_QUEUED, case) for case in queued), *rested.items()]:
        # It rests from when it has answered: for the answer's way, too.
        rest_s = asked_s + answer_s(report, asked_s)
        if rest_s <= 0 and asked_s != _QUEUED:
            continue  # nobody tells for how long
        steps = [estimate_of(case, step, report) for step in STEPS]
        paced_s = math.fsum(one.mean for one in steps)
        error = math.hypot(*(one.standard_error for one in steps)) / paced_s
        ratio = paced_s / hot_s
        found[asked_s] = Rested(
            max(0.0, rest_s),
            ratio,
            ratio * math.hypot(error, hot_error),
            steps[0].samples,
        )
    return found


_QUEUED = -1.0
"""Asked to rest: not even until the next message came, which waited already."""
