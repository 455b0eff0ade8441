"""A platform between sites against plain SimGrid: routes, what they take, how links are shared."""

import itertools
import math

import pytest

from pocketsim.sim.scenario import platform_routes
from pocketsim.sim.scenario.platform_routes import Wanted
from support import engine_plans as plans
from support import recount, simgrid_platforms
from support.simgrid_platforms import EXAMPLES, PIPES, TOWNS, VIVALDI

pytestmark = pytest.mark.engine

OWN = {"pipes": PIPES, "vivaldi": VIVALDI, "towns": TOWNS}
HOSTS = Wanted(hosts=True)
WIDE = 1e21  # radios of it take nothing


@pytest.fixture(scope="module")
def simgrid(tmp_path_factory):
    """Return what plain SimGrid says of flows over a platform."""
    program = simgrid_platforms.built(tmp_path_factory.mktemp("simgrid"))
    return lambda platform, asked: simgrid_platforms.flows(program, platform, asked)


@pytest.fixture
def own(tmp_path):
    """Return the file of a platform."""

    def write(name):
        path = tmp_path / f"{name}.xml"
        path.write_text(OWN[name])
        return path

    return write


def core(found, names, platform=None):
    """Return the columns of a core whose sites are at `names`, one each."""

    def row_by_row(rows):
        places = [found["between"].index(name) for name in names]
        return [rows[one][other] for one in places for other in places]

    limits = [math.inf if limit is None else limit for limit in row_by_row(found["bytes_per_s"])]
    return {
        "netpoint": list(range(len(names))),
        "names": list(names),
        "latency_s": row_by_row(found["latency_s"]),
        "bytes_per_s": limits,
        "shared": row_by_row(found["shared"]),
        "relay": None,
        "platform": None if platform is None else str(platform),
    }


def between(path, names, found, **changes):
    """Return a plan of a phone at each of these netpoints, with radios that take nothing."""
    radio = plans.access(up_bytes_per_s=WIDE, down_bytes_per_s=WIDE, latency_s=0.0)
    sites = {"capacity_bytes_per_s": [0.0] * len(names)}
    plan = plans.plan(len(names), sites=sites, core=core(found, names, path), **changes)
    plan["access"] = [radio]
    plan["phones"]["site"] = list(range(len(names)))
    return plan


def platforms(own):
    """Return platforms of many kinds: SimGrid's own examples where they are, else ours."""
    kept = ("small_platform", "two_peers", "dogbone", "routing_cluster", "cluster_multi")
    examples = [EXAMPLES / f"{name}.xml" for name in kept if (EXAMPLES / f"{name}.xml").is_file()]
    return [*examples, *map(own, OWN)]


def test_routes_are_those_that_simgrid_takes(simgrid, own):
    for platform in platforms(own):
        found = platform_routes.ask(platform, HOSTS)
        hosts = found["between"][:8]
        pairs = [
            pair
            for pair in itertools.permutations(range(len(hosts)), 2)
            if found["latency_s"][pair[0]][pair[1]] is not None
        ]
        assert pairs, platform
        # One after the other, so that each has its links for itself.
        asked = [
            (hosts[one], hosts[other], 668, 1000.0 * number)
            for number, (one, other) in enumerate(pairs)
        ]
        told = simgrid(platform, asked)
        for (one, other), (latency_s, end_s), (*_, start_s) in zip(pairs, told, asked, strict=True):
            assert found["latency_s"][one][other] == latency_s
            takes_s = latency_s + 668 / (found["bytes_per_s"][one][other] or math.inf)
            # The clock has so many digits at that time.
            assert end_s - start_s == pytest.approx(takes_s, rel=1e-9, abs=4e-11 * start_s / 1e3)


def test_published_figures_of_two_examples_come_out(own):
    found = platform_routes.ask(own("vivaldi"), HOSTS)
    assert found["latency_s"][0][1] == pytest.approx(46.298715e-3, rel=1e-7)
    if (EXAMPLES / "small_platform.xml").is_file():
        found = platform_routes.ask(EXAMPLES / "small_platform.xml", Wanted(("Fafard", "Tremblay")))
        assert found["latency_s"][1][0] == pytest.approx(1.976025e-3, rel=1e-9)
        takes_s = found["latency_s"][1][0] + 668 / found["bytes_per_s"][1][0]
        assert takes_s == pytest.approx(2.057908e-3, rel=1e-6)


@pytest.mark.parametrize("fidelity", ["hybrid", "flow"])
def test_a_datagram_over_fat_pipes_takes_what_simgrid_says(simgrid, own, fidelity):
    platform, names = own("pipes"), ("a", "b", "c")
    found = platform_routes.ask(platform, Wanted(names))
    assert found["shared"] == [[False] * 3] * 3
    pairs = list(itertools.permutations(range(3), 2))
    path = platform if fidelity == "flow" else None
    for (one, other), payload_bytes in itertools.product(pairs, (100, 60_000)):
        plan = between(path, names, found, fidelity=fidelity)
        plans.arrive(plan, 0.0, one, other, payload_bytes)
        trace = plans.run(plan)
        wire_bytes = plans.wire_bytes(int(trace.of("send").size_bytes[0]))
        ((_, end_s),) = simgrid(platform, [(names[one], names[other], wire_bytes, 0.0)])
        assert trace.time_of("process", other) == pytest.approx(end_s, rel=1e-9)


@pytest.mark.parametrize("fidelity", ["hybrid", "flow"])
def test_shared_links_are_divided_as_simgrid_divides_them(simgrid, own, fidelity):
    """Datagrams from north to south; answers go the other way, on the other half of each link."""
    platform, names = own("towns"), ("n1", "n2", "s1", "s2")
    found = platform_routes.ask(platform, Wanted(names))
    plan = between(platform, names, found, fidelity=fidelity)
    sent = [(0, 2, 50_000), (1, 3, 20_000), (0, 3, 30_000), (1, 2, 60_000), (0, 2, 100)]
    asked = []
    for number, (one, other, payload_bytes) in enumerate(12 * sent):
        start_s = 0.015 * number
        plans.arrive(plan, start_s, one, other, payload_bytes)
        asked.append((names[one], names[other], start_s))
    trace = plans.run(plan)
    sends = trace.of("send")
    sizes = [plans.wire_bytes(int(size)) for size in sends.size_bytes]
    order = sends.time_s.argsort(kind="stable")
    told = simgrid(
        platform,
        [
            (one, other, sizes[at], start_s)
            for at, (one, other, start_s) in zip(order, asked, strict=True)
        ],
    )
    processed = trace.of("process")
    arrived = dict(zip(processed.message, processed.time_s, strict=True))
    found_s = [arrived[sends.message[at]] for at in order]
    # On one way what entered before is never overtaken.
    latest, expected_s = {}, []
    for (one, other, _), (_, end_s) in zip(asked, told, strict=True):
        latest[one, other] = max(end_s, latest.get((one, other), 0.0))
        expected_s.append(latest[one, other])
    assert found_s == pytest.approx(expected_s, rel=1e-9)
    # Alone, the shortest would take 5 to 7 ms.
    took_s = [end_s - start_s for (_, end_s), (*_, start_s) in zip(told, asked, strict=True)]
    assert max(took_s) > 0.5


def test_sites_at_one_netpoint_take_its_way_to_itself(own):
    platform = own("towns")
    found = platform_routes.ask(platform, Wanted(("n1",)))
    plan = between(platform, ["n1"], found)
    plan["sites"]["capacity_bytes_per_s"] = [0.0, 0.0]
    plan["core"]["netpoint"] = [0, 0]
    for key in ("profile", "access", "role"):
        plan["phones"][key] = [0, 0]
    plan["phones"]["site"], plan["phones"]["first_index"] = [0, 1], [1, 1]
    plan["transport"] = plans.transport("udp", 2)
    plans.arrive(plan, 0.0, 0, 1)
    # SimGrid's loopback: 10 GB/s, no latency.
    assert 0 < plans.run(plan).time_of("process", 1) < 1e-6


@pytest.mark.parametrize("fidelity", ["hybrid", "flow"])
def test_what_is_relayed_goes_by_the_relays_netpoint(simgrid, own, fidelity):
    platform, names = own("towns"), ("n1", "n2", "s1", "s2")
    found = platform_routes.ask(platform, Wanted(names))
    plan = between(platform, names, found, fidelity=fidelity)
    plan["core"]["relay"] = 2
    plan["transport"] = plans.transport("quic_reconnect", 4, relay_first=True)
    plans.arrive(plan, 0.0, 0, 1)
    trace = plans.run(plan)
    ((there_s, _), (back_s, _)) = simgrid(platform, [("n1", "s1", 1, 0.0), ("s1", "n2", 1, 0.0)])
    # A handshake takes a round trip and a half.
    assert trace.time_of("process", 1) > 3 * (there_s + back_s)


@pytest.mark.parametrize("mode", ["udp", "quic_reconnect", "quic_keep"])
def test_all_that_crosses_shared_links_has_an_end(own, mode):
    """Phones with jitter and losses that come and go, on sites in both towns, and a relay."""
    platform, names = own("towns"), ("n1", "n2", "s1", "s2")
    found = platform_routes.ask(platform, Wanted(names))
    plan = plans.busy_town(22, 60, mode, quiet_s=200.0, duration_s=260.0)
    plan["core"] = {**core(found, names, platform), "netpoint": [0, 1, 2, 3, 0, 2], "relay": 3}
    plan["phones"]["site"] = [number % 6 for number in range(60)]
    plan["sites"]["capacity_bytes_per_s"] = [5e6, 9e6, 0.0, 9e6, 0.0, 1e6]
    trace = plans.run(plan)
    recount.check(trace, plan["duration_s"], nothing_left=True)
    sent, stored, _ = recount.recount(trace)
    assert len(stored) > 0.2 * len(sent) > 100
    again = plans.run(plan)
    assert again.data == trace.data
