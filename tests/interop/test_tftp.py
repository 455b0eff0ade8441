"""The probe's TFTP against tftp-hpa: its client writes to our server, ours to its server."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
from pathlib import Path

import pytest

from support.interop_programs import PATIENCE_S, running, unpacked, unpacked_environment, wait_until

pytestmark = pytest.mark.interop

# Around the block of 512 bytes, whose multiples end with an empty one (RFC 1350, section 6).
SIZES = [0, 1, 511, 512, 513, 1024, 10_000]


def content(size):
    return hashlib.shake_128(str(size).encode()).digest(size)


@pytest.fixture(params=SIZES)
def file(request, tmp_path):
    path = tmp_path / f"file_{request.param}"
    path.write_bytes(content(request.param))
    return path


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def hpa_put(address, file, mode="binary"):
    host, _, port = address.rpartition(":")
    command = [unpacked("tftp"), "-m", mode, host, port, "-c", "put", str(file), file.name]
    done = subprocess.run(
        command,
        env=unpacked_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    # The client exits with 0 whatever the server says: only its words tell.
    assert "rror" not in done.stdout + done.stderr, done.stdout


@pytest.fixture
def stored(tmp_path):
    folder = tmp_path / "stored"
    folder.mkdir()
    return folder


def test_the_client_of_tftp_hpa_writes_to_the_probe(tftp_example, file, stored):
    with running(tftp_example, "serve", stored) as (_, address):
        hpa_put(address, file)
        arrived = stored / file.name
        wait_until(arrived.exists, "the file")
    assert arrived.read_bytes() == file.read_bytes()


def test_netascii_arrives_with_the_line_ends_of_this_system(tftp_example, tmp_path, stored):
    file = tmp_path / "text"
    file.write_bytes(b"one\ntwo\r\nthree\r" * 100)
    with running(tftp_example, "serve", stored) as (_, address):
        hpa_put(address, file, mode="ascii")
        arrived = stored / file.name
        wait_until(arrived.exists, "the file")
    assert arrived.read_bytes() == file.read_bytes()


@pytest.fixture
def in_tftpd(tmp_path):
    """Run the server of tftp-hpa; return its address and its folder."""
    if os.geteuid() != 0:
        pytest.skip("in.tftpd changes its root and user, which takes root")
    program, port = unpacked("in.tftpd"), free_port()
    folder = tmp_path / "served"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)  # it writes as nobody, whatever the umask here
    options = ["--foreground", "--address", f"127.0.0.1:{port}", "--create", "--secure"]
    with running_server([program, *options, str(folder)], port):
        yield f"127.0.0.1:{port}", folder


def running_server(command, port):
    process = subprocess.Popen(command, env=unpacked_environment())

    class Running:
        def __enter__(self):
            wait_until(lambda: is_bound(port) or process.poll() is not None, "in.tftpd")
            assert process.poll() is None, "in.tftpd ended at once"

        def __exit__(self, *_):
            process.terminate()
            process.wait(PATIENCE_S)

    return Running()


def is_bound(port):
    # Read, not tried: to bind it here could take it from who is about to.
    return f"0100007F:{port:04X}" in Path("/proc/net/udp").read_text()


def test_the_probe_writes_to_the_server_of_tftp_hpa(tftp_example, in_tftpd, file):
    address, folder = in_tftpd
    subprocess.run([tftp_example, "put", address, file], check=True, timeout=PATIENCE_S)
    arrived = folder / file.name
    wait_until(lambda: arrived.stat().st_size == file.stat().st_size, "the last block")
    assert arrived.read_bytes() == file.read_bytes()


def test_the_probe_writes_to_it_through_a_link(probe, tftp_example, in_tftpd, file):
    # The server answers from a new port for each transfer, and the link has to follow.
    address, folder = in_tftpd
    options = ["--listen", "127.0.0.1:0", "--to", address, "--ports", "1", "--delay", "1ms"]
    with running(probe, "link", *options) as (_, through):
        subprocess.run([tftp_example, "put", through, file], check=True, timeout=PATIENCE_S)
    arrived = folder / file.name
    wait_until(lambda: arrived.stat().st_size == file.stat().st_size, "the last block")
    assert arrived.read_bytes() == file.read_bytes()
