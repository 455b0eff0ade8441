"""A town that pays with offline tokens, as a protocol family of scenarios: sections and options.

Defaults are those of published figures where there are any, and say "assumed" where there are
none. What is drawn from them is `sim.plan.town`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from pocketsim.sim.base import si
from pocketsim.sim.base.documents import (
    Bandwidth,
    Cents,
    Count,
    Duration,
    OneOrMore,
    PositiveCents,
    PositiveDuration,
    PositiveRate,
    Section,
    written,
)
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.fields import Hours, Ratio, add_up
from pocketsim.sim.scenario.workloads import (
    CheatRatio,
    DoubleSpendRatio,
    ReplayRatio,
    WorkloadTrace,
    check_cheats,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class Amount(Section):
    """Lognormal distribution of what is paid; larger amounts than the largest do not occur."""

    mean: PositiveCents = Field(description="Mean, before amounts beyond the largest are left out.")
    sigma: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] = Field(
        description="Standard deviation of the logarithm."
    )
    largest: PositiveCents = Field(description="What a wallet can hold; more is not paid.")
    rounding: PositiveCents = Field(
        default=written("5ct"),
        description="Amounts are multiples of this (cash in the Netherlands).",
    )

    @model_validator(mode="after")
    def _the_usual_can_be_paid(self) -> Amount:
        if self.rounding > self.largest:
            raise ValueError("rounding is more than the largest amount")
        if self.mean > self.largest:
            raise ValueError("mean is more than the largest amount")
        return self


class Town(Section):
    """Persons who pay shops and each other with tokens; the run begins at midnight."""

    absent_when_none = frozenset({"near"})

    kind: Literal["town"] = Field(description="Kind of workload.")
    payments: OneOrMore[PositiveRate] = Field(
        description="Payments of one person, averaged over a day, at most 50 million of all in a "
        "repetition; a list makes several runs."
    )
    start: Duration = Field(default=written("0s"), description="Nothing is paid before.")
    to_shop_ratio: Ratio = Field(description="Share of payments that go to shops.")
    shops_visited: Count = Field(
        description="Shops among which a person chooses, drawn once for each."
    )
    acquaintances: Count = Field(
        description="Persons whom a person pays, drawn once for each; they need not pay back."
    )
    near: bool | None = Field(
        default=None,
        description="Whether a payment to a person goes to one of the persons in contact at that "
        "moment, instead of an acquaintance; a person who is near nobody then does not pay.",
    )
    amount: Amount = Field(description="How much is paid.")
    hours: Hours = Field(
        default=[1.0] * 24,
        description="Rate in each hour of the day over its mean; 24 numbers of mean 1.",
    )
    cheat_ratio: CheatRatio = 0.0
    double_spend_ratio: DoubleSpendRatio = 0.0
    replay_ratio: ReplayRatio = 0.0

    @property
    def rate(self) -> list[float]:
        """The rates, 1/s, by the name that other workloads have for it."""
        return self.payments

    @property
    def payload(self) -> list[int]:
        """The payloads: a payment has none."""
        return [0]

    @model_validator(mode="after")
    def _cheats_do_one_thing(self) -> Town:
        check_cheats(self.double_spend_ratio, self.replay_ratio)
        return self


class PowerLaw(Section):
    """Power law of a length of time: a density of length^-alpha between two lengths."""

    alpha: Annotated[float, Field(gt=1, le=20, allow_inf_nan=False)] = Field(
        description="Exponent."
    )
    shortest: PositiveDuration = Field(description="Shorter ones do not occur.")
    longest: PositiveDuration = Field(description="Longer ones do not occur.")

    @model_validator(mode="after")
    def _there_are_some(self) -> PowerLaw:
        if self.longest <= self.shortest:
            raise ValueError("longest is not more than shortest")
        return self


class ContactLink(Section):
    """One kind of link between two phones near each other."""

    share: Ratio = Field(description="Share of contacts that use it.")
    rate: Bandwidth = Field(description="Each way.")
    latency: Duration = Field(description="One way.")
    setup: Duration = Field(
        default=written("0s"), description="A contact carries nothing for this long."
    )
    loss_ratio: Ratio = Field(default=0.0, description="Probability that a packet is lost.")
    shares_air: bool | None = Field(
        default=None,
        description="Whether a phone sends only while no phone near it or near the other end is on "
        "such a link; absent: false, each contact has an air of its own.",
    )

    absent_when_none = frozenset({"shares_air"})


class ContactsOverLinks(Section):
    """Contacts of any kind: what they go over."""

    links: dict[str, ContactLink] = Field(min_length=1, description="Kinds of link by name.")

    @model_validator(mode="after")
    def _shares_add_up(self) -> ContactsOverLinks:
        shares = [link.share for link in self.links.values()]
        if not add_up(shares):
            raise ValueError(f"shares of links add up to {sum(shares):g}, not 1")
        return self


class Contacts(ContactsOverLinks):
    """Payer and payee near each other: every payment of a town has a contact of its own."""

    kind: Literal["payments"] = Field(
        default="payments", description="Where they are from; may be left out."
    )
    duration: PowerLaw = Field(description="How long the two stay in reach.")
    lead: Duration = Field(description="A payment is asked for so long after they met.")

    @model_validator(mode="after")
    def _they_wait_for_the_payment(self) -> Contacts:
        if self.lead >= self.duration.shortest:
            raise ValueError("lead is not less than the shortest duration")
        return self


class Tokens(Section):
    """Options of offline tokens."""

    rules: OneOrMore[Literal["thesis", "prototype"]] = Field(
        default=written("thesis"),
        description="thesis: the authority checks all that the text asks for; prototype: what its "
        "program does. A list makes several runs.",
    )
    handshake: OneOrMore[Literal["challenge", "none"]] = Field(
        default=written("challenge"),
        description="challenge: a payee has its nonce signed, so that a replay names nobody else. "
        "A list makes several runs.",
    )
    acceptance: OneOrMore[Literal["offline", "online"]] = Field(
        default=written("offline"),
        description="offline: a payee takes what it can verify itself; online: only what the "
        "authority has reissued, as EuroToken. A list makes several runs.",
    )
    recipients_max: Annotated[int, Field(ge=3, le=32_766)] = Field(
        default=256, description="A token of as many recipients is not passed on."
    )
    settle_interval: PositiveDuration = Field(
        default=written("1h"),
        description="Tokens received go to the authority this often; assumed.",
    )
    payment_timeout: PositiveDuration = Field(
        default=written("10s"), description="A payment is given up after this; assumed."
    )
    person_wallet: PositiveCents = Field(
        default=written("83EUR"),
        description="A person's wallet is filled up to this (cash in a wallet, ECB SPACE 2022).",
    )
    person_low: Cents = Field(
        default=written("20EUR"),
        description="Below this a person withdraws once they reach the authority; assumed.",
    )
    shop_till: Cents = Field(
        default=written("200EUR"), description="Change that a shop starts with; assumed."
    )
    batch_tokens: Count = Field(default=64, description="Tokens of one submission; assumed.")

    @model_validator(mode="after")
    def _wallets_can_be_filled(self) -> Tokens:
        if self.person_low > self.person_wallet:
            raise ValueError("person_low is more than person_wallet")
        return self


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for the first thing that does not fit together in a town."""
    _check_layout(scenario, path)
    count = dict.fromkeys(("person", "shop", "authority"), 0)
    for group in scenario.devices:
        count[group.role] += group.count
    if count["authority"] != 1:
        reason = f"tokens have one phone of role authority, not {count['authority']}"
        raise ScenarioError(path, "devices", reason)
    town = scenario.workload
    if not isinstance(town, Town):  # a trace says who pays whom
        return
    if count["shop"] == 0 and town.to_shop_ratio > 0:
        raise ScenarioError(path, "workload.to_shop_ratio", "there are no phones of role shop")
    if count["person"] < (1 if town.to_shop_ratio == 1 else 2):
        raise ScenarioError(path, "devices", "there are too few phones of role person to pay")


def refuse(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for what only a town has, in a scenario of another family."""
    kind = scenario.protocol.kind
    if scenario.protocol.tokens is not None:
        raise ScenarioError(path, "protocol.tokens", f'is for protocol "tokens", not "{kind}"')
    for name in ("cheat_ratio", "double_spend_ratio", "replay_ratio"):
        if isinstance(scenario.workload, WorkloadTrace) and getattr(scenario.workload, name):
            reason = f'is for protocol "tokens", not "{kind}"'
            raise ScenarioError(path, f"workload.{name}", reason)
    for number, group in enumerate(scenario.devices):
        if group.role != "person":
            reason = f'protocol "{kind}" has no {group.role}; every phone is a person'
            raise ScenarioError(path, f"devices[{number}].role", reason)


def lists(scenario: Scenario) -> dict[str, Sequence[Any]]:
    """Return the options of tokens that take lists, by key in the document."""
    tokens = scenario.protocol.tokens or Tokens()
    return {f"protocol.tokens.{name}": getattr(tokens, name) for name in _LISTS}


def options(scenario: Scenario, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of tokens at one rung."""
    here = {name: at[f"protocol.tokens.{name}"] for name in _LISTS}
    return {"tokens": si.section(scenario.protocol.tokens or Tokens(), here)}


def message_bytes(_scenario: Scenario, _payload_bytes: int) -> int:
    """Return 0: a payment has no payload."""
    return 0


def _check_layout(scenario: Scenario, path: Path) -> None:
    """Refuse what the prototype cannot read, in any combination of the lists."""
    tokens = scenario.protocol.tokens
    if tokens is not None and "prototype" in tokens.rules and "challenge" in tokens.handshake:
        reason = 'rules = "prototype" reads no tokens with challenges'
        raise ScenarioError(path, "protocol.tokens.handshake", reason, "none")


_LISTS = ("rules", "handshake", "acceptance")
