"""NATs, hole punching and the relay in a scenario: what is refused, and what pairs come to."""

import re

import pytest

from pocketsim.api.documents import reach
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.reachability import CLASSES, Site, Ways, expected, of_phones
from pocketsim.sim.scenario.resolve import resolve
from support import mistakes

NATS = "scenarios/scale/1k_nat.toml"
UDP = {"mode": "udp", "relay_first": True}
QUIC = {"mode": "quic_keep", "relay_first": True}
BARE = {"mode": "quic_keep", "relay_first": False}


@pytest.fixture
def path(root):
    return root / "pocketsim" / NATS


# What is replaced, by what, then key path, reason, suggestion.
LTE = "network.access.lte.nat"
MISTAKES = [
    ("symmetric = 0.33", "symetric = 0.33", f"{LTE}.symetric", "unknown key", "symmetric"),
    ("symmetric = 0.33", "symmetric = 0.43", LTE, "blocked add up to 1.1, not 1", None),
    ("symmetric = 0.33", "symmetric = 1.33", f"{LTE}.symmetric", "less than or equal to 1", None),
    ('"65s"', "65", f"{LTE}.replied_timeout", "has no unit", None),
    ('"65s"', '"0s"', f"{LTE}.replied_timeout", "must be more than zero", None),
    ("success = 0.726", "success = 72.6", "network.hole_punching.success", "less than or", None),
    ("queue = 512", "queue = 0", "network.relay.queue", "greater than or equal to 1", None),
    ('up = "1Gbps"', 'up = "1MB"', "network.relay.up", "is a size", None),
    ("queue = 512", 'latency = "9ms"', "network.relay.latency", "unknown key", None),
]
FLOWS = (
    "repetitions = 1",
    'fidelity = "flow"',
    "network.access.wifi.nat",
    "knows no place between two phones",
    'run.fidelity = "hybrid"',
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake[1])
def test_mistakes_are_refused(path, tmp_path, mistake):
    mistakes.check(tmp_path, path.read_text(), mistake)


def test_flows_have_no_nats(path, tmp_path):
    # What else flows do not have is refused first.
    text = re.sub(
        "^wifi = .*$", 'up = "40Mbps"\ndown = "40Mbps"', path.read_text(), flags=re.MULTILINE
    )
    mistakes.check(tmp_path, text, FLOWS)


def test_punching_without_nats_is_refused(scenario, tmp_path):
    text = f"{scenario.read_text()}\n[network.hole_punching]\nsuccess = 0.5\n"
    mistake = ("success = 0.5", "success = 0.6", "network.hole_punching", "no access network", None)
    mistakes.check(tmp_path, text, mistake)


def test_documents_without_nats_resolve_to_nothing_new(scenario):
    network = resolve(load(scenario))[0].resolved["network"]
    assert {"relay", "hole_punching"}.isdisjoint(network)
    assert all("nat" not in access for access in network["access"].values())
    assert reach.lines(load(scenario)) == []


def test_networks_with_nats_say_how_to_punch(path, tmp_path):
    text = path.read_text()
    begin, end = text.index("[network.hole_punching]"), text.index("[network.access.wifi]")
    plain = tmp_path / "plain.toml"
    plain.write_text(text[:begin] + text[end:])
    network = resolve(load(plain))[0].resolved["network"]
    assert network["hole_punching"] == {
        "success": 0.7,
        "setup_median_s": 6.0,
        "setup_sigma": 0.661,
        "failure_median_s": 15.0,
        "failure_sigma": 0.68,
        "path_trust_s": 6.5,
    }
    assert network["relay"]["queue_packets"] == 512


def sites(*classes):
    return [Site({name: 1}, isolated=False) for name in classes]


@pytest.mark.parametrize(
    ("one", "other", "transport", "ways"),
    [
        ("open", "open", UDP, Ways(1, 0, 0, 0)),
        ("symmetric", "open", UDP, Ways(0.5, 0, 0, 0.5)),  # one way alone
        ("full_cone", "port_restricted", UDP, Ways(0.5, 0, 0, 0.5)),
        ("blocked", "open", UDP, Ways(0, 0, 0, 1)),
        ("symmetric", "open", QUIC, Ways(0.5, 0.5, 0, 0)),
        ("port_restricted", "port_restricted", QUIC, Ways(0, 0.7, pytest.approx(0.3), 0)),
        ("address_restricted", "symmetric", QUIC, Ways(0, 0.7, pytest.approx(0.3), 0)),
        ("port_restricted", "symmetric", QUIC, Ways(0, 0, 1, 0)),
        ("blocked", "open", QUIC, Ways(0, 0, 1, 0)),
        ("symmetric", "open", BARE, Ways(0.5, 0, 0, 0.5)),
    ],
)
def test_two_phones_reach_each_other_as_their_classes_say(one, other, transport, ways):
    assert of_phones(sites(one, other), transport, 0.7) == ways


def test_phones_of_a_site_reach_each_other_unless_they_are_isolated():
    together = {"blocked": 2}
    assert of_phones([Site(together, isolated=False)], UDP, 0.7).direct == 1
    assert of_phones([Site(together, isolated=True)], UDP, 0.7).none == 1


def network(per_site=None, **nat):
    given = dict.fromkeys(CLASSES, 0.0) | {"carrier_grade": True, "client_isolation": False} | nat
    return {
        "hole_punching": {"success": 0.726},
        "access": {"lte": {"phones_per_site": per_site, "nat": given}},
    }


def group(count, role="person"):
    return {"role": role, "count": count, "access": {"lte": 1.0}}


MOBILE = {"address_restricted": 0.22, "port_restricted": 0.45, "symmetric": 0.33}


def test_phones_on_mobile_networks_punch_as_often_as_measured():
    found = expected(network(per_site=1, **MOBILE), [group(10_000)], QUIC)
    assert found.punched == pytest.approx(0.431, abs=0.0005)
    assert found.relay == pytest.approx(1 - 0.431, abs=0.0005)
    assert expected(network(per_site=1, **MOBILE), [group(10_000)], UDP).none == 1


def test_expected_shares_are_those_of_many_drawn_phones():
    found = expected(network(per_site=4, **MOBILE), [group(400)], QUIC)
    assert found.direct == pytest.approx(3 / 399)
    isolated = network(per_site=4, client_isolation=True, **MOBILE)
    assert expected(isolated, [group(400)], QUIC).direct == 0
    # A router's phones have its class.
    routers = network(per_site=400, client_isolation=True, carrier_grade=False, **MOBILE)
    assert expected(routers, [group(400)], QUIC).punched == pytest.approx(0.726 * 0.67)


def test_an_authority_is_reached_by_everybody():
    found = expected(network(symmetric=1.0, per_site=1), [group(1), group(1, "authority")], UDP)
    assert found == Ways(0.5, 0, 0, 0.5)


@pytest.mark.parametrize("command", ["check", "show"])
def test_the_command_line_says_who_reaches_whom(cli, root, command):
    done = cli(command, root / "pocketsim" / NATS)
    assert done.returncode == 0
    said = done.stdout + done.stderr
    assert "udp, not coordinated: of 999,000 ordered pairs of phones " in said
    assert "quic_keep, coordinated over the relay: of 999,000 ordered pairs of phones " in said
    assert "% direct by hole punching, " in said
