"""The static executable for a phone's shell under qemu-user, alone and against the host's build."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tools.android.elf import Elf
from tools.android.environment import BUILD, ROOT

# Emulated, on a busy machine. Only a hopeless test waits that long.
LIMIT_S = 240
ARM64 = ["qemu-aarch64", str(BUILD / "probe")]
HOST = [str(ROOT / "target/release/probe")]
DIAL = ["--carrier", "udp", "--rate", "50", "--duration", "500ms", "--repetitions", "1", "--json"]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_S)


@contextmanager
def listening(probe: list[str]) -> Iterator[str]:
    """Run `probe trade listen` on a free port; yield its link, then interrupt it."""
    command = [*probe, "trade", "listen", "--bind", "127.0.0.1:0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield next(word for line in process.stdout for word in line.split() if "://" in word)
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()
        assert process.wait(timeout=LIMIT_S) == 0


def test_it_is_static() -> None:
    elf = Elf.read(BUILD / "probe")
    assert elf.machine == "EM_AARCH64"
    assert elf.interpreter is None
    assert elf.needed == []


def test_it_says_what_it_is() -> None:
    version = run(*ARM64, "version")
    assert version.returncode == 0, version.stderr
    assert "aarch64-unknown-linux-musl" in version.stdout


def test_it_measures_and_its_report_is_valid(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ran = run(*ARM64, "run", "--quick", "-o", str(report))
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(report.read_text())
    assert document["made"]["libc"] == "musl"
    measured = {row["kernel"] for row in document["measurements"] if row["status"] == "measured"}
    assert {"ed25519_sign", "sqlite_insert_commit", "udp_round_trip", "quic_handshake"} <= measured
    for probe in (ARM64, HOST):
        checked = run(*probe, "check", str(report))
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(("listener", "dialler"), [(ARM64, HOST), (HOST, ARM64)])
def test_it_trades_with_the_hosts_build(listener: list[str], dialler: list[str]) -> None:
    with listening(listener) as link:
        traded = run(*dialler, "trade", "dial", link, *DIAL)
        assert traded.returncode == 0, traded.stderr
        assert json.loads(traded.stdout)["complete"]
