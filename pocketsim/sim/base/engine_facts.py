"""What the front half has to know about the compiled engine without loading it.

So documents are checked without a compiled engine. Tests compare these lists with the engine's
own, the operations with the machine contract, and sizes with the protocols.
"""

from __future__ import annotations

SIMGRID = "4.1"
"""Version of the library that `_simgrid.so` is compiled for, and for no other."""

OPERATIONS = (
    "command",
    "sign",
    "verify",
    "hash",
    "encode",
    "decode",
    "store",
    "udp_send",
    "udp_receive",
    "task_spawn",
    "endpoint_setup",
    "endpoint_close",
    "discovery",
    "handshake_start",
    "handshake_respond",
    "handshake_finish",
    "handshake_confirm",
    "packet_seal",
    "packet_open",
    "stream_open",
    "stream_accept",
    "file_block",
    "sealed_box_seal",
    "sealed_box_open",
    "overlay_send",
    "overlay_receive",
    "udp_wake",
    "quic_wake",
    "file_open",
    "timed_sleep",
    "timer_interrupt",
)

EVENT_KINDS = (
    *("send", "process", "receive_back", "store", "store_peer", "refuse", "lose", "drop"),
    *("connect", "disconnect", "unpayable", "take", "submit", "decide", "settle"),
    *("double_spend", "accuse", "phone_on", "phone_off", "begin", "compute", "deliver", "observe"),
)
"""Kinds of rows that every trace may have; a custom protocol adds what it observes."""

# CM02 with factors of 1: the default LV08 is a fit of TCP slow start and multiplies latency by
# 13.01 (SimGrid docs/source/Models.rst), which is wrong for datagrams.
MODEL_OPTIONS = {
    "network/model": "CM02",
    "network/latency-factor": "1.0",
    "network/bandwidth-factor": "1.0",
    "network/weight-S": "0.0",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "0",
    "cpu/model": "Cas01",
}

MESSAGE_BYTES_MAX = {
    "udp": 65_507,  # one datagram, UDP_PAYLOAD_BYTES_MAX
    "tftp": 65_535 * 512 - 1,  # BLOCKS_MAX of BLOCK_BYTES, the last not full
    "ipv8": 1_472 - 31,  # UDP_PAYLOAD_LIMIT_BYTES less UNSIGNED_PACKET_BYTES
    "ipv8_sealed": 1_472 - 31 - 48,  # and less SEALED_BOX_BYTES
}
"""The largest message that a transport takes; it drops larger ones as `oversized`."""

BLOCK_BYTES = 231 + 1 + 2 * 88 + 2 * 64
"""What a block has around its payload when both have signed it and both chains go before it:
FIXED_BYTES, an index of one digit, SIGNATURE_CHARS and HASH_CHARS. Later indexes add digits."""

PAYLOAD_BYTES_MIN = 4
"""COUNTER_DIGITS: a block's payload is never shorter."""


OF_AN_IMPLEMENTATION = (
    *("command", "discovery", "file_block", "file_open"),
    *("overlay_send", "overlay_receive"),
)
"""Operations that no device has a cost of: what they consist of is the implementation's affair."""

OPTIONAL = ("udp_wake", "quic_wake", "timed_sleep", "timer_interrupt")
"""Operations of a device that a profile may leave out: then they take nothing."""

SLEEPS = ("timed_sleep", "timer_interrupt")
"""Operations of a sleep until a time, at whoever sleeps and at whoever computes meanwhile."""


def operations() -> tuple[str, ...]:
    """Return the operations that machines ask for, in the engine's order."""
    return OPERATIONS


def device_operations() -> tuple[str, ...]:
    """Return the operations that a device profile must price, in the engine's order."""
    return tuple(name for name in OPERATIONS if name not in (*OF_AN_IMPLEMENTATION, *OPTIONAL))


def model_options() -> dict[str, str]:
    """Return the SimGrid options that the engine pins."""
    return dict(MODEL_OPTIONS)
