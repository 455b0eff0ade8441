"""What joins sites: the section and its mistakes, platforms found, routes kept."""

import json

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario import core, platform_routes
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.platform_routes import Wanted
from pocketsim.sim.scenario.resolve import resolve
from support.simgrid_platforms import PIPES
from tools import platforms

HOSTS = Wanted(hosts=True)


def answer(wanted=HOSTS, hosts=("a", "b", "c"), *, shared=False, missing=False, wifi=False):
    """Return what SimGrid might say of a platform."""
    named = {*wanted.names, *(hosts if wanted.hosts else ())}
    between = [name for name in (*hosts, "middle") if name in named]
    size = range(len(between))
    return {
        "platform_sha256": "",
        "simgrid": "4.1",
        "hosts": list(hosts),
        "netpoints": [*hosts, "middle"],
        "between": between,
        "latency_s": [
            [None if missing and x != y else 0.001 * (x + y) for x in size] for y in size
        ],
        "bytes_per_s": [[1e6 for _ in size] for _ in size],
        "shared": [[shared for _ in size] for _ in size],
        "wifi": [[wifi for _ in size] for _ in size],
    }


@pytest.fixture
def with_core(scenario, tmp_path, monkeypatch):
    """Return who writes a scenario with a core, beside a platform; SimGrid counts who asks it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "pipes.xml").write_text(PIPES)
    library = tmp_path / "_simgrid.so"
    library.touch()
    asked = []

    def ask(platform, wanted):
        asked.append(wanted)
        told = answer(wanted, **write.changes)
        return {**told, "platform_sha256": platform_routes.digest(platform)}

    monkeypatch.setattr(platform_routes, "ask", ask)
    for module in (platform_routes, core):
        monkeypatch.setattr(module, "simgrid_file", lambda: library)

    def write(section, **changes):
        write.changes = changes
        scenario.write_text(f"{scenario.read_text()}\n[network.core]\n{section}\n")
        return scenario

    write.asked, write.library, write.changes = asked, library, {}
    return write


def resolved(path, *overrides):
    return resolve(load(path, overrides))[0].resolved["network"]


def test_a_document_without_a_core_has_none_resolved(scenario):
    assert "core" not in resolved(scenario)


def test_one_line_is_enough(with_core):
    found = resolved(with_core('platform = "netherlands"'))["core"]
    assert found["platform"] == "netherlands.xml"
    assert not found["shared"]
    assert "relay" not in found
    attach = found["attach"]["home_wifi"]
    assert attach["netpoints"][:2] == ["amsterdam", "rotterdam"]
    assert attach["weights"][:2] == [935_793.0, 672_330.0]
    assert with_core.asked == []


@pytest.mark.parametrize(
    ("attach", "expected"),
    [
        ("", {"netpoints": ["a", "b", "c"]}),
        ('attach = "round_robin"', {"netpoints": ["a", "b", "c"]}),
        ('attach = ["c", "middle"]', {"netpoints": ["c", "middle"]}),
        ('attach = { home_wifi = ["b"] }', {"netpoints": ["b"]}),
        ('attach = { home_wifi = "round_robin" }', {"netpoints": ["a", "b", "c"]}),
        (
            "attach = { home_wifi = { b = 1, a = 3.5 } }",
            {"netpoints": ["b", "a"], "weights": [1.0, 3.5]},
        ),
        ("attach = {}", {"netpoints": ["a", "b", "c"]}),
    ],
)
def test_rules_say_which_netpoints_sites_are_at(with_core, attach, expected):
    path = with_core(f'platform = "pipes.xml"\n{attach}')
    assert resolved(path)["core"]["attach"] == {"home_wifi": expected}


def test_a_table_beside_the_platform_gives_weights(with_core, tmp_path):
    (tmp_path / "pipes.csv").write_text("netpoint,weight\nc,2\na,6\n")
    found = resolved(with_core('platform = "pipes.xml"\nrelay = "b"'))["core"]
    # Names have no order of their own in a table.
    assert dict(zip(*found["attach"]["home_wifi"].values(), strict=True)) == {"c": 2.0, "a": 6.0}
    assert found["relay"] == "b"


@pytest.mark.parametrize(
    ("section", "place", "reason", "suggestion"),
    [
        ('platform = "netherland"', "network.core.platform", "there is netherlands", "netherlands"),
        ('platform = "pipe.xml"', "network.core.platform", "no such file", "pipes.xml"),
        ("", "network.core.platform", "is required", None),
        ('platform = "pipes.xml"\nrelays = "a"', "network.core.relays", "unknown key", "relay"),
        ('platform = "pipes.xml"\nattach = "robin"', "network.core.attach", "must be one of", None),
        ('platform = "pipes.xml"\nattach = []', "network.core.attach", "at least one", None),
        ('platform = "pipes.xml"\nattach = ["a", "a"]', "network.core.attach", "once", None),
        ('platform = "pipes.xml"\nattach = 3', "network.core.attach", "must be one of", None),
        (
            'platform = "pipes.xml"\nattach = { wifi = ["a"] }',
            "network.core.attach.wifi",
            "there is home_wifi",
            "home_wifi",
        ),
        (
            'platform = "pipes.xml"\nattach = { home_wifi = { a = -1 } }',
            "network.core.attach",
            "home_wifi: weights are 0 or more",
            None,
        ),
        (
            'platform = "pipes.xml"\nattach = ["midle"]',
            "network.core.attach",
            "has no host or router 'midle'",
            "middle",
        ),
        (
            'platform = "pipes.xml"\nrelay = "d"',
            "network.core.relay",
            "has no host or router 'd'",
            None,
        ),
        (
            'platform = "pipes.xml"\nattach = "weighted"',
            "network.core.attach",
            "takes a table pipes.csv beside pipes.xml",
            "round_robin",
        ),
    ],
)
def test_mistakes_are_told_with_their_place(with_core, section, place, reason, suggestion):
    with pytest.raises(ScenarioError) as caught:
        load(with_core(section))
    assert caught.value.key_path == place
    assert reason in caught.value.reason
    if suggestion is not None:
        assert str(caught.value.suggestion).endswith(suggestion)


@pytest.mark.parametrize(
    ("before", "section", "place"),
    [
        ("backbone_latency", 'platform = "pipes.xml"', "network.backbone_latency"),
        ("relay_latency", 'platform = "pipes.xml"\nrelay = "a"', "network.relay_latency"),
    ],
)
def test_nothing_is_said_twice(with_core, before, section, place):
    with pytest.raises(ScenarioError, match="leave one of the two out") as caught:
        load(with_core(section), [f"network.{before}=1ms"])
    assert caught.value.key_path == place


def test_routes_are_asked_for_between_all_that_rules_name(with_core):
    found = resolved(with_core('platform = "pipes.xml"\nrelay = "middle"'))["core"]
    assert found["attach"]["home_wifi"] == {"netpoints": ["a", "b", "c"]}
    assert found["relay"] == "middle"
    assert with_core.asked == [Wanted(("middle",), hosts=True)]


def test_the_relay_may_be_as_far_from_all_sites(with_core):
    assert resolved(with_core('platform = "pipes.xml"'), "network.relay_latency=9ms")["core"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"missing": True}, "has no route from a to b"),
        ({"wifi": True}, "has a link of Wi-Fi from a to a"),
    ],
)
def test_a_platform_that_does_not_join_what_is_used_is_refused(with_core, changes, reason):
    with pytest.raises(ScenarioError, match=reason):
        load(with_core('platform = "pipes.xml"', **changes))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("platform", "is not XML"),
        ("<scenario/>", "its root is 'scenario'"),
        (PIPES.replace('id="la"', 'id="la" latency_file="l.txt"'), "change with time"),
        (PIPES.replace("</zone>", '<trace_connect kind="LATENCY"/></zone>'), "change with time"),
    ],
)
def test_what_is_no_platform_is_refused(with_core, tmp_path, text, reason):
    (tmp_path / "pipes.xml").write_text(text)
    with pytest.raises(ScenarioError, match=reason):
        load(with_core('platform = "pipes.xml"'))


def test_simgrid_is_asked_once_for_one_content(with_core, tmp_path):
    path = with_core('platform = "pipes.xml"')
    one, other = resolved(path)["core"], resolved(path)["core"]
    assert one == other
    assert with_core.asked == [HOSTS]
    (tmp_path / "pipes.xml").write_text(PIPES.replace("9ms", "8ms"))
    assert resolved(path)["core"]["digest"] != one["digest"]
    assert with_core.asked == [HOSTS, HOSTS]
    (tmp_path / "pipes.xml").write_text(PIPES)
    assert resolved(path)["core"] == one
    assert with_core.asked == [HOSTS, HOSTS]


def test_a_file_of_routes_beside_the_platform_spares_simgrid(with_core, tmp_path):
    path = with_core('platform = "pipes.xml"')
    platform = tmp_path / "pipes.xml"
    told = {**answer(), "platform_sha256": platform_routes.digest(platform)}
    (tmp_path / "pipes.routes.json").write_text(platform_routes.text(told))
    with_core.library.unlink()
    assert resolved(path)["core"]
    assert with_core.asked == []


def test_without_simgrid_it_says_what_to_do(with_core):
    path = with_core('platform = "pipes.xml"')
    with_core.library.unlink()
    with pytest.raises(ScenarioError, match="run `make simgrid` once") as caught:
        load(path)
    assert (caught.value.exit_code, caught.value.suggestion) == (2, "netherlands")
    assert with_core.asked == []


def test_shared_links_need_simgrid_in_each_run(with_core):
    path = with_core('platform = "pipes.xml"', shared=True)
    rung = resolve(load(path))[0].resolved
    assert rung["network"]["core"]["shared"]
    assert rung["versions"]["simgrid"] == "4.1"
    assert rung["engine_options"]["network/TCP-gamma"] == "0"
    with pytest.raises(ScenarioError, match="links of the platform are shared"):
        load(path, ["run.contention=false"])
    with_core.library.unlink()
    with pytest.raises(ScenarioError, match="links that flows share"):
        load(path)


def test_routes_that_have_changed_are_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(platform_routes.text(answer()))
    with pytest.raises(ScenarioError, match="has changed since the run was resolved"):
        platform_routes.again(path, "0" * 64)


def test_routes_read_back_as_they_are_kept():
    told = answer()
    assert json.loads(platform_routes.text(told)) == told


def test_shipped_platforms_are_what_their_tool_writes():
    folder = platform_routes.PLATFORMS
    assert platform_routes.shipped() == ["netherlands"]
    made = platforms.platform_of("netherlands", platforms.NETHERLANDS)
    assert (folder / "netherlands.xml").read_text() == made
    assert (folder / "netherlands.csv").read_text() == platforms.weights_of(platforms.NETHERLANDS)


@pytest.mark.engine
def test_routes_of_shipped_platforms_are_those_that_simgrid_finds():
    for name in platform_routes.shipped():
        path = platform_routes.PLATFORMS / f"{name}.xml"
        found = platform_routes.text(platform_routes.ask(path, HOSTS))
        assert path.with_name(f"{name}.routes.json").read_text() == found


def test_shipped_round_trips_are_those_of_the_rule():
    path = platform_routes.PLATFORMS / "netherlands.xml"
    routes = platform_routes.known(path, HOSTS, path)
    at = dict(zip(routes.between, range(len(routes.between)), strict=True))
    round_trip_ms = {
        pair: 2e3 * routes.latency_s[at[pair[0]]][at[pair[1]]]
        for pair in (("groningen", "eindhoven"), ("groningen", "rotterdam"), ("zwolle", "zwolle"))
    }
    expected = {("groningen", "eindhoven"): 6.54, ("groningen", "rotterdam"): 6.35}
    expected["zwolle", "zwolle"] = 2.2
    assert round_trip_ms == pytest.approx(expected, abs=0.005)
