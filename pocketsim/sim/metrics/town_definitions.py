"""How the metrics of a town that pays with tokens are defined; `sim.metrics.town` computes them."""

from __future__ import annotations

from pocketsim.sim.metrics.definition import Metric

_RECIPIENTS = "recipients of a token when it is paid, with its first"
_DRAIN = "after the last outage, until a token that waited is verified"
_DETECTION = "from a token's first double spend until its cheat is named"

METRICS = {
    "payments_asked": Metric("1", "asked", "payments that somebody wanted to make"),
    "payments_completed": Metric("1", "completed", "payments asked for whose payer has a receipt"),
    "completed_ratio": Metric("1", "completed / asked", "completed over asked for"),
    "unpayable_ratio": Metric(
        "1",
        "unpayable / asked",
        "over asked for: the payer's wallet did not hold the amount, or there was nobody to pay",
    ),
    "payments_in_flight_ratio": Metric(
        "1",
        "in_flight / asked",
        "of those asked for, those that the run ended before they were complete or lost",
    ),
    "outage_completed_ratio": Metric(
        "1",
        "completed in outages / asked in outages",
        "completed over asked for, of those asked for in an outage",
    ),
    "payment_ms_p50": Metric(
        "ms",
        "p50(t_receipt - t_asked)",
        "from asking to the receipt, median",
    ),
    "payment_ms_p95": Metric(
        "ms", "p95(t_receipt - t_asked)", "from asking to the receipt, 95th percentile"
    ),
    "token_recipients_mean": Metric(
        "1",
        "mean(recipients)",
        f"{_RECIPIENTS}: mean",
    ),
    "token_recipients_p95": Metric("1", "p95(recipients)", f"{_RECIPIENTS}: 95th percentile"),
    "token_recipients_max": Metric("1", "max(recipients)", f"{_RECIPIENTS}: most"),
    "contact_bytes_per_payment": Metric(
        "B",
        "bytes of contacts / completed",
        "carried between phones near each other, over completed payments",
    ),
    "access_bytes_per_payment": Metric(
        "B",
        "bytes of access networks / completed",
        "carried by access networks, settling included, over completed payments",
    ),
    "cpu_ms_per_payment": Metric(
        "ms",
        "core time / completed",
        "core time of all phones, the authority's included, over completed payments",
    ),
    "authority_backlog_tokens_max": Metric(
        "1",
        "max over t of (submitted - decided)",
        "tokens submitted and not decided, at worst",
    ),
    "authority_answer_ms_p95": Metric(
        "ms",
        "p95(t_settled - t_submitted)",
        "from submitting a token to knowing, 95th percentile",
    ),
    "unverified_tokens_max": Metric(
        "1",
        "max over t of (paid - verified)",
        "tokens paid and not verified since, at worst",
    ),
    "drain_min_p50": Metric(
        "min",
        "p50(t_verified - t_last_outage_end)",
        f"{_DRAIN}: median",
    ),
    "drain_min_p95": Metric(
        "min",
        "p95(t_verified - t_last_outage_end)",
        f"{_DRAIN}: 95th percentile",
    ),
    "drain_min_max": Metric(
        "min", "max(t_verified - t_last_outage_end)", f"{_DRAIN}: for the last"
    ),
    "double_spends": Metric(
        "1",
        "count of double_spend",
        "times that a token was signed over by somebody who had signed it over before",
    ),
    "accused": Metric("1", "count of accused", "persons whom the authority named, for each token"),
    "wrongly_accused": Metric(
        "1",
        "count of accused who are honest",
        "of the persons accused, those who had signed nothing twice",
    ),
    "undetected_tokens": Metric(
        "1",
        "tokens spent twice - tokens with a proof",
        "tokens spent twice of which the authority saw no proof",
    ),
    "detection_min_p50": Metric(
        "min",
        "p50(t_accuse - t_double_spend)",
        f"{_DETECTION}: median",
    ),
    "detection_min_max": Metric("min", "max(t_accuse - t_double_spend)", f"{_DETECTION}: longest"),
    "value_at_risk_eur_max": Metric(
        "EUR",
        "max over t of worth(spent twice, not found out)",
        "worth of tokens spent twice and not found out yet, at worst",
    ),
    "refused_to_honest_eur": Metric(
        "EUR",
        "sum(worth)",
        "what was refused to somebody who had not cheated; unknown by the prototype's rules",
    ),
    "minted_eur": Metric("EUR", "sum(worth)", "issued by the authority"),
    "redeemed_eur": Metric("EUR", "sum(worth)", "taken back for good"),
    "circulating_eur": Metric(
        "EUR", "minted - redeemed - blacklisted", "valid at the end, wherever it is"
    ),
    "vanished_eur": Metric(
        "EUR", "circulating - held", "of what is valid at the end, what nobody has any more"
    ),
}
