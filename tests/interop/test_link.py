"""`probe link` between sockets of Python: it does what its options say."""

from __future__ import annotations

import json
import math
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pocketsim.sim.scenario.network import Access, Bursts
from support.interop_programs import PATIENCE_S, ROOT, running, wait_until

sys.path.append(str(ROOT / "bench"))  # scripts, not a package
import bursts

pytestmark = pytest.mark.interop


@pytest.fixture
def server():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.settimeout(PATIENCE_S)
        yield bound


@pytest.fixture
def client():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.settimeout(PATIENCE_S)
        yield bound


def link(probe, server, *options):
    host, port = server.getsockname()
    listen = ["--listen", "127.0.0.1:0", "--to", f"{host}:{port}", "--ports", "1", "--json"]
    return running(probe, "link", *listen, *options)


def address(line):
    host, _, port = line.rpartition(":")
    return host, int(port)


def statistics(process):
    process.send_signal(signal.SIGTERM)
    return json.loads(process.stdout.read())


def unread(port):
    """Return the bytes that wait in the socket of this port, as the kernel sees it."""
    for row in Path("/proc/net/udp").read_text().splitlines()[1:]:
        fields = row.split()
        if fields[1].endswith(f":{port:04X}"):
            return int(fields[4].partition(":")[2], 16)
    return 0


def drain(sock):
    """Return the numbers that have arrived."""
    got = []
    sock.settimeout(0)
    with suppress(BlockingIOError):
        while True:
            got.append(int.from_bytes(sock.recv(2000), "big"))
    sock.settimeout(PATIENCE_S)
    return got


def send(client, numbers, to, size=4):
    """Send numbers, and wait until the link has read them."""
    for number in numbers:
        client.sendto(number.to_bytes(size, "big"), to)
    wait_until(lambda: unread(to[1]) == 0, "the link to read")


def test_each_direction_is_delayed_by_no_less_than_it_says(probe, server, client):
    with link(probe, server, "--delay", "20ms/40ms") as (process, line):
        for number in range(20):
            began = time.perf_counter()
            client.sendto(bytes([number]), address(line))
            content, through = server.recvfrom(100)
            assert time.perf_counter() - began >= 0.020
            server.sendto(content, through)
            assert client.recv(100) == bytes([number])
            assert time.perf_counter() - began >= 0.060
        counts = statistics(process)
    assert counts["up"]["delivered_datagrams"] == counts["down"]["delivered_datagrams"] == 20
    assert counts["down"]["lateness"]["p50_s"] > 0


def test_as_many_are_lost_as_the_ratio_says_and_the_same_for_a_seed(probe, server, client):
    def survivors(seed):
        got = []
        with link(probe, server, "--loss", "10%", "--seed", str(seed)) as (process, line):
            for first in range(0, 2000, 50):  # not more at once than a socket buffer holds
                send(client, range(first, first + 50), address(line))
                got += drain(server)
            counts = statistics(process)["up"]
        got += drain(server)
        assert counts["missed_datagrams"] == 0
        assert counts["delivered_datagrams"] == len(got)
        assert len(got) + counts["dropped_datagrams"]["loss"] == 2000
        return got

    first = survivors(1)
    assert abs(len(first) - 1800) < 5 * math.sqrt(2000 * 0.1 * 0.9)
    assert survivors(1) == first
    assert survivors(2) != first


def test_a_rate_lets_through_no_more_than_it_says(probe, server, client):
    # 100 datagrams of 1028 B on the wire at 0.8 Mbit/s: 1.028 s for all of them.
    options = ["--rate", "0.8Mbps", "--queue", "200kB"]
    with link(probe, server, *options) as (_process, line):
        began = time.perf_counter()
        for number in range(100):
            client.sendto(number.to_bytes(1000, "big"), address(line))
        for number in range(100):
            assert int.from_bytes(server.recv(2000), "big") == number
        assert time.perf_counter() - began >= 1.028


def test_a_full_queue_drops(probe, server, client):
    options = ["--rate", "0.8Mbps", "--queue", "5kB"]
    with link(probe, server, *options) as (process, line):
        send(client, range(50), address(line), size=1000)
        counts = statistics(process)["up"]
    passed = drain(server)
    assert passed == sorted(passed)
    assert len(passed) == counts["delivered_datagrams"]
    dropped = counts["dropped_datagrams"]["queue_full"]
    assert dropped + counts["under_way_datagrams"] + len(passed) == 50
    # One is being sent and four wait; each that has passed made room for one.
    assert counts["under_way_datagrams"] <= 5


def test_reordering_is_what_the_receiver_sees(probe, server, client):
    got = []
    with link(probe, server, "--reorder", "20%", "--delay", "5ms") as (process, line):
        for first in range(0, 400, 50):
            send(client, range(first, first + 50), address(line))
            got += [int.from_bytes(server.recv(100), "big") for _ in range(50)]
        counts = statistics(process)["up"]
    assert sorted(got) == list(range(400))
    late = sum(number < max(got[: at + 1]) for at, number in enumerate(got))
    assert late == counts["reordered_datagrams"]
    assert abs(late - 80) < 5 * math.sqrt(400 * 0.2 * 0.8)


def option(*keys):
    """Return what the link calls a key of the scenario; its shares are in %, not ratios."""
    return "--" + "-".join(keys).removesuffix("_ratio").replace("_", "-")


def test_bursts_have_the_words_of_a_scenario(probe):
    command = [str(probe), "link", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"--[a-z-]+", said))
    assert option("loss_ratio") in options
    assert {"loss_ratio", "bursts"} <= set(Access.model_fields)
    # A relay counts packets; bursts that last for a time are the simulator's alone.
    keys = set(Bursts.model_fields) - {"mean_duration"}
    words = {option("bursts", key) for key in keys}
    assert words == {one for one in options if one.startswith("--bursts")}


def test_losses_in_bursts_come_as_they_were_put_in(probe):
    chain = bursts.chains()[0]
    lost = bursts.relayed(chain, 20_000, probe)  # as many as its statistics say
    put_in, found = bursts.expected(chain), bursts.measured(lost)
    # Some 600 bursts: the standard errors are 0.7 % and 4 %.
    assert found.autocorrelation == pytest.approx(put_in.autocorrelation, rel=bursts.BAR)
    assert found.loss_ratio == pytest.approx(put_in.loss_ratio, rel=0.16)
    assert found.p50_packets == pytest.approx(put_in.p50_packets, abs=1)
