import json
import re
from pathlib import Path

import pytest

from pocketsim.api.documents.catalog import document_file
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario import schema
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.scenario.resolved import digest
from support import mistakes

SHIPPED = sorted((Path(__file__).parents[4] / "pocketsim/scenarios").glob("*/*.toml"))

FACTOR = "count = 2\ncost_factors = {%s = {value=2, source='x', %s}}"

# One row per kind of mistake: what is replaced, by what, then key path, reason, suggestion.
MISTAKES = [
    ("payload =", "paylaod =", "workload.paylaod", "unknown key", "payload"),
    ("[workload]", "[wrokload]", "wrokload", "unknown key", "workload"),
    ("seed = 7\n", "", "run.seed", "is required", None),
    ("seed = 7", "seed = -7", "run.seed", "greater than or equal to 0", None),
    ("seed = 7", "seed = 7.5", "run.seed", "must be a whole number, not 7.5", None),
    ("seed = 7", 'seed = "7"', "run.seed", "must be a whole number, not '7'", None),
    ("seed = 7", "seed = true", "run.seed", "must be a whole number, not True", None),
    ('"2s"', "2", "run.duration", "no unit; a duration takes ns us ms s min h d", None),
    ('"2s"', '"2B"', "run.duration", "is a size", None),
    ('"2s"', '"-2s"', "run.duration", "is negative", None),
    ('"2s"', '"1e9d"', "run.duration", "more than the largest duration", None),
    ('"2s"', '"0s"', "run.duration", "must be more than zero", None),
    ('"2s"', '"nan s"', "run.duration", "not finite", None),
    ('"udp"', '"upd"', "transport.mode", "must be one of udp, quic_reconnect", "udp"),
    ('"udp"', "[]", "transport.mode", "empty list", None),
    ('"paced"', '"pased"', "workload.kind", "must be one of paced, poisson", "paced"),
    ('kind = "paced"\n', "", "workload.kind", "is required", None),
    ('"4/s", "8/s"', '"4/s", "8"', "workload.rate[1]", "no unit; a rate takes", None),
    ('"4/s", "8/s"', '"2000/s"', "workload", "floors to a sleep of 0 ms", None),
    ('payload = "100B"', 'payload = "1.5B"', "workload.payload", "whole number of bytes", None),
    ('"home_wifi"', '"home_wfi"', "devices[0].access", "no [network.access.home_wfi]", "home_wifi"),
    ('"home_wifi"', "{home_wifi = 0.5}", "devices[0]", "add up to 0.5", None),
    ('"moto_g04s"', '"moto_g04"', "devices[0].profile", "no device 'moto_g04'", "moto_g04s"),
    ('"moto_g04s"', '"own.toml"', "devices[0].profile", "no such file", None),
    (
        "count = 2",
        FACTOR % ("stor", 'standard_error=1, basis="assumed"'),
        "devices[0].cost_factors.stor",
        "neither an operation nor a cost of",
        "store",
    ),
    (
        "count = 2",
        FACTOR % ("store", 'standard_error=1, basis="fitted"'),
        "devices[0].cost_factors.store",
        "needs fitted_to",
        None,
    ),
    (
        "count = 2",
        FACTOR % ("store", 'basis="assumed"'),
        "devices[0].cost_factors.store.standard_error",
        "is required",
        None,
    ),
    ("count = 2", "count = 1", "devices", "at least 2 phones", None),
    ("count = 2", "count = 0", "devices[0].count", "greater than or equal to 1", None),
    ("[run]", "[run", "line 4, column 5", "not TOML", None),
    ('payload = "100B"', 'payload = "100B"\nstart = "9s"', "workload.start", "not before", None),
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(tmp_path, scenario_text, mistake):
    mistakes.check(tmp_path, scenario_text, mistake)


def test_missing_file_suggests_its_neighbour(scenario):
    with pytest.raises(ScenarioError, match=r"smal\.toml: no such file \(did you mean .*small"):
        load(scenario.with_name("smal.toml"))


def test_scenario_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_bytes(b"title = '\xff'")
    with pytest.raises(ScenarioError, match="not UTF-8"):
        load(path)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("workload.rate=16/s", [16.0]),
        ('workload.rate=["1/s", "2/s"]', [1.0, 2.0]),
        ("workload.rate=[1/s, 2/s]", [1.0, 2.0]),
    ],
)
def test_override_replaces_a_list(scenario, override, expected):
    rungs = resolve(load(scenario, [override]))
    assert [rung.resolved["rung"]["rate_per_s"] for rung in rungs] == expected


def test_overrides_reach_lists_and_new_tables(scenario):
    settings = ["devices[0].count=5", "output.trace=sampled", "transport.relay_first=false"]
    resolved = resolve(load(scenario, settings))[0].resolved
    assert resolved["devices"][0]["count"] == 5
    assert resolved["output"]["trace"] == "sampled"
    assert resolved["transport"]["relay_first"] is False


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("workload.raet=1/s", "--set: workload.raet: unknown key (did you mean rate?)"),
        ("wrkload.rate=1/s", "--set: wrkload: unknown key (did you mean workload?)"),
        ("workload.rate=1", "--set: workload.rate: '1' has no unit; a rate takes /s /min /h /day"),
        ("devices[3].count=1", "--set: devices[3]: there is no such element"),
        ("title.sub=1", "--set: title.sub: title is not a table"),
        ("workload.rate", "--set: workload.rate: write it as key.path=value"),
        ("network.access.lte.up=1Mbps", "--set: network.access.lte.latency: is required"),
        ("churn.session.distribution=weibull", "--set: churn.session.shape: is required"),
        ("energy.core=1W", "--set: energy.access: is required"),
        ("contacts.lead=5s", "--set: contacts.links: is required"),
        (
            "devices[0].profile=moto_g04",
            (
                "--set: devices[0].profile: no device 'moto_g04'; there is moto_g04s, "
                "pocophone_f1, thinkpad_l13 (`pocketsim list devices` lists them), or your own "
                "file, NAME.toml (did you mean moto_g04s?)"
            ),
        ),
    ],
)
def test_bad_overrides_are_blamed_on_the_override(scenario, override, expected):
    scenario.write_text('title = "t"\n' + scenario.read_text())
    with pytest.raises(ScenarioError) as caught:
        resolve(load(scenario, [override]))
    assert str(caught.value) == expected


def test_a_mistake_in_the_file_is_blamed_on_the_file(scenario):
    scenario.write_text(scenario.read_text().replace("seed = 7", "sed = 7"))
    with pytest.raises(ScenarioError, match=r"small\.toml: run\.sed"):
        load(scenario, ["workload.rate=16/s"])


def test_rungs_are_the_product_in_order(scenario):
    settings = ['transport.mode=["quic_keep", "udp"]', 'workload.payload=["10B", "20B"]']
    rungs = [list(rung.resolved["rung"].values()) for rung in resolve(load(scenario, settings))]
    assert rungs[:3] == [[4.0, 10, "quic_keep"], [8.0, 10, "quic_keep"], [4.0, 20, "quic_keep"]]
    assert rungs[-1] == [8.0, 20, "udp"]
    assert len(rungs) == 8


EVA = ['transport.mode=["eva", "udp"]', "workload.rate=4/s"]


def test_lists_beside_transport_payload_and_rate_are_axes(scenario):
    lists = ["transport.eva.window=[64, 256]", "transport.eva.encryption=[false, true]"]
    rungs = resolve(load(scenario, [*EVA, *lists]))
    axes = [tuple(rung.resolved["rung"].get("axes", {}).values()) for rung in rungs]
    # Options of EVA are no axes of the other transport: one rung of UDP.
    assert axes == [(False, 64), (False, 256), (True, 64), (True, 256), ()]
    windows = [rung.resolved["transport"]["eva"]["window_blocks"] for rung in rungs[:4]]
    assert windows == [64, 256, 64, 256]
    assert len({rung.name for rung in rungs}) == 5
    assert rungs[2].name.startswith("eva-100B-4ps-encryption_true-window_64-")


def test_sizes_are_axes_in_bytes(scenario):
    lists = ['transport.socket_buffer=["64KiB", "1MiB"]', 'transport.eva.block=["600B", "1200B"]']
    rungs = resolve(load(scenario, [*EVA, *lists]))
    assert [list(rung.resolved["rung"]["axes"].items()) for rung in rungs[::2]] == [
        [("transport.socket_buffer", 65536), ("transport.eva.block", 600)],
        [("transport.socket_buffer", 2**20), ("transport.eva.block", 600)],
        [("transport.socket_buffer", 65536)],
    ]
    assert rungs[2].resolved["transport"]["socket_buffer_bytes"] == 2**20


@pytest.mark.parametrize("window", ["256", "[256]", "[256, 256]"])
def test_a_list_of_one_value_is_that_value(scenario, window):
    plain = resolve(load(scenario, EVA))
    listed = resolve(load(scenario, [*EVA, f"transport.eva.window={window}"]))
    assert [rung.name for rung in listed] == [rung.name for rung in plain]
    assert "axes" not in plain[0].resolved["rung"]


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("transport.eva.window=[]", "transport.eva.window: an empty list leaves nothing to run"),
        ("transport.eva.window=[64, 0]", "transport.eva.window[1]: should be greater than"),
        ("transport.eva.windows=[64]", "unknown key (did you mean window?)"),
        ("transport.eva.encryption=[false, 1]", "encryption[1]: must be true or false, not 1"),
        ("transport.eva.block=[600B, 0B]", "a block holds at least one byte"),
        ("transport.socket_buffer=[64]", "transport.socket_buffer[0]: '64' has no unit"),
        ("transport.socket_buffer=[]", "an empty list leaves nothing to run"),
        ("transport.eva.timeout=[1s, 2s]", "transport.eva.timeout: "),
    ],
)
def test_bad_axes_are_refused(scenario, override, reason):
    with pytest.raises(ScenarioError, match=re.escape(reason)):
        load(scenario, [*EVA, override])


COMPUTE = [
    'workload={kind="compute", task="verify_token"}',
    "protocol.kind=compute",
    "transport.mode=none",
]


def test_tasks_threads_recipients_and_sizes_are_axes(scenario):
    lists = ["workload.threads=[1, 2]", "workload.recipients=[2, 3]"]
    tasks = 'workload.task=["sign_token", "verify_token"]'
    rungs = resolve(load(scenario, [*COMPUTE, *lists, tasks, "devices[0].count=1"]))
    found = [
        (rung.resolved["rung"]["payload_bytes"], rung.resolved["rung"]["axes"]) for rung in rungs
    ]
    axes = [(size, *axes.values()) for size, axes in found]
    # Who signs a token for the first time does not care how many will come.
    assert axes == [
        *((147, "sign_token", threads) for threads in (1, 2)),
        *((285, "verify_token", 2, threads) for threads in (1, 2)),
        *((423, "verify_token", 3, threads) for threads in (1, 2)),
    ]
    assert rungs[-1].name.startswith("compute-423B-task_verify_token-recipients_3-threads_2-")
    assert rungs[0].resolved["workload"]["recipients"] == 0


def test_sizes_of_tasks_are_payloads(scenario):
    sizes = ["workload.task=sign", 'workload.payload=["128B", "512B"]']
    rungs = resolve(load(scenario, [*COMPUTE, *sizes]))
    assert [rung.resolved["rung"]["payload_bytes"] for rung in rungs] == [128, 512]
    assert "axes" not in rungs[0].resolved["rung"]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (COMPUTE[:1], 'protocol.kind: workload "compute" takes protocol "compute", not "trust'),
        (COMPUTE[:1], "(did you mean compute?)"),
        (COMPUTE[1:2], 'workload.kind: protocol "compute" takes workload "compute", not "paced"'),
        (COMPUTE[2:], "transport.mode: a trade takes a transport (did you mean udp?)"),
        (COMPUTE[:2], "transport.mode: phones that compute send nothing (did you mean none?)"),
        ([*COMPUTE, "workload.task=verify_tokens"], "(did you mean verify_token?)"),
        ([*COMPUTE, "workload.threads=[1, 0]"], "workload.threads[1]: should be greater than"),
        ([*COMPUTE, "workload.payload=0B"], "an operation is on at least one byte"),
        ([*COMPUTE, "workload.rate=1/s"], "workload.rate: unknown key"),
        ([*COMPUTE, "workload.threads=[1, 1025]"], "workload.threads[1]: should be less than or"),
        (["devices[0].count=1"], "devices: a trade takes at least 2 phones"),
    ],
)
def test_computing_and_trading_do_not_mix(scenario, overrides, expected):
    with pytest.raises(ScenarioError) as caught:
        load(scenario, overrides)
    assert expected in str(caught.value)


BATCHES = ["protocol.kind=token_batch", "devices[0].count=3"]


@pytest.mark.parametrize("sizes", ["286B", '["1000B", "286B"]'])
def test_a_batch_holds_a_token(scenario, sizes):
    load(scenario, [*BATCHES, "workload.payload=287B"])
    load(scenario, ["protocol.kind=transfer", f"workload.payload={sizes}"])
    with pytest.raises(ScenarioError) as caught:
        load(scenario, [*BATCHES, f"workload.payload={sizes}"])
    assert str(caught.value) == (
        "--set: workload.payload: a batch of 286 B holds no token; one takes 287 B "
        "(did you mean 287B?)"
    )


TASK_MAX = 2**31 - 1
FITS = f"a trace counts up to {TASK_MAX:,}"


@pytest.mark.parametrize(
    ("overrides", "place", "bytes_"),
    [
        (["workload.recipients=[1, 30000]", "workload.tokens=2000"], "tokens", 8_280_018_000),
        # One packet of one byte for each byte of a million tokens, with its head.
        (
            ["workload.task=sign_packet", "workload.tokens=1000000", "workload.payload=1B"],
            "tokens",
            287_000_000 * 120,
        ),
        (
            ["workload.task=handle_packet", "workload.payload=1024MiB"],
            "payload",
            2 * (2**30 + 119),
        ),
    ],
)
def test_a_task_that_no_row_can_count_is_refused(scenario, overrides, place, bytes_):
    with pytest.raises(ScenarioError) as caught:
        load(scenario, [*COMPUTE, *overrides])
    assert caught.value.key_path == f"workload.{place}"
    assert caught.value.reason == f"a task would be on {bytes_:,} bytes; {FITS}"


def test_the_largest_task_that_a_row_can_count_is_not(scenario):
    most = ["workload.recipients=20", f"workload.tokens={TASK_MAX // (147 + 19 * 138)}"]
    load(scenario, [*COMPUTE, *most])
    with pytest.raises(ScenarioError, match=r"workload\.tokens: a task would be on"):
        load(scenario, [*COMPUTE, *most, "workload.recipients=21"])
    # Neither a payload nor tokens that a task does not work on are anything to it.
    for task in ("sign_token", "sign"):
        unused = [
            "workload.payload=1024MiB",
            "workload.tokens=1000000",
            "workload.recipients=1000000",
        ]
        load(scenario, [*COMPUTE, *unused, f"workload.task={task}"])


POISSON = 'workload={kind="poisson", rate=["1/h", "1e6/s"], payload="1B", start="1s"}'


def test_no_more_is_proposed_than_can_be_drawn(scenario):
    """By two phones, from the first second on."""
    load(scenario, [POISSON, "run.duration=26s"])
    with pytest.raises(ScenarioError) as caught:
        load(scenario, [POISSON, "run.duration=27s"])
    assert caught.value.key_path == "workload.rate"
    said = "asks for about 5.2e+07 proposals in each repetition; a run may ask for 50,000,000"
    assert caught.value.reason == said


@pytest.mark.parametrize(
    ("place", "key"), [("churn", "churn.gap"), ("devices[0].churn", "devices[0].churn.gap")]
)
def test_no_more_transitions_than_can_be_drawn(scenario, place, key):
    """Of phones that are on for two microseconds, and off for one at most."""

    def lengths(longest):
        session = "session={distribution='weibull', shape=1.0, scale='2us'}"
        gap = f"gap={{distribution='lognormal', median='1s', sigma=1.0, longest='{longest}'}}"
        return ["run.duration=150s", f"{place}={{{session}, {gap}}}"]

    load(scenario, lengths("100us"))
    with pytest.raises(ScenarioError) as caught:
        load(scenario, lengths("1us"))
    assert caught.value.key_path == key
    assert "transitions in each repetition; a run may ask for 50,000,000" in caught.value.reason


def test_continued_rungs_name_the_one_before(scenario):
    first, second = resolve(load(scenario, ["run.app=continued"]))
    assert first.previous is None
    assert second.previous == first.name
    alone = resolve(load(scenario, ["run.app=continued", "workload.rate=8/s"]))[0]
    assert alone.name != second.name


def test_the_digest_covers_profile_contents_and_seed(scenario, tmp_path, root):
    own = tmp_path / "own.toml"
    text = (root / "pocketsim/calibration/profiles/devices/moto_g04s.toml").read_text()
    own.write_text(text)
    override = 'devices[0].profile="own.toml"'
    name = resolve(load(scenario, [override]))[0].name
    own.write_text(text.replace('cpu = "122us"', 'cpu = "123us"'))
    assert resolve(load(scenario, [override]))[0].name != name
    assert resolve(load(scenario, ["run.seed=8"]))[0].name != resolve(load(scenario))[0].name
    assert resolve(load(scenario))[0].name == resolve(load(scenario))[0].name


def test_cost_factors_make_a_profile_of_their_own(scenario):
    factor = '{value=2, standard_error=1, basis="fitted", fitted_to=["A1_w8_store"], source="x"}'
    resolved = resolve(load(scenario, [f"devices[0].cost_factors={{store={factor}}}"]))[0].resolved
    (group,) = resolved["devices"]
    assert group["profile"] == "moto_g04s in devices[0]"
    store = resolved["profiles"][group["profile"]]["operations"]["store"]
    plain = resolve(load(scenario))[0].resolved["profiles"]["moto_g04s"]["operations"]["store"]
    assert store["cpu_s"] == 2 * plain["cpu_s"]
    assert store["cost_factor"]["fitted_to"] == ["A1_w8_store"]


def test_documents_of_another_kind_are_named(root):
    with pytest.raises(ScenarioError, match="is the profile of an implementation, not a scenario"):
        load(root / "pocketsim/calibration/profiles/implementations/probe.toml")
    with pytest.raises(ScenarioError, match=r"is a sweep .*, not a scenario"):
        load(root / "pocketsim/scenarios/sweeps/rate_by_transport.toml")
    with pytest.raises(ScenarioError, match="is a device profile, not a scenario"):
        load(root / "pocketsim/calibration/profiles/devices/moto_g04s.toml")


def test_resolved_survives_json(scenario):
    resolved = resolve(load(scenario))[0].resolved
    assert digest(json.loads(json.dumps(resolved))) == digest(resolved)


@pytest.mark.parametrize("pacing_rate", [("floored_ms", 16, 0.062), ("batch_1024ms", 16, 0.064)])
def test_pacing_rounds_the_interval(scenario, pacing_rate):
    pacing, rate, interval_s = pacing_rate
    settings = [f"workload.pacing={pacing}", f"workload.rate={rate}/s"]
    assert resolve(load(scenario, settings))[0].resolved["workload"]["interval_s"] == interval_s


def test_transport_mode_selects_its_options(scenario):
    def transport(mode):
        return resolve(load(scenario, [f"transport.mode={mode}"]))[0].resolved["transport"]

    assert transport("quic_keep")["mode"] == "quic_keep"
    assert transport("quic_reconnect")["socket_buffer_bytes"] == 7 << 20
    assert (transport("udp")["mode"], transport("udp")["socket_buffer_bytes"]) == ("udp", 0)


@pytest.mark.parametrize("path", [path for path in SHIPPED if path.parent.name != "sweeps"])
def test_shipped_scenarios_resolve(path):
    assert resolve(load(path))


def test_schema_and_reference_are_current(root):
    hint = "run `python -m pocketsim.sim.scenario.schema`"
    assert (root / "pocketsim/schemas/scenario.schema.json").read_text() == schema.schema_text(), (
        hint
    )
    assert (root / "docs/scenario.md").read_text() == schema.reference_text(), hint


def test_every_field_is_described():
    document = json.loads(schema.schema_text())
    for name, table in {"": document, **document["$defs"]}.items():
        assert table["description"], name
        assert table["additionalProperties"] is False, name
        for key, field in table["properties"].items():
            assert field.get("description"), f"{name}.{key}"


@pytest.mark.parametrize("name", ["pixel_5", "x", "iphone"])
def test_a_device_that_is_not_there_is_answered_by_those_that_are(scenario, name):
    with pytest.raises(ScenarioError) as caught:
        resolve(load(scenario, [f"devices[0].profile={name}"]))
    reason = caught.value.reason
    assert reason.startswith(f"no device '{name}'; there is ")
    assert all(device in reason for device in ("moto_g04s", "pocophone_f1", "thinkpad_l13"))
    assert "(`pocketsim list devices` lists them), or your own file, NAME.toml" in reason


def test_a_document_that_is_not_there_is_answered_by_those_most_like_it():
    with pytest.raises(ScenarioError) as caught:
        document_file("udp_100", "scenario")
    assert "; there is udp_100b, " in caught.value.reason
    assert ", ... (`pocketsim list scenarios` lists them)" in caught.value.reason
