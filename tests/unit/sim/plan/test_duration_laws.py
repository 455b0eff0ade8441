"""Laws of lengths of time: every one is refused with a place and a reason, or can be drawn from."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.churn import lengths, on_share
from pocketsim.sim.plan.town import power_law_quantile
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

POISSON = 'workload={kind="poisson", rate="1000000/s", payload="1B"}'
GAP = '{distribution="weibull", shape=1.0, scale="1s"}'
SHARES = np.array([2.0**-54, 1e-9, 0.5, 1 - 2.0**-53])

# From the smallest double to ten years, in the middle of the scale and at its ends.
seconds = st.one_of(
    st.floats(5e-324, 3660 * 86400.0),
    st.floats(-9, 8.4).map(lambda exponent: 10**exponent),
    st.sampled_from([1e-9, 1e-8, 1.0, 3660 * 86400.0]),
)
shapes = st.floats(0.1, 20, exclude_min=True)
sigmas = st.one_of(st.floats(0, 10, exclude_min=True), st.sampled_from([5e-324, 1e-9, 10.0]))
cuts = st.one_of(st.none(), seconds)


def weibull(shape, scale_s, longest_s):
    return _table("weibull", longest_s, f"shape={shape!r}", f'scale="{scale_s!r}s"')


def lognormal(median_s, sigma, longest_s):
    return _table("lognormal", longest_s, f'median="{median_s!r}s"', f"sigma={sigma!r}")


def _table(name, longest_s, *parts):
    cut = [] if longest_s is None else [f'longest="{longest_s!r}s"']
    return "{" + ", ".join([f'distribution="{name}"', *parts, *cut]) + "}"


laws = st.one_of(
    st.builds(weibull, shapes, seconds, cuts), st.builds(lognormal, seconds, sigmas, cuts)
)


@pytest.fixture(scope="module")
def town(root):
    return root / "tests/support/1k_churn.toml"


def churn(path, session, gap):
    """Return a resolved run of a nanosecond: as long as the shortest length, so soon drawn."""
    few = ["devices[0].count=60", "devices[1].count=40", "run.duration=1ns", POISSON]
    settings = [*few, f"churn.session={session}", f"churn.gap={gap}"]
    return resolve(load(path, settings))[0].resolved


def unless_refused(place, call):
    """Return what `call` returns, or None when it refuses something in `place` of the document."""
    try:
        return call()
    except ScenarioError as error:
        key_path, reason = error.key_path, error.reason
    assert key_path.startswith(place)
    assert reason
    return None


@given(session=laws, gap=laws)
@example(session=lognormal(3600.0, 0.1, 60.0), gap=GAP)  # nothing is left below the cut
@example(session=lognormal(1.0, 10.0, 1e-9), gap=GAP)
@example(session=lognormal(60.0, 5e-324, 59.0), gap=GAP)
@example(session=weibull(20.0, 1e-8, 3e8), gap=GAP)  # (longest / scale)^shape is no double
@example(session=weibull(20.0, 3e8, 1e-9), gap=GAP)  # neither is this, from below
@example(session=weibull(1.0, 5e-324, None), gap=weibull(1.0, 5e-324, 5e-324))
def test_churn_is_refused_or_drawn(town, session, gap):
    resolved = unless_refused("churn.", lambda: churn(town, session, gap))
    if resolved is None:
        return
    assert 0 <= on_share(resolved["churn"]) <= 1
    for part in ("session", "gap"):
        law = lengths(resolved["churn"][part])
        assert 0 < law.mean_s() <= law.longest_s * (1 + 1e-6)
        for found_s in (law.quantile(SHARES), law.length_biased_quantile(SHARES)):
            assert np.isfinite(found_s).all()
            assert (found_s > 0).all()
            assert (found_s <= law.longest_s * (1 + 1e-6)).all()
    # Last: lengths of zero would never come to the end of the run.
    plan = build_plan(resolved, 0)
    assert all(0 <= time_s < 1e-9 for time_s in plan["churn"]["time_s"])


@pytest.mark.parametrize(
    ("session", "key", "reason"),
    [
        (lognormal(3600.0, 0.1, 60.0), "longest", "no session is that short"),
        (weibull(20.0, 3e8, 1e-9), "longest", "no session is that short"),
        (weibull(1.0, 1e-10, None), "scale", "is less than a nanosecond"),
        (lognormal(1e-10, 1.0, None), "median", "is less than a nanosecond"),
        (lognormal(1.0, 1.0, 1e-10), "longest", "is less than a nanosecond"),
    ],
)
def test_law_that_cannot_be_drawn_is_named(town, session, key, reason):
    with pytest.raises(ScenarioError) as caught:
        churn(town, session, GAP)
    # Overrides are to blame; a mistake in the file names the file.
    assert str(caught.value).startswith(f"--set: churn.session.{key}: {reason}")


def test_the_command_line_refuses_in_one_line(cli, scenario):
    scenario.write_text(
        scenario.read_text() + f"[churn]\nsession = {lognormal(3600.0, 0.1, 60.0)}\ngap = {GAP}\n"
    )
    done = cli("check", scenario)
    assert (done.returncode, done.stdout) == (2, "")
    reason = "no session is that short: one in 10^217 or fewer"
    assert done.stderr == f"{scenario}: churn.session.longest: {reason}\n"


@pytest.mark.parametrize("longest_s", [30.0, 3600.0, 1e5])
def test_a_cut_that_leaves_little_is_still_that_law(longest_s):
    """Down to thirty sigmas below the median, the cut law keeps below its cut."""
    table = {"distribution": "lognormal", "median_s": 3600.0, "sigma": 0.16, "longest_s": longest_s}
    law = lengths(table)
    assert 0 < law.mean_s() < longest_s
    assert law.quantile(np.array([1 - 1e-12]))[0] == pytest.approx(min(longest_s, 3600 * 3.1), 0.01)


@given(alpha=st.floats(1, 20, exclude_min=True), two=st.lists(seconds, min_size=2, max_size=2))
@example(alpha=20.0, two=[1e-30, 1.0])
def test_contacts_are_refused_or_drawn(root, alpha, two):
    shortest_s, longest_s = sorted(two)
    law = f'contacts.duration={{alpha={alpha!r}, shortest="{shortest_s!r}s", longest='
    settings = ["contacts.lead=0s", f'{law}"{longest_s!r}s"}}']
    market = root / "pocketsim/scenarios/tokens/market.toml"
    document = unless_refused("contacts.duration", lambda: load(market, settings))
    if document is None:
        return
    found_s = power_law_quantile(resolve(document)[0].resolved["contacts"]["duration"], SHARES)
    assert np.isfinite(found_s).all()
