"""A resolved scenario is what its types say, and what the one rule makes of the document."""

from pathlib import Path

import pytest

from pocketsim.sim.base import si
from pocketsim.sim.devices import (
    contents,
    implementation,
    profile,
    provenance,
    transport_options,
    transport_sections,
)
from pocketsim.sim.scenario import (
    android,
    battery,
    charging,
    churn,
    compute,
    contact_law,
    contacts,
    core,
    custom_protocol,
    document,
    energy,
    foreground,
    lengths,
    mobility,
    network,
    radio_states,
    resolved,
    resolved_measures,
    town,
    transports,
    varying_links,
    walks,
    workloads,
)
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import typed_sections

SHIPPED = sorted((Path(__file__).parents[4] / "pocketsim/scenarios").glob("*/*.toml"))
# Beside what is in the document: what is made of it.
MADE = {
    resolved.Paced: {"interval_s"},
    resolved.Partners: {"digest", "class_digest"},
    resolved.CustomWorkload: {"digest"},
    resolved.Adversary: {"digest"},
    resolved.WorkloadTrace: {"digest"},
    resolved.ChurnFile: {"digest"},
    resolved.ContactsFile: {"digest"},
    resolved.ContactLaw: {"name"},
    resolved.Core: {"digest", "routes_digest", "shared"},
    resolved.Protocol: {"digest"},
    resolved.RateFile: {"up_digest", "down_digest"},
    contents.Cost: {"cost_factor"},
    contents.OwnCost: {"cost_factor"},
    contents.ScaledCost: {"cost_factor"},
}
# In the document, but no run depends on it.
LEFT_OUT = {contents.Contents: {"scatter"}, resolved.ContactLaw: {"law"}}
SAME_NAMES = {
    (network, resolved): ("Access", "Bursts", "Network", "Outage"),
    (core, resolved): ("Core",),
    (radio_states, resolved): ("States", "PowerSave"),
    (varying_links, resolved): ("RateFile", "Interruption"),
    (lengths, resolved): ("Weibull", "Lognormal"),
    (churn, resolved): ("Churn", "ChurnFile", "AlwaysOn"),
    (android, resolved): ("AndroidChurn",),
    (foreground, resolved): ("Foreground",),
    (contacts, resolved): ("ContactsFile", "ContactsPlaces"),
    (mobility, resolved): ("Days", "Work"),
    (battery, resolved): ("Battery", "BatteryCharging"),
    (walks, resolved): ("RandomWaypoint", "LevyWalk"),
    (contact_law, resolved): ("ContactsLaw", "ContactLaw", "Meets"),
    (workloads, resolved): ("Paced", "Partners", "Poisson", "WorkloadTrace", "CustomWorkload"),
    (town, resolved): ("Town", "Amount", "PowerLaw", "ContactLink", "Contacts", "Tokens"),
    (compute, resolved): ("Compute",),
    (document, resolved): ("Run", "Protocol", "Adversary", "Output"),
    (energy, resolved_measures): ("Radio", "ContactRadio", "Energy"),
    (transports, resolved): ("Transport",),
    (profile, contents): ("Cost", "Device", "Scheduler", "SleepOvershoot"),
    (implementation, contents): (
        "About",
        "Step",
        "OwnCost",
        "Quic",
        "KeptConnection",
    ),
}
PAIRS = [
    *(
        (getattr(models, name), getattr(typed, name))
        for (models, typed), names in SAME_NAMES.items()
        for name in names
    ),
    *((kind, resolved.Episodes) for kind in (android.Screen, android.Motion, charging.Charging)),
    (custom_protocol.CustomOperation, contents.ScaledCost),
    (profile.Profile, contents.Contents),
    (implementation.Implementation, contents.ImplementationContents),
    *((kind, contents.Choice) for kind in (provenance.Limit, provenance.Flag)),
    (implementation.PacingLaw, contents.Choice),
    (transport_sections.EvaProfile.model_fields["variant"].annotation, contents.Choice),
    (transport_sections.UdpProfile, transport_options.UdpContents),
    (transport_sections.EvaProfile, transport_options.EvaContents),
    (transports.Eva, transport_options.EvaValues),
    (provenance.PlainNumber, contents.Number),
    (provenance.Window, contents.Window),
]


@pytest.mark.parametrize("path", [path for path in SHIPPED if path.parent.name != "sweeps"])
def test_shipped_scenarios_resolve_to_what_the_types_say(path):
    for rung in resolve(load(path)):
        names = typed_sections.RESOLVED
        typed_sections.check(rung.resolved, resolved.Resolved, names, path.stem)


@pytest.mark.parametrize(("model", "typed"), PAIRS, ids=lambda model: model.__name__)
def test_names_are_those_of_the_document_with_their_unit_last(model, typed):
    names = typed.__required_keys__ | typed.__optional_keys__
    left_out = LEFT_OUT.get(typed, set())
    assert set(si.names(model).values()) - left_out == names - MADE.get(typed, set())


def test_a_wrong_type_is_seen(scenario):
    rung = resolve(load(scenario))[0]
    rung.resolved["transport"]["poll_interval_s"] = "10ms"
    with pytest.raises(AssertionError, match=r"transport\.poll_interval_s: '10ms'"):
        typed_sections.check(rung.resolved, resolved.Resolved, typed_sections.RESOLVED, "it")
