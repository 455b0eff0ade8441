"""The sections of a town as plain numbers in SI units: parts of a resolved scenario.

A scenario without a town has none of these keys, so that its runs keep their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.scenario.town import Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sim.scenario.model import Devices, Protocol, Scenario
    from sim.scenario.town import Contacts, Town


def sections(scenario: Scenario) -> dict[str, Any]:
    """Return `contacts` and `outages`, where the scenario has them."""
    found: dict[str, Any] = {}
    if scenario.contacts is not None:
        found["contacts"] = _contacts(scenario.contacts)
    if scenario.outages:
        found["outages"] = [
            {"access": of.access, "start_s": of.start, "end_s": of.end} for of in scenario.outages
        ]
    return found


def role(scenario: Scenario, group: Devices) -> dict[str, Any]:
    """Return the role of a group of phones, in a town."""
    return {"role": group.role} if scenario.protocol.kind == "tokens" else {}


def lists(options: Protocol) -> dict[str, Sequence[Any]]:
    """Return the fields of tokens that take lists, by their keys in the document."""
    if options.kind != "tokens":
        return {}
    tokens = options.tokens or Tokens()
    return {f"protocol.tokens.{name}": getattr(tokens, name) for name in _LISTS}


def protocol(options: Protocol, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of offline tokens, where that is the protocol, at one rung."""
    if options.kind != "tokens":
        return {}
    tokens = options.tokens or Tokens()
    return {
        "tokens": {
            **{name: at[f"protocol.tokens.{name}"] for name in _LISTS},
            "recipients_max": tokens.recipients_max,
            "settle_interval_s": tokens.settle_interval,
            "payment_timeout_s": tokens.payment_timeout,
            "person_cents": tokens.person_wallet,
            "person_low_cents": tokens.person_low,
            "shop_cents": tokens.shop_till,
            "batch_tokens": tokens.batch_tokens,
        }
    }


def workload(town: Town) -> dict[str, Any]:
    """Return what a town's workload has beside a rate and a start."""
    return {
        "to_shop_ratio": town.to_shop_ratio,
        "shops_visited": town.shops_visited,
        "acquaintances": town.acquaintances,
        "amount": {
            "mean_cents": town.amount.mean,
            "sigma": town.amount.sigma,
            "largest_cents": town.amount.largest,
            "rounding_cents": town.amount.rounding,
        },
        "hours": list(town.hours),
        "cheat_ratio": town.cheat_ratio,
        "double_spend_ratio": town.double_spend_ratio,
        "replay_ratio": town.replay_ratio,
    }


def _contacts(contacts: Contacts) -> dict[str, Any]:
    duration = contacts.duration
    return {
        "duration": {
            "alpha": duration.alpha,
            "shortest_s": duration.shortest,
            "longest_s": duration.longest,
        },
        "lead_s": contacts.lead,
        "links": {
            name: {
                "share": link.share,
                "bytes_per_s": link.rate,
                "latency_s": link.latency,
                "setup_s": link.setup,
                "loss_ratio": link.loss_ratio,
            }
            for name, link in contacts.links.items()
        },
    }


_LISTS = ("rules", "handshake", "acceptance")
