"""Which kernel of the probe prices which operation of a profile, and why it fits.

One table. What deliberately does not live here: how a price is computed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """The kernel that an operation is priced by."""

    kernel: str
    why: str
    # What the lane waits for off the CPU: "wall" means the kernel's own wall time beyond its CPU
    # time, another name the latency_s of that kernel; empty, that it only computes.
    waits: str = ""
    # Whether it computes on several threads at once.
    parallel: bool = False
    # Which variant of the kernel: parameters besides a size.
    variant: tuple[tuple[str, float], ...] = ()
    # The kernel by which it opened `opened_datagrams`, which are an operation of their own.
    opens: str = ""


_NO_SOCKET = ", without a socket"
_OPENED = f"{_NO_SOCKET}, less the opening of its datagrams, which is packet_open"

SOURCES = {
    "sign": Source("ed25519_sign", "the same call on as many bytes"),
    "verify": Source("ed25519_verify", "the same call; strict, each time another message"),
    "hash": Source("sha256", "the same call on as many bytes"),
    "encode": Source(
        "block_encode",
        "the JSON block of the theses with a compact text payload, by serialised size",
    ),
    "decode": Source(
        "block_decode",
        "the JSON block of the theses with a compact text payload, by serialised size",
    ),
    "store": Source("file_append", "an append that reaches the page cache", waits="wall"),
    "udp_send": Source("udp_send", "one sendto, by payload size"),
    "udp_receive": Source(
        "udp_receive",
        "one recvfrom, by payload size; then the wake-up of the thread that waited for it, less the"
        " sendto that woke it and the recvfrom",
        waits="wake_up_latency",
    ),
    "task_spawn": Source("task_spawn", "start of a task and its first poll"),
    "endpoint_setup": Source(
        "quic_endpoint_setup",
        "a new runtime and endpoint, CPU time of all their threads",
        waits="wall",
        parallel=True,
    ),
    "endpoint_close": Source(
        "quic_endpoint_close", "closing both and joining the threads", waits="wall", parallel=True
    ),
    "handshake_start": Source("quic_handshake_start", f"the client's first flight{_NO_SOCKET}"),
    "handshake_respond": Source(
        "quic_handshake_respond", f"the server's flight{_OPENED}", opens="quic_packet_open"
    ),
    "handshake_finish": Source(
        "quic_handshake_finish", f"the client's second flight{_OPENED}", opens="quic_packet_open"
    ),
    "handshake_confirm": Source(
        "quic_handshake_confirm", f"the server's last check{_OPENED}", opens="quic_packet_open"
    ),
    "packet_seal": Source("quic_packet_seal", f"one packet built and encrypted{_NO_SOCKET}"),
    "packet_open": Source("quic_packet_open", f"one packet decrypted and processed{_NO_SOCKET}"),
    "stream_open": Source("quic_stream_open", "opening a stream"),
    "stream_accept": Source("quic_stream_accept", "accepting a stream and serving what came on it"),
    "sealed_box_seal": Source("sealed_box_seal", "the same call on as many bytes"),
    "sealed_box_open": Source("sealed_box_open", "the same call on as many bytes"),
}

# What only newer reports have measured: `calibration.fit.wakes` takes it apart from udp_receive.
WAKE = Source(
    "udp_wake_up",
    "from a sendto to a thread that sleeps on another core until it has read, less a sendto that"
    " wakes nobody and the recvfrom",
    variant=(("rest_s", 10e-3),),
)

QUIC_WAKE = Source(
    "quic_message_at_pace",
    "messages between two endpoints whose threads sleep in between",
    variant=(("rest_s", 10e-3),),
)

# What only newer reports have measured, of a thread that sleeps until a time.
TIMED_SLEEPS = {
    "timed_sleep": Source(
        "timed_sleep", "core time of the thread that sleeps, beside one that always computes"
    ),
    "timer_interrupt": Source(
        "timer_interrupt", "what the other loses to each sleep, less the sleeper's core time"
    ),
}

# What a profile says of `store` depends on what the app does with its chain.
STORES = {
    "file_append": SOURCES["store"],
    "file_append_fsync": Source(
        "file_append_fsync", "an append that reaches the flash memory", waits="wall"
    ),
    "sqlite_wal": Source(
        "sqlite_insert_commit",
        "a row of an SQLite table, committed to its write-ahead log",
        waits="wall",
        variant=(("wal", 1.0),),
    ),
    "sqlite_journal": Source(
        "sqlite_insert_commit",
        "a row of an SQLite table, committed with a rollback journal",
        waits="wall",
        variant=(("wal", 0.0),),
    ),
}
