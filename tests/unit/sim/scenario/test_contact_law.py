"""Laws of contacts as documents: what is refused, and what of one is in the resolved scenario."""

import pytest

from pocketsim.api.documents import catalog
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import profile
from pocketsim.sim.scenario import contact_law
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

SHIPPED = catalog.PACKAGE / "scenarios/own_data/contacts_file.toml"
OFFICE = profile.CONTACTS / "office_2015.toml"
SECTION = (
    "contacts={{kind='law', law='{}', links={{ble={{share={}, rate='1MBps', latency='1ms'}}}}}}"
)


def refused(*overrides, path=SHIPPED):
    with pytest.raises(ScenarioError) as caught:
        resolve(load(path, list(overrides)))
    return caught.value


def changed(tmp_path, before, after):
    text = OFFICE.read_text()
    assert before in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(before, after))
    return path


def wrong(path):
    with pytest.raises(ScenarioError) as caught:
        contact_law.load(path)
    return caught.value


@pytest.mark.parametrize("path", catalog.files("law").values())
def test_every_shipped_law_says_what_it_rests_on(path):
    law = contact_law.load(path)
    assert law.law.licence.startswith("CC0")
    assert str(law.people) in law.law.fitted_to


def test_the_resolved_scenario_holds_the_law():
    (rung,) = resolve(load(SHIPPED, [SECTION.format("office_2015", 1.0)]))
    found = rung.resolved["contacts"]
    assert found["law"] == {"name": "office_2015", **contact_law.contents(contact_law.load(OFFICE))}
    assert found["law"]["resolution_s"] == 20
    assert found["origin_s"] == 0
    assert "licence" not in str(found)


def test_a_law_may_be_a_file_beside_the_scenario(tmp_path):
    text = SHIPPED.read_text().replace(
        'file = "contacts.dat"\nformat = "tij"', 'kind = "law"\nlaw = "mine.toml"'
    )
    (tmp_path / "it.toml").write_text(text)
    changed(tmp_path, 'resolution = "20s"', 'resolution = "10s"')
    (rung,) = resolve(load(tmp_path / "it.toml"))
    assert rung.resolved["contacts"]["law"]["resolution_s"] == 10
    assert rung.resolved["contacts"]["law"]["name"] == "mine"


def test_a_name_that_is_none_has_the_nearest_beside_it():
    error = refused(SECTION.format("ofice_2015", 1.0))
    assert (error.file, error.key_path, error.suggestion) == (
        "--set",
        "contacts.law",
        "office_2015",
    )
    assert "no law 'ofice_2015'" in error.reason
    assert "`pocketsim list laws`" in error.reason
    missing = refused(SECTION.format("mine.toml", 1.0))
    assert "no such file" in missing.reason


def test_what_is_missing_or_misspelt_in_the_section_is_told():
    links = "links={ble={share=1.0, rate='59kBps', latency='30ms'}}"
    assert refused(f"contacts={{kind='law', {links}}}").key_path == "contacts.law"
    error = refused(SECTION.format("office_2015", 1.0), "contacts.orign=9h")
    assert (error.key_path, error.suggestion) == ("contacts.orign", "origin")
    shares = refused(SECTION.format("office_2015", 0.5))
    assert "shares of links add up to 0.5" in shares.reason


def test_too_many_contacts_are_refused():
    error = refused(
        SECTION.format("office_2015", 1.0),
        "devices[0].count=500000",
        "run.duration=30d",
        "workload.rate=1e-6/s",
    )
    assert error.key_path == "contacts.law"
    assert "contacts in each repetition; a run may ask for 50,000,000" in error.reason


def test_a_law_is_no_scenario():
    error = refused(path=OFFICE)
    assert error.reason == "is a law of contacts, not a scenario"


MISTAKES = {
    "key": ("people =", "persons =", "persons", "unknown key", None),
    "few": ("people = 208", "people = 1", "people", "greater than or equal to 2", None),
    "step": (
        'resolution = "20s"',
        'resolution = "2h"',
        "",
        "resolution is more than an hour",
        None,
    ),
    "unit": ('resolution = "20s"', "resolution = 20", "resolution", "has no unit", None),
    "percent": ('"p50.444" =', '"q50" =', "leaves_s", "q50 is no percentile", None),
    "order": ('"p50.444" = 59420.0', '"p50.444" = 9.0', "leaves_s", "less than a lower", None),
    "late": ('"p99.999" = 71980.0', '"p99.999" = 90000.0', "", "after the day's end", None),
    "pair": (
        "same_pair_correlation = 0.",
        "same_pair_correlation = 0.0",
        "meets",
        "less than twice same_person_correlation",
        None,
    ),
    "many": ('"p99.999" = 464.0', '"p99.999" = 9999.0', "", "a day holds 4320 times", None),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_wrong_law_is_refused_at_its_place(tmp_path, mistake):
    before, after, key_path, reason, suggestion = mistake
    error = wrong(changed(tmp_path, before, after))
    assert (error.key_path, error.suggestion) == (key_path, suggestion)
    assert reason in error.reason
    assert error.file.endswith("mine.toml")


def test_hours_without_any_weight_are_refused(tmp_path):
    text = OFFICE.read_text()
    begin = text.index("hours = [")
    end = text.index("]", begin)
    path = tmp_path / "mine.toml"
    path.write_text(f"{text[:begin]}hours = [{'0.0, ' * 24}{text[end:]}")
    assert wrong(path).reason == "hours: no hour has weight"
