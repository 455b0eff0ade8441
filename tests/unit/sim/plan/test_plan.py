import ast
import hashlib
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest

from pocketsim.sim.base.engine_facts import OPTIONAL, operations
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan import build_plan as building
from pocketsim.sim.plan import plan as typed
from pocketsim.sim.plan.churn import Lognormal, Transitions, Weibull, on_share
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.scenario.resolved import canonical_json
from support import engine_plans as plans
from support import typed_sections
from support.who_is_on import is_on


@pytest.fixture
def town(root):
    def resolved(*overrides):
        path = root / "tests/support/1k_churn.toml"
        settings = ["devices[0].count=60", "devices[1].count=40", *overrides]
        return resolve(load(path, settings))[0].resolved

    return resolved


def build_plan(*arguments):
    return plans.lists(building.build_plan(*arguments))


def plain(plan):
    return hashlib.sha256(canonical_json(plan).encode()).hexdigest()


def rust_structs(root):
    """Return the names and types of the fields of each struct of the engine's plan."""
    files = sorted((root / "sim/engine/src/plan").glob("*.rs"))
    source = "\n".join(path.read_text() for path in files)
    structs = re.findall(r"pub struct (\w+) \{(.*?)\n\}", source, re.DOTALL)
    return {name: dict(re.findall(r"pub (\w+): (.*),", body)) for name, body in structs}


def python_sections(root):
    """Return the same of the typed plan, those included that it has from the resolved scenario."""
    found = {}
    resolved = ("resolved", "resolved_measures")
    documents = [f"pocketsim/sim/scenario/{name}.py" for name in resolved]
    for path in ("pocketsim/sim/plan/plan.py", *documents):
        tree = ast.parse((root / path).read_text())
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
                types = {field.target.id: ast.unparse(field.annotation) for field in fields}
                found.setdefault(node.name, types)
    return found


IN_RUST = {
    "int": {"u32", "u64"},
    "float": {"f64", "Seconds"},
    "str": {"String"},
    "bool": {"bool"},
    "Floats": {"Vec<f64>"},
    "Numbers": {"Vec<u32>"},
    "Counts": {"Vec<u64>"},
    "Flags": {"Vec<bool>"},
    "MachineOptions": {"TransportConfig"},
    "EvaValues": {"EvaConfig"},
}


def rust_types(kind):
    """Return what a field's type may be in Rust."""
    if kind.endswith(" | None"):
        return {f"Option<{inner}>" for inner in rust_types(kind.removesuffix(" | None"))}
    if kind.startswith("list["):
        return {f"Vec<{inner}>" for inner in rust_types(kind[len("list[") : -1])}
    return IN_RUST.get(kind, {kind})


def test_plan_types_match_the_engine(root):
    rust, python = rust_structs(root), python_sections(root)
    assert set(rust) <= set(python)
    for name, fields in rust.items():
        assert set(fields) == set(python[name]), name
        for field, kind in fields.items():
            assert kind in rust_types(python[name][field]), f"{name}.{field}"


def test_built_plan_matches_its_types(root, scenario, town):
    paths = ("tokens/market", "eva/window", "tokens/sign_and_verify")
    shipped = [
        resolve(load(root / f"pocketsim/scenarios/{path}.toml"))[0].resolved for path in paths
    ]
    for resolved in (resolve(load(scenario))[0].resolved, town(), *shipped):
        plan = building.build_plan(resolved, 0)
        typed_sections.check(plan, typed.Plan, typed_sections.PLAN, "plan")


@pytest.mark.engine
def test_missing_and_unknown_options_are_refused():
    plan = plans.plan(2)
    options = plan["transport"]["options"]
    for changed, reason in (
        ({**options, "keep_alive_ms": 1.0}, "unknown field `keep_alive_ms`"),
        ({name: options[name] for name in options if name != "keep_alive_s"}, "`keep_alive_s`"),
    ):
        transport = {**plan["transport"], "options": changed}
        with pytest.raises(AssertionError, match=reason):
            plans.run({**plan, "transport": transport})


def test_value_beyond_a_column_type_is_refused():
    for value in (2**32, -1):
        with pytest.raises(AssertionError, match="does not fit"):
            typed.numbers(np.array([value]))
    with pytest.raises(AssertionError):
        typed.numbers(np.array([0.5]))


def test_powers_stand_by_the_numbers_of_networks_and_links(root):
    market = resolve(load(root / "pocketsim/scenarios/tokens/market.toml"))[0].resolved
    plan = build_plan(market, 0)
    # In order of their names: lte, office, wifi; ble, nfc, wifi_direct.
    assert [radio["tail_s"] for radio in plan["energy"]["access"]] == [11.576, 0.0, 0.2381]
    assert [network["latency_s"] for network in plan["access"]] == [0.01, 0.001, 0.001]
    assert plan["energy"]["contact_w"] == [0.0459, 0.0459, 0.13286]
    assert [link["latency_s"] for link in plan["proximity"]["links"]] == [0.03, 0.01, 0.003]
    assert plan["energy"]["core_w"] == 1.6


def test_without_powers_the_plan_asks_for_no_energy(town):
    assert build_plan(town(), 0)["energy"] is None


def test_sender_loop_sleeps_one_over_the_rate(scenario):
    resolved = resolve(load(scenario, ["workload.rate=8/s", "workload.start=500ms"]))[0].resolved
    (loop,) = build_plan(resolved, 0)["workload"]["loops"]
    assert loop["interval_s"] == 0.125
    assert (loop["start_s"], loop["duration_s"]) == (0.5, 1.5)


def with_overshoot(resolved, **law):
    """Return `resolved` with another law of sleep overshoot for its first phone."""
    name = resolved["devices"][0]["profile"]
    profile = resolved["profiles"][name]
    numbers = {key: {"value": value, "standard_error": 0.0} for key, value in law.items()}
    scheduler = {"sleep_overshoot": numbers}
    return {**resolved, "profiles": {name: {**profile, "scheduler": scheduler}}}


@pytest.mark.parametrize(
    ("rate", "base", "slope", "expected"),
    [
        ("1000/s", 1e-3, 5e-4, 1e-3),  # a sleep of 1 ms: the base alone
        ("8/s", 1e-3, 5e-4, 1e-3 + 5e-4 * math.log(125)),
        ("8/s", 1e-3, 0.0, 1e-3),
        ("1500/s", 1e-4, 1e-3, 0.0),  # 0.68 ms would give less than none
    ],
)
def test_sleeps_overshoot_by_base_and_slope(scenario, rate, base, slope, expected):
    settings = [f"workload.rate={rate}", "workload.pacing=batch_1024ms"]
    if rate != "1500/s":
        settings.pop()
    resolved = resolve(load(scenario, settings))[0].resolved
    law = {"base_s": base, "slope_s": slope, "spread_sigma": 0.25, "repetition_sigma": 0.0}
    (loop,) = build_plan(with_overshoot(resolved, **law), 0)["workload"]["loops"]
    assert loop["overshoot_s"] == pytest.approx(expected)
    assert loop["overshoot_sigma"] == 0.25


def test_a_repetition_shares_one_factor_on_overshoots(scenario):
    law = {"base_s": 1e-3, "slope_s": 5e-4, "spread_sigma": 0.0, "repetition_sigma": 0.1}

    def overshoots_s(*settings):
        resolved = resolve(load(scenario, ["workload.rate=8/s", *settings]))[0].resolved
        varied = with_overshoot(resolved, **law)
        loops = [build_plan(varied, number)["workload"]["loops"][0] for number in range(200)]
        return np.array([loop["overshoot_s"] for loop in loops])

    factors = overshoots_s() / (1e-3 + 5e-4 * math.log(125))
    assert factors.mean() == pytest.approx(1, abs=4 * 0.1 / math.sqrt(200))
    assert np.log(factors).std() == pytest.approx(0.1, rel=0.2)
    # Transports are compared on the same day; another rung is another start of the app.
    assert (overshoots_s("transport.mode=quic_keep") == overshoots_s()).all()
    assert (overshoots_s("workload.payload=200B") != overshoots_s()).all()


# What an operation takes that a profile leaves out.
_NOTHING = {"cpu_s": 0, "per_byte_s": 0, "wait_s": 0, "threads": 1, "spread_sigma": 0}


def test_costs_reach_the_engine_in_its_order(scenario):
    resolved = resolve(load(scenario, ["run.draw=mean"]))[0].resolved
    (columns,) = build_plan(resolved, 0)["profiles"]
    (profile,) = resolved["profiles"].values()
    own = {cost["step"]: cost for cost in resolved["implementation"]["own_costs"].values()}
    for at, name in enumerate(operations()):
        cost = own[name] if name in own else profile["operations"].get(name, _NOTHING)
        # The implementation of this scenario has no files, and says nothing of them.
        assert cost is not _NOTHING or name in {*OPTIONAL, "file_open"}
        for key in ("cpu_s", "per_byte_s", "wait_s", "threads", "spread_sigma"):
            assert columns[key][at] == cost[key]


def test_cost_factors_scale_one_group(scenario):
    factor = '{value=2.0, standard_error=0.1, basis="assumed", source="a slow day"}'
    settings = [f"devices[0].cost_factors={{store={factor}}}"]
    was, now = (
        build_plan(resolve(load(scenario, changes))[0].resolved, 0)["profiles"][0]
        for changes in ([], settings)
    )
    for number, name in enumerate(operations()):
        for key in ("cpu_s", "per_byte_s", "wait_s"):
            assert now[key][number] == (2 if name == "store" else 1) * was[key][number]


def factor_of(value, own_cost="lookup"):
    one = f'{{value={value}, standard_error=0.1, basis="assumed", source="another day"}}'
    return f"cost_factors={{store={one}, {own_cost}={one}}}"


def as_phones_see_it(plan):
    """Return a plan with each phone's profile in the place of its number in a list."""
    profiles = [plan["profiles"][number] for number in plan["phones"]["profile"]]
    return {**plan, "profiles": profiles, "phones": {**plan["phones"], "profile": None}}


@pytest.mark.parametrize("draw", ["mean", "posterior"])
@pytest.mark.parametrize("mode", ["udp", "quic_keep"])
def test_a_factor_of_one_changes_nothing(scenario, town, draw, mode):
    settings = [f"run.draw={draw}", f"transport.mode={mode}"]
    was, now = (
        build_plan(resolve(load(scenario, [*settings, *changes]))[0].resolved, 2)
        for changes in ([], [f"devices[0].{factor_of(1.0)}"])
    )
    assert now == was
    # Of two groups with one profile, one gets a profile of its own.
    was, now = (
        build_plan(town(f"run.draw={draw}", "devices[1].profile=moto_g04s", *changes), 1)
        for changes in ([], [f"devices[1].{factor_of(1.0, 'iroh_discovery')}"])
    )
    assert as_phones_see_it(now) == as_phones_see_it(was)


def test_draws_of_a_profile_do_not_depend_on_other_groups(town):
    names = ("moto_g04s", "pocophone_f1", "thinkpad_l13")
    first, second, third = (
        f"{{ profile = '{name}', count = 2, access = 'wifi' }}" for name in names
    )

    def drawn(*groups):
        resolved = town("run.draw=posterior", f"devices=[{', '.join(groups)}]")
        profiles = build_plan(resolved, 0)["profiles"]
        return dict(zip(sorted(resolved["profiles"]), profiles, strict=True))

    alone = drawn(first, second)
    for among in (drawn(second, first), drawn(third, first, second, first)):
        assert {name: among[name] for name in names[:2]} == alone


def test_a_factor_scales_what_is_drawn(scenario):
    """The same draw of the cost, times the factor: it neither moves nor widens it otherwise."""
    was, now = (
        build_plan(resolve(load(scenario, ["run.draw=posterior", *changes]))[0].resolved, 0)
        for changes in ([], [f"devices[0].{factor_of(3.0)}"])
    )
    at = operations().index("discovery")
    for key in ("cpu_s", "wait_s"):
        assert now["profiles"][0][key][at] == pytest.approx(3 * was["profiles"][0][key][at])


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(
    "flag",
    ["answer_on_same_connection", "answer_on_same_stream", "ack_bundling", "path_management"],
)
def test_quic_flags_reach_the_engine(scenario, flag, same):
    setting = f"transport.{flag}={str(same).lower()}"
    resolved = resolve(load(scenario, [setting]))[0].resolved
    assert build_plan(resolved, 0)["transport"]["options"][flag] is same


def test_an_unlimited_log_is_the_largest_number(scenario):
    assert build_plan(resolve(load(scenario))[0].resolved, 0)["trace"]["log_capacity"] == 2**64 - 1
    limited = resolve(load(scenario, ["protocol.benchmark_log_entries=10000"]))[0].resolved
    assert build_plan(limited, 0)["trace"]["log_capacity"] == 10000


PROCESSES = """
[[devices]]
profile = "moto_g04s"
count = 2
access = "home_wifi"
computer = "bench"
"""


def test_groups_that_name_a_computer_use_the_cores_of_its_first_phone(scenario):
    scenario.write_text(scenario.read_text().replace("[network.", PROCESSES + "\n[network.", 1))
    second = resolve(load(scenario))[0].resolved
    assert build_plan(second, 0)["phones"]["cores_of"] == [0, 1, 2, 2]
    both = resolve(load(scenario, ["devices[0].computer=bench"]))[0].resolved
    assert build_plan(both, 0)["phones"]["cores_of"] == [0, 0, 0, 0]
    apart = resolve(load(scenario, ["devices[0].computer=other"]))[0].resolved
    assert build_plan(apart, 0)["phones"]["cores_of"] == [0, 0, 2, 2]


def test_without_a_computer_each_phone_has_its_own_cores(scenario):
    resolved = resolve(load(scenario))[0].resolved
    assert build_plan(resolved, 0)["phones"]["cores_of"] == []
    assert "computer" not in resolved["devices"][0]  # documents without one are as they were


@pytest.mark.parametrize(
    ("changes", "place", "reason"),
    [
        (["run.fidelity=flow"], "devices[1].computer", "cores of its own"),
        (
            ["devices[0].computer=bench", "devices[1].profile=thinkpad_l13"],
            "devices[1].profile",
            "bench is a moto_g04s already",
        ),
    ],
)
def test_a_computer_is_one_device_of_the_hybrid_world(scenario, changes, place, reason):
    scenario.write_text(scenario.read_text().replace("[network.", PROCESSES + "\n[network.", 1))
    with pytest.raises(ScenarioError, match=reason) as refused:
        load(scenario, changes)
    assert refused.value.key_path == place


def test_first_index_reaches_the_plan(scenario):
    resolved = resolve(load(scenario))[0].resolved
    assert build_plan(resolved, 0)["phones"]["first_index"] == [1, 1]
    assert build_plan(resolved, 0, [5, 6])["phones"]["first_index"] == [5, 6]
    with pytest.raises(ValueError, match="1 entries for 2 phones"):
        build_plan(resolved, 0, [5])


def test_repetitions_differ_and_repeat(town):
    resolved = town()
    assert plain(build_plan(resolved, 0)) == plain(build_plan(resolved, 0))
    assert plain(build_plan(resolved, 0)) != plain(build_plan(resolved, 1))


def test_mean_and_posterior_share_arrivals(town):
    mean, posterior = build_plan(town(), 0), build_plan(town("run.draw=posterior"), 0)
    assert mean["workload"] == posterior["workload"]
    assert mean["profiles"] != posterior["profiles"]


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_another_process_builds_the_same_plan(root, hash_seed):
    code = (
        "from support import engine_plans;import hashlib;"
        "from pocketsim.sim.plan.build_plan import build_plan;"
        "from pocketsim.sim.scenario.load import load;"
        "from pocketsim.sim.scenario.resolve import resolve;"
        "from pocketsim.sim.scenario.resolved import canonical_json;"
        "r=resolve(load('tests/support/1k_churn.toml'))[0].resolved;"
        "plan=canonical_json(engine_plans.lists(build_plan(r,3)));"
        "print(hashlib.sha256(plan.encode()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{root}:{root / 'tests'}", "PYTHONHASHSEED": hash_seed},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    resolved = resolve(load(root / "tests/support/1k_churn.toml"))[0].resolved
    assert done.stdout.strip() == plain(build_plan(resolved, 3))


def test_a_plan_from_resolved_json_is_the_same(town):
    resolved = town()
    reloaded = json.loads(canonical_json(resolved))
    assert plain(build_plan(reloaded, 0)) == plain(build_plan(resolved, 0))


def by_phone(plan):
    """Return each phone's transitions and proposals, the latter without the counterparty."""
    rows = {}
    for time_s, phone, on in zip(*plan["churn"].values(), strict=True):
        rows.setdefault(phone, []).append((time_s, on))
    work = plan["workload"]
    for time_s, phone, to in zip(work["time_s"], work["from_phone"], work["to_phone"], strict=True):
        rows.setdefault(phone, []).append((time_s, to))
    return rows


def test_a_phone_added_at_the_end_reshuffles_nothing(town):
    few, more = build_plan(town(), 0), build_plan(town("devices[1].count=41"), 0)
    for key in ("access", "profile", "first_index"):
        assert more["phones"][key][:100] == few["phones"][key]
    before, after = by_phone(few), by_phone(more)
    for phone, rows in before.items():
        kept = after[phone]
        assert [row[0] for row in kept] == [row[0] for row in rows]
        # A proposal keeps its counterparty or goes to the new phone.
        assert all(new == old or new[1] == 100 for old, new in zip(rows, kept, strict=True))


def test_a_phone_added_to_the_first_group_leaves_the_second_alone(town):
    few, more = build_plan(town(), 0), build_plan(town("devices[0].count=61"), 0)
    before, after = by_phone(few), by_phone(more)
    for phone in range(60, 100):
        was = [row[0] for row in before.get(phone, [])]
        assert [row[0] for row in after.get(phone + 1, [])] == was


def test_another_rate_keeps_churn(town):
    assert build_plan(town(), 0)["churn"] == build_plan(town("workload.rate=1/s"), 0)["churn"]


def test_arrivals_on_or_off_and_never_to_oneself(town):
    plan = build_plan(town("workload.rate=1/s"), 0)
    work, churn = plan["workload"], plan["churn"]
    assert work["time_s"] == sorted(work["time_s"])
    assert churn["time_s"] == sorted(churn["time_s"])
    assert all(
        one != other for one, other in zip(work["from_phone"], work["to_phone"], strict=True)
    )
    assert set(work["to_phone"]) <= set(range(100))
    state = {}
    for _, phone, on in zip(*churn.values(), strict=True):
        assert state.get(phone, True) != on  # transitions alternate
        state[phone] = on
    changes = Transitions(*(np.array(column) for column in churn.values()))
    on = is_on(changes, np.array(work["from_phone"]), np.array(work["time_s"]))
    assert 0.05 < on.mean() < 0.95  # the engine counts those of phones that are off


def test_poisson_counts(town):
    resolved = {**town("workload.rate=1/s"), "churn": None}
    counts = np.bincount(build_plan(resolved, 0)["workload"]["from_phone"], minlength=100)
    assert counts.mean() == pytest.approx(600, abs=4 * math.sqrt(6))
    assert counts.var() == pytest.approx(600, rel=0.6)
    peers = np.bincount(build_plan(resolved, 0)["workload"]["to_phone"], minlength=100)
    assert peers.var() == pytest.approx(600, rel=0.6)


def test_churn_is_stationary(town):
    resolved = town("devices[0].count=6000", "devices[1].count=4000", "workload.rate=1/h")
    share = on_share(resolved["churn"])
    churn = build_plan(resolved, 0)["churn"]
    changes = Transitions(*(np.array(churn[key]) for key in ("time_s", "phone", "on")))
    phones = np.arange(10_000)
    for time_s in (0.0, 100.0, 599.0):
        on = is_on(changes, phones, np.full(phones.size, time_s + 1e-9))
        assert on.mean() == pytest.approx(share, abs=4 * math.sqrt(share / 10_000))


@pytest.mark.parametrize(
    "law",
    [
        Weibull(0.6, 100, math.inf),
        Weibull(1.0, 50, 80),
        Lognormal(60, 0.8, math.inf),
        Lognormal(484, 2, 5e4),
    ],
)
def test_lengths_against_numerical_integration(law):
    share = (np.arange(400_000) + 0.5) / 400_000
    lengths = law.quantile(share)
    assert lengths.max() <= law.longest_s * (1 + 1e-9)
    assert law.mean_s() == pytest.approx(lengths.mean(), rel=0.01)
    # The median of an interval met at random: half of all time lies in shorter ones.
    time = np.cumsum(lengths) / lengths.sum()
    median = lengths[np.searchsorted(time, 0.5)]
    assert law.length_biased_quantile(np.array([0.5]))[0] == pytest.approx(median, rel=0.02)


def test_is_on_against_a_ten_line_model():
    generator = np.random.default_rng(1)
    changes = Transitions(
        np.sort(generator.random(50)), generator.integers(0, 5, 50), generator.random(50) < 0.5
    )
    phones, times = generator.integers(0, 7, 300), generator.random(300)
    expected = []
    for phone, time_s in zip(phones, times, strict=True):
        state = True
        for at, who, on in zip(changes.time_s, changes.phone, changes.on, strict=True):
            state = on if who == phone and at <= time_s else state
        expected.append(state)
    assert is_on(changes, phones, times).tolist() == expected


def test_sites_fill_up_per_network(town):
    plan = build_plan(town(), 0)
    sizes = np.bincount(plan["phones"]["site"])
    access = np.array(plan["phones"]["access"])
    site = np.array(plan["phones"]["site"])
    networks = ["lte", "wifi"]  # sorted
    for number, per_site in ((networks.index("wifi"), 2), (networks.index("lte"), 100)):
        of_network = sizes[np.unique(site[access == number])]
        assert of_network.max() <= per_site
        assert (of_network[:-1] == per_site).all()
    assert len(plan["sites"]["capacity_bytes_per_s"]) == sizes.size


def test_kept_connections_follow_the_implementation(town):
    kept = ("transport.mode=quic_keep", "transport.app_faults=true")
    plan = build_plan(town("devices[0].count=6000", "devices[1].count=4000", *kept), 0)
    dial_s = np.array(plan["transport"]["duplicate_dial_s"])
    break_s = np.array(plan["transport"]["connection_break_s"])
    law = town()["implementation"]["quic_keep"]["kept_connection"]
    dials_s = dial_s[np.isfinite(dial_s)]
    chance = law["duplicate_dial_probability"]["value"]
    assert dials_s.size / dial_s.size == pytest.approx(chance, abs=0.02)
    window = law["duplicate_dial_window_s"]
    assert ((window["from"] <= dials_s) & (dials_s <= window["to"])).all()
    rate_per_s = law["break_rate_per_s"]["value"]
    assert (1 / break_s.mean()) == pytest.approx(rate_per_s, rel=0.06)
