"""`pocketsim view` as a person uses it: in Debian's chromium, which tools/interop.sh installs."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import ROOT, SCENARIO
from playwright.sync_api import expect, sync_playwright

from pocketsim.report.charts import theme
from pocketsim.report.html.page import Page
from support.skipping import skip

expect.set_options(timeout=30_000)
WORK = '\n[output]\ntrace = "work"\n'
pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with two finished runs, of two rates."""
    path = tmp_path_factory.mktemp("view")
    (path / "small.toml").write_text(SCENARIO + WORK)
    (path / "sweep.toml").write_text('[sweep]\nscenario = "small.toml"\n')
    done = subprocess.run([*command("run"), "small.toml"], cwd=path, env=environment(), check=False)
    assert done.returncode == 0
    return path


def command(name):
    return [sys.executable, "-m", "pocketsim.cli", name]


def environment():
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@contextmanager
def viewing(folder, *arguments, **variables):
    """Yield the process and the address that it prints."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A shell that starts jobs in the background leaves them deaf to Ctrl-C.
    with subprocess.Popen(
        [*command("view"), *arguments],
        cwd=folder,
        env={**environment(), **variables},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - one thread
        **pipes,
    ) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


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


@contextmanager
def page_of(browser, root, **look):
    """Yield a page; in the end nothing was amiss, and nothing was asked of another computer."""
    context = browser.new_context(**look)
    page, amiss = context.new_page(), []
    page.on("console", lambda said: amiss.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: amiss.append(str(error)))
    page.on("requestfailed", lambda one: amiss.append(f"failed: {one.url}"))
    page.on("request", lambda one: None if one.url.startswith(root) else amiss.append(one.url))
    yield page
    assert amiss == []
    context.close()


SMALL = {"viewport": {"width": 400, "height": 800}}


@pytest.mark.parametrize("look", [{}, SMALL])
def test_from_all_runs_to_one_transaction(folder, browser, look):
    with viewing(folder, "runs") as (_, address):
        root = address.partition("?")[0]
        with page_of(browser, root, **look) as page:
            page.goto(address)
            assert page.url == root
            expect(page.locator(".js-plotly-plot")).to_have_count(1)
            page.get_by_label("Metric of the charts").select_option("rtt_ms_p50")
            page.get_by_role("button", name="Show").first.click()
            expect(page.get_by_role("heading", name="Median round trip")).to_be_visible()

            page.wait_for_load_state()
            page.get_by_role("link", name=re.compile("^udp-100B-8ps-")).click()
            expect(page.locator(".js-plotly-plot")).to_have_count(2)
            expect(page.locator("#shown")).to_have_text("0 s to 2 s")
            sent = page.locator("#counts tr", has_text="transactions sent").locator("td").last
            every = int(sent.inner_text())
            slider = page.get_by_role("slider", name="Time")
            slider.focus()
            slider.press("Home")
            expect(page.locator("#shown")).to_have_text("0 s to 0 s")
            for _ in range(10):
                slider.press("PageUp")
            expect(page.locator("#shown")).to_have_text("0 s to 2 s")
            page.get_by_role("combobox", name="Shown").select_option("the last 200 ms")
            expect(page.locator("#shown")).to_have_text("1.8 s to 2 s")
            assert 0 < int(sent.inner_text()) < every
            expect(page.locator("#trouble")).to_be_empty()

            page.get_by_role("link", name=re.compile(r"^0:\d+$")).first.click()
            expect(page.get_by_role("heading", level=1)).to_contain_text("stored after")
            page.wait_for_load_state()
            diagram = page.locator("#chart-sequence")
            expect(diagram.get_by_text(re.compile(r"^sign \d"))).to_have_count(2)
            expect(page.get_by_role("cell", name=re.compile("^its datagram of"))).to_have_count(2)
            overflow = "document.documentElement.scrollWidth > window.innerWidth"
            assert not page.evaluate(overflow)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Return a page with many sections, and a chart with a shade."""
    page = Page("What a reader asks")
    page.heading()
    for number in range(12):
        page.section(f"part{number}", "A part of the page with a long name")
    chart = theme.figure("hour", "payments")
    chart.add_scatter(x=[1, 2, 3], y=[1, 3, 2])
    chart.add_vrect(x0=1, x1=2, fillcolor="#f3ece4", layer="below")
    page.figures([("Payments", "each hour", chart)])
    path = tmp_path_factory.mktemp("report") / "page.html"
    path.write_text(page.html())
    return path.as_uri()


def test_a_small_screen_begins_with_the_answer(report, browser):
    with page_of(browser, report, **SMALL) as page:
        page.goto(report)
        assert page.get_by_role("heading", level=1).bounding_box()["y"] < 100
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        page.get_by_role("link", name="A part").last.focus()
        expect(page.get_by_role("link", name="A part").last).to_be_in_viewport()


def test_a_shade_is_faint_on_a_dark_ground(report, browser):
    with page_of(browser, report, color_scheme="dark") as page:
        page.goto(report)
        shade = page.locator(".shapelayer path")
        expect(shade).to_have_css("fill-opacity", "0.14")


def test_wide_tables_of_the_documentation_are_reached_by_keyboard(browser):
    script = (ROOT / "docs/static/pages.js").read_text()
    table = (
        "<div class='table-wrapper' style='overflow: auto; width: {}px'><p style='width: 200px'>"
    )
    with page_of(browser, "about:blank") as page:
        page.set_content(
            "<p role='heading'>Runs</p>"
            f"{table.format(100)}wide</p></div>{table.format(300)}narrow</p></div>"
            f"<script>{script}</script>"
        )
        assert page.get_by_role("heading", name="Runs", level=2).count() == 1
        wide, narrow = page.locator(".table-wrapper").all()
        expect(wide).to_have_attribute("tabindex", "0")
        expect(narrow).not_to_have_attribute("tabindex", "0")


def test_ctrl_c_ends_it_quietly(folder):
    with viewing(folder, "sweep.toml") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", address)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out, said) == (0, "", "Ctrl-C ends it.\n")


def test_a_browser_is_started_without_the_token(folder, browser, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    told = tmp_path / "told"
    os.mkfifo(told)
    fake = tmp_path / "fake browser"
    fake.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > '{told}'\n")
    fake.chmod(0o700)
    variables = {"BROWSER": f"'{fake}' %s", "TMPDIR": str(temporary)}
    with viewing(folder, "runs", "--open", **variables) as (process, address):
        root, _, token = address.partition("?token=")
        with os.fdopen(os.open(told, os.O_RDONLY | os.O_NONBLOCK)) as arguments:
            assert select.select([arguments], [], [], 60)[0], "no browser was started"
            (opened,) = arguments.read().splitlines()
        assert token not in opened
        path = Path(unquote(urlsplit(opened).path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

        context = browser.new_context()
        page = context.new_page()
        page.goto(opened)
        page.wait_for_url(root)
        expect(page.locator(".js-plotly-plot")).to_have_count(1)
        page.get_by_role("link", name=re.compile("^udp-100B-8ps-")).click()
        expect(page.locator(".js-plotly-plot")).to_have_count(2)
        context.close()

        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nothing"], 2, "nothing"),
        (["sweep.toml", "--out", "elsewhere"], 4, "no run has a directory; `pocketsim sweep run"),
        (["runs", "--port", "99999"], 2, "--port"),
        (["small.toml"], 2, "small.toml"),
    ],
)
def test_mistakes_are_told(folder, arguments, code, said):
    done = subprocess.run(
        [*command("view"), *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
