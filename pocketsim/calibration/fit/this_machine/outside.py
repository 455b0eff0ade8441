"""What leaves the process: UDP over loopback, files and SQLite, sleeps and wake-ups."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import struct
import threading
from typing import TYPE_CHECKING

from pocketsim.calibration.fit.this_machine.rounds import Batch, Once, Work

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pocketsim.calibration.fit.this_machine.clock import Clock

DATAGRAMS = (128, 668, 1472)
"""Bytes: up to what fits into a packet of Ethernet."""

SLEEPS_S = (0.001, 0.004, 0.016)
"""What is asked for: a profile's law is about sleeps from 1 ms on."""


@contextlib.contextmanager
def outside(folder: Path) -> Iterator[list[Work]]:
    """Yield works whose files lie in `folder`, and whose sockets are closed at the end."""
    with contextlib.ExitStack() as stack:
        yield [*_udp(stack), *_files(stack, folder), *_tables(stack, folder), *_waits(stack)]


def socket_buffer_bytes() -> int:
    """Return the receive buffer that a fresh socket is granted, as the kernel counts."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as fresh:
        return fresh.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def _pair(stack: contextlib.ExitStack) -> tuple[socket.socket, socket.socket]:
    """Return two sockets that are connected with each other over loopback."""
    one, other = (
        stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2)
    )
    for end in (one, other):
        end.bind(("127.0.0.1", 0))
        # Not settimeout(), with which each call would poll(2) first.
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEOUT)
    one.connect(other.getsockname())
    other.connect(one.getsockname())
    return one, other


def _udp(stack: contextlib.ExitStack) -> Iterator[Work]:
    for size_bytes in DATAGRAMS:
        yield from _datagrams(stack, bytes(size_bytes))


def _datagrams(stack: contextlib.ExitStack, data: bytes) -> Iterator[Work]:
    sender, receiver = _pair(stack)

    def empty(_: int = 0) -> None:
        receiver.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                receiver.recv(_LARGEST)
        receiver.settimeout(None)

    def fill(count: int) -> None:
        empty()
        for _ in range(count):
            sender.send(data)

    yield Batch("udp_send", len(data), lambda: sender.send(data), _QUEUED, empty)
    yield Batch("udp_receive", len(data), lambda: receiver.recv(_LARGEST), _QUEUED, fill)


def _files(stack: contextlib.ExitStack, folder: Path) -> Iterator[Work]:
    flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
    for size_bytes in _RECORDS:
        file = os.open(folder / f"append_{size_bytes}", flags)
        stack.callback(os.close, file)
        yield from _appends(file, bytes(size_bytes))


def _appends(file: int, data: bytes) -> Iterator[Work]:
    def durably() -> None:
        os.write(file, data)
        os.fsync(file)

    def cut(_: int) -> None:
        os.ftruncate(file, 0)

    yield Batch("file_append", len(data), lambda: os.write(file, data), _RECORDS_MOST, cut)
    yield Batch("file_append_fsync", len(data), durably, _RECORDS_MOST, cut)


def _tables(stack: contextlib.ExitStack, folder: Path) -> Iterator[Work]:
    for kernel, journal in (("sqlite_wal", "WAL"), ("sqlite_journal", "DELETE")):
        # Without transactions of Python's: each row is committed as it is written.
        table = sqlite3.connect(folder / f"{kernel}.db", isolation_level=None)
        stack.callback(table.close)
        table.execute(f"PRAGMA journal_mode = {journal}")
        table.execute("PRAGMA synchronous = FULL")
        table.execute("CREATE TABLE blocks (bytes BLOB)")
        yield _insert(kernel, table, bytes(_RECORDS[0]))


def _insert(kernel: str, table: sqlite3.Connection, data: bytes) -> Work:
    def insert() -> None:
        table.execute("INSERT INTO blocks VALUES (?)", (data,))

    return Batch(kernel, len(data), insert, _RECORDS_MOST)


def _waits(stack: contextlib.ExitStack) -> Iterator[Work]:
    sender, receiver = _pair(stack)
    yield Once("wake_up_latency", lambda clock: _wake_up_s(sender, receiver, clock))
    for asked_s in SLEEPS_S:
        yield _sleep(asked_s)


def _wake_up_s(sender: socket.socket, receiver: socket.socket, clock: Clock) -> float:
    """Return from before a send until a thread that waited for it has it, the median of a few."""
    woken: list[float] = []

    def wait() -> None:
        for _ in range(_WAKE_UPS):
            receiver.recv(_LARGEST)
            woken.append(clock.wall_s())
            receiver.send(b"got it")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    sent = []
    for _ in range(_WAKE_UPS):
        clock.sleep(_IDLE_S)
        sent.append(clock.wall_s())
        sender.send(b"wake up")
        sender.recv(_LARGEST)
    thread.join()
    return sorted(end - start for start, end in zip(sent, woken, strict=True))[_WAKE_UPS // 2]


def _sleep(asked_s: float) -> Work:
    def too_long_s(clock: Clock) -> float:
        start_s = clock.wall_s()
        clock.sleep(asked_s)
        return clock.wall_s() - start_s - asked_s

    return Once(f"sleep_{asked_s:g}", too_long_s)


_RECORDS = (668, 4096)  # bytes: a block, and a page
_RECORDS_MOST = 1000  # at once: 4 MB, which no disk lacks
_QUEUED = 32  # datagrams: they fit into a receive buffer of 208 KiB with what the kernel adds
_LARGEST = 65_536
# Seconds and microseconds. Loopback loses nothing: without it a mistake would hang.
_TIMEOUT = struct.pack("@ll", 5, 0)
_WAKE_UPS = 5
_IDLE_S = 0.001  # until the thread waits
