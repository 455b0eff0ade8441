"""Every metric there is, by the tables of docs/metrics.md: for who lists them, no run needs it.

How each is defined stands beside what computes it.
"""

from __future__ import annotations

from pocketsim.sim.metrics import (
    battery,
    compute,
    custom_protocol,
    energy,
    per_phone,
    presence,
    queues,
    reach,
    retries,
    storage,
    town,
    town_definitions,
    trades,
    transfers,
)

TABLES = {
    "trades": trades.METRICS,
    "transfers": transfers.TRANSFERS,
    "tokens": transfers.TOKENS,
    "compute": compute.METRICS,
    "custom_protocol": custom_protocol.METRICS,
    "town": town_definitions.METRICS,
    "queues": queues.METRICS,
    "reach": reach.METRICS,
    "presence": presence.METRICS,
    "battery": battery.METRICS,
    "retries": retries.METRICS,
    "per_phone": per_phone.METRICS,
    "storage": storage.METRICS,
    "energy_of_payments": energy.metrics(town.TRANSACTION),
    "energy_of_transactions": energy.metrics(trades.TRANSACTION),
}
"""In the order of the page."""

METRICS = {name: metric for table in TABLES.values() for name, metric in table.items()}
"""All of them in one."""
