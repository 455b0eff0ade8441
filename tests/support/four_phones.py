"""A scenario of four phones on one network; what they do, and files of people, are a test's own."""

HEAD = """
title = "four phones"
implementation = "trustchain_throughput_2025"
[run]
seed = 1
duration = "10min"
repetitions = 1
[[devices]]
profile = "moto_g04s"
count = 4
access = "wifi"
[network.access.wifi]
up = "40Mbps"
down = "40Mbps"
latency = "2ms"
[transport]
mode = "udp"
"""
