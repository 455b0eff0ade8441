"""What the front half has to know about the compiled engine without loading it.

Loading the extension loads SimGrid, which belongs in child processes only. A test compares these
lists with the engine's own, and the operations with the machine contract.
"""

from __future__ import annotations

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
)

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


def operations() -> tuple[str, ...]:
    """Return the operations that a device profile must price, in the engine's order."""
    return OPERATIONS


def model_options() -> dict[str, str]:
    """Return the SimGrid options that the engine pins."""
    return dict(MODEL_OPTIONS)
