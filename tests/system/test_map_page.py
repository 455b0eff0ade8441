"""The map of a report as a person uses it: in Debian's chromium, without a network."""

import os
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

import pocketsim as ps
from pocketsim.report import write_report
from support.skipping import skip

FEW = {"run.duration": "4min", "run.repetitions": 1, "devices[0].count": 40}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("map")
    (run,) = ps.run("walkers", FEW, out=folder, progress=False)
    write_report([run.directory], folder / "page.html")
    return (folder / "page.html").as_uri()


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium")
    if program is None:
        skip("no chromium here: tools/interop.sh installs it")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=options)
        yield started
        started.close()


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
@pytest.mark.parametrize("width", [400, 1280])
def test_time_moves_when_it_is_asked_to(browser, address, width, motion):
    context = browser.new_context(
        viewport={"width": width, "height": 800}, offline=True, reduced_motion=motion
    )
    page, amiss = context.new_page(), []
    page.on("console", lambda said: amiss.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: amiss.append(str(error)))
    page.goto(address)
    slider, shown = page.get_by_label("Time", exact=True), page.locator(".map output")
    play = page.locator(".map button")
    expect(page.locator(".map .js-plotly-plot")).to_have_count(1)
    expect(shown).to_have_text("0:00 of 0:04 h")
    expect(play).to_have_attribute("aria-pressed", "false")

    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(shown).to_have_text("0:01 of 0:04 h")
    page.keyboard.press("End")
    expect(shown).to_have_text("0:04 of 0:04 h")
    drawn = "() => document.querySelector('.map .drawing').data.slice(4).flatMap((one) => one.x)"
    places = page.evaluate(drawn)
    assert sum(place is not None for place in places) == 60
    page.keyboard.press("Home")
    expect(shown).to_have_text("0:00 of 0:04 h")

    page.locator(".map select").select_option("30")
    play.press("Space")
    expect(play).to_have_text("Pause")
    page.wait_for_function("document.querySelector('.map input').value > 0", timeout=30_000)
    play.press("Space")
    expect(play).to_have_text("Play")
    assert page.evaluate(drawn) != places
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert amiss == []
    context.close()
