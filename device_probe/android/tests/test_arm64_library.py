"""The library of the APK in an emulated process with real threads, sockets and files.

Its C library is musl instead of bionic, and Java is a stand-in; see harness/harness.c.
"""

from __future__ import annotations

TRADE = {"rates_per_s": [50.0], "duration_s": 0.4, "repetitions": 1, "pause_s": 0.0}


def trade(harness, carrier):
    listener = harness.start(activity="listen", bind="127.0.0.1:0")
    address = harness.until(listener, lambda status: status["address"])["address"]
    dialler = harness.start(activity="dial", peer=address, carrier=carrier, **TRADE)
    status = harness.end(dialler)
    assert status["stage"] == "finished", status
    harness.call("stopOf", listener)
    assert harness.end(listener)["stage"] == "finished"
    return harness.report(dialler)


def test_it_measures_on_bionics_numbers(harness, tmp_path):
    handle = harness.start(
        activity="run",
        depth="quick",
        scratch=str(tmp_path),
        only=["ed25519_verify", "sqlite_insert_commit", "udp_round_trip", "quic_handshake"],
        threads_max=2,
        extras={"thermal_status": 1, "debuggable": False},
    )
    status = harness.end(handle)
    assert status["stage"] == "finished", status
    report = harness.report(handle)
    assert report["made"]["libc"] == "bionic"
    assert report["made"]["target"] == "aarch64-linux-android"
    assert report["conditions"]["before"]["thermal_status"] == 1
    kernels = {row["kernel"]: row for row in report["measurements"]}
    for kernel in ("ed25519_verify", "sqlite_insert_commit", "udp_round_trip", "quic_handshake"):
        assert kernels[kernel]["status"] == "measured", kernels[kernel]["reason"]
    verifying = [row for row in report["measurements"] if row["kernel"] == "ed25519_verify"]
    assert {row["threads"] for row in verifying} == {1, 2}
    assert not list(tmp_path.iterdir()), "what it wrote is removed"


def test_it_trades_over_udp(harness):
    assert trade(harness, "udp")["complete"]


def test_it_trades_over_quic(harness):
    assert trade(harness, "quic_keep")["complete"]


def test_bad_input_and_panics_leave_it_alive(harness):
    argument, state = "java/lang/IllegalArgumentException", "java/lang/IllegalStateException"
    assert harness.call("start", "{").startswith(f"throws {argument}")
    assert harness.call("statusOf", 77).startswith(f"throws {argument}")
    assert harness.call("peer", "no address").startswith(f"throws {argument}")
    fault = '{"activity":"fault","on_thread":false}'
    assert harness.call("start", fault).startswith(f"throws {state}")
    handle = harness.start(activity="fault", on_thread=True)
    assert "asked to panic" in harness.end(handle)["error"]
    assert harness.call("reportOf", handle) == "null"
    assert harness.call("freeOf", handle) == "null"
    assert harness.call("link", "10.0.0.1:5") == "ok pocketsim-probe://trade/10.0.0.1:5"


def test_a_running_session_is_stopped(harness, tmp_path):
    handle = harness.start(activity="run", depth="full", scratch=str(tmp_path))
    harness.until(handle, lambda status: status["current"])
    harness.call("stopOf", handle)
    assert harness.end(handle)["stage"] == "finished"
    report = harness.report(handle)
    assert report["made"]["stopped"]
    assert "stopped" in {row["condition"] for row in report["spoiled"]}
