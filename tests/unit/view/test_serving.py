"""Who may ask for the pages, for what, and what they hold; over a real socket of this computer."""

from __future__ import annotations

import http.client
import re
import shutil
import threading
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from pocketsim import testing
from pocketsim.report.runs.asked import Asked
from pocketsim.sim.base.errors import EnvironmentMissingError, UserError
from pocketsim.sim.run import rundir
from pocketsim.view import server
from pocketsim.view.recorded.run_folder import RunFolder

TOKEN = "a-token_of-this-test"  # noqa: S105 - opens nothing
SHAPE = testing.Shape(lost_ratio=0.2)
PLACES = ("/", "/run", "/window", "/transaction", "/style.css", "/view.js", "/plotly.js")


@contextmanager
def serving(folder):
    sock = server.listening(0)
    made = server.made(folder, sock, TOKEN)
    thread = threading.Thread(target=made.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        yield sock.getsockname()[1]
    finally:
        made.should_exit = True
        thread.join()
        sock.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view") / "runs"
    for rate in (4.0, 8.0):
        testing.run_dir(folder, testing.resolved("few", rate, repetitions=2), SHAPE)
    return folder


@pytest.fixture(scope="module")
def port(runs):
    with serving(RunFolder(runs, lambda: rundir.runs_in(runs))) as found:
        yield found


@pytest.fixture
def ask(port):
    """Return a function that asks for an address with the cookie, unless told otherwise."""

    def call(address, method="GET", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        known = {"Cookie": f"pocketsim_view_{port}={TOKEN}", **headers}
        connection.request(method, address, headers={k: v for k, v in known.items() if v})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    return call


@pytest.fixture
def name(runs):
    return min(path.relative_to(runs).as_posix() for path in rundir.runs_in(runs))


def pages(name):
    run = f"run={quote(name)}"
    return {
        "/": "/",
        "/run": f"/run?{run}&repetition=1",
        "/window": f"/window?{run}&until=3&width=1",
        "/transaction": f"/transaction?{run}&id=0:3",
    }


@pytest.mark.parametrize("address", PLACES)
def test_nothing_is_told_without_the_token(ask, address):
    for cookie in ("", "pocketsim_view_1=x", "pocketsim_view_1=" + TOKEN):
        answer, text = ask(address, Cookie=cookie)
        assert (answer.status, len(text) < 100) == (403, True)
    answer, _ = ask(f"{address}?token={TOKEN}x", Cookie="")
    assert answer.status == 403


def test_the_token_makes_a_cookie_that_scripts_and_other_sites_do_not_get(ask, port):
    answer, text = ask(f"/?token={TOKEN}", Cookie="")
    assert answer.status == 200
    assert TOKEN not in text
    cookie = answer.getheader("Set-Cookie")
    assert cookie.startswith(f"pocketsim_view_{port}={TOKEN};")
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
    assert ask("/")[0].getheader("Set-Cookie") is None


@pytest.mark.parametrize("address", PLACES)
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "[::1]", "192.0.2.1"])
def test_another_host_is_refused(ask, address, host):
    assert ask(address, Host=host)[0].status == 400


def test_a_forwarded_port_is_this_computer_still(ask):
    assert ask("/style.css", Host="localhost:9000")[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_it_only_shows(ask, method):
    answer, _ = ask("/", method)
    assert (answer.status, answer.getheader("Allow")) == (405, "GET")


@pytest.mark.parametrize("address", PLACES)
def test_every_answer_lets_pages_load_from_here_alone(ask, address):
    for headers in ({}, {"Cookie": ""}):
        answer, _ = ask(address, **headers)
        policy = answer.getheader("Content-Security-Policy")
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert answer.getheader("Referrer-Policy") == "no-referrer"
        assert answer.getheader("X-Content-Type-Options") == "nosniff"


@pytest.mark.parametrize(
    "name",
    [
        *("..", "../few", "few/../few", "few/.", "/etc", "/etc/passwd", ".", "", "few", "%00"),
        *("....//few", "few\\..", "file:///etc/passwd"),
    ],
)
@pytest.mark.parametrize("path", ["/run", "/window", "/transaction"])
def test_what_is_no_run_is_not_found(ask, path, name):
    answer, text = ask(f"{path}?run={quote(name, safe='')}")
    assert answer.status == 404
    assert "no such run" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "address", ["/../../etc/passwd", "/%2e%2e/view.css", "/static/view.css", "//etc/passwd", "/x"]
)
def test_no_other_file_is_served(ask, address):
    assert ask(address)[0].status == 404


@pytest.mark.parametrize("said", ["2", "-1", "x", "1e9", "9" * 30, "٣"])
def test_there_are_no_other_repetitions(ask, name, said):
    answer, text = ask(f"/run?run={quote(name)}&repetition={quote(said)}")
    assert answer.status == 404
    assert "0 to 1" in text


@pytest.mark.parametrize("said", ["", "0", "9:9", "0:99999", "<b>"])
def test_there_are_no_other_transactions(ask, name, said):
    answer, text = ask(f"/transaction?run={quote(name)}&id={quote(said)}")
    assert answer.status == 404
    assert "<b>" not in text.partition("<main")[2]


@pytest.mark.parametrize("said", ["until=x", "until=nan", "until=inf", "width=-1"])
def test_a_time_is_a_number(ask, name, said):
    assert ask(f"/window?run={quote(name)}&{said}")[0].status == 400


def test_a_metric_that_no_run_has_is_refused_with_the_nearest(ask):
    for asked in ("metric=success_rate", "column=success_rate"):
        answer, text = ask(f"/?{asked}")
        assert answer.status == 400
        assert "did you mean success_ratio?" in text


@pytest.mark.parametrize("page", ["/", "/run", "/transaction"])
def test_a_page_has_no_script_and_loads_nothing_from_elsewhere(ask, name, page):
    answer, text = ask(pages(name)[page])
    assert answer.status == 200
    assert re.findall(r"<script(?! src=\"/| type=\"application/json\")", text) == []
    assert (
        re.findall(r"<style|\sstyle=|\son\w+=", re.sub(r"(?s)<script.*?</script>", "", text)) == []
    )
    links = re.findall(r"(?:href|src|action)=\"([^\"]*)\"", text)
    assert all(re.match(r"/(?!/)|#|data:text/csv", link) for link in links)


def test_the_first_page_has_every_run_and_metric(ask, runs):
    _, text = ask("/?metric=rtt_ms_p50&column=send_count")
    for path in rundir.runs_in(runs):
        assert f">{path.name}</a>" in text
    assert '<option value="rtt_ms_p50" selected>' in text
    assert '<option value="store_rate_per_s">' in text
    assert "<th>workload.rate</th>" in text
    assert '<th class="n">send_count</th>' in text
    assert "Median round trip" in text


def test_each_page_shows_what_it_is_about(ask, name):
    found = {path: ask(address)[1] for path, address in pages(name).items()}
    assert 'id="until" type="range"' in found["/run"]
    assert "lost: link loss" in found["/run"]
    assert '"chart-sequence"' in found["/transaction"]
    assert "output.trace = &#34;work&#34;" in found["/transaction"]
    assert '"shown":"2 s to 3 s"' in found["/window"]


def test_nothing_is_written(ask, runs, name):
    def state():
        every = sorted([runs, *runs.rglob("*")])
        times = [(path, path.stat().st_mtime_ns) for path in every]
        return times, [path.read_bytes() for path in every if path.is_file()]

    before = state()
    for address in pages(name).values():
        assert ask(address)[0].status == 200
    assert state() == before


def test_links_out_of_the_folder_are_not_followed(runs, tmp_path):
    inside, outside = tmp_path / "runs" / "few", tmp_path / "elsewhere"
    shutil.copytree(runs / "few", inside)
    one, other = sorted(inside.iterdir())
    one.rename(outside)
    one.symlink_to(outside)
    (other / "events.parquet").rename(tmp_path / "events.parquet")
    (other / "events.parquet").symlink_to(tmp_path / "events.parquet")
    folder = RunFolder(tmp_path / "runs", lambda: rundir.runs_in(tmp_path / "runs"))
    found = folder.listed()
    assert found.by_name == {}
    assert [said.partition(": ")[2] for said in found.left_out] == ["leads out of the folder"] * 2


def test_a_damaged_run_is_named_and_the_others_are_shown(runs, tmp_path):
    shutil.copytree(runs, tmp_path / "runs")
    damaged, whole = rundir.runs_in(tmp_path / "runs")
    (damaged / "metrics.json").write_text("{")
    with serving(RunFolder(tmp_path / "runs", lambda: [damaged, whole])) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", f"/?token={TOKEN}")
        text = connection.getresponse().read().decode()
        connection.close()
    assert f">{whole.name}</a>" in text
    assert f">{damaged.name}</a>" not in text
    assert "Not shown: " in text
    assert "is damaged" in text


def test_a_run_is_a_folder_too_and_an_author_has_a_question(runs):
    path = rundir.runs_in(runs)[0]
    folder = RunFolder(path, lambda: [path], Asked(question="Does it?"))
    assert list(folder.listed().by_name) == [path.name]


def test_only_this_computer_reaches_it():
    with server.listening(0) as sock:
        host, port = sock.getsockname()
        assert host == "127.0.0.1"
        assert server.address(sock, "x") == f"http://127.0.0.1:{port}/?token=x"
        with pytest.raises(UserError, match=rf"--port: {port}: address already in use; without"):
            server.listening(port)


def test_a_missing_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "uvicorn" else 1)
    with pytest.raises(EnvironmentMissingError, match=r"^uvicorn, which .* 'pocketsim\[view\]'$"):
        server.check()
