"""Platforms for tests, and a program of plain SimGrid's that says what flows over them come to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pocketsim.sim.base.engine_facts import model_options

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "build" / "simgrid"
SOURCE = Path(__file__).with_name("simgrid_flows.cpp")
# Of SimGrid's source distribution, where somebody has unpacked that.
EXAMPLES = Path(os.environ.get("SIMGRID_EXAMPLES", SDK / "examples" / "platforms"))

HEAD = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""
# Trunks that nobody shares, and a detour from a to c that is taken one way.
PIPES = f"""{HEAD}  <zone id="pipes" routing="Floyd">
    <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/> <host id="c" speed="1Gf"/>
    <router id="middle"/>
    <link id="la" bandwidth="10MBps" latency="1.25ms" sharing_policy="FATPIPE"/>
    <link id="lb" bandwidth="2MBps" latency="3.7ms" sharing_policy="FATPIPE"/>
    <link id="lc" bandwidth="80Mbps" latency="700us" sharing_policy="FATPIPE"/>
    <link id="detour" bandwidth="5MBps" latency="9ms" sharing_policy="FATPIPE"/>
    <route src="a" dst="middle"><link_ctn id="la"/></route>
    <route src="b" dst="middle"><link_ctn id="lb"/></route>
    <route src="c" dst="middle"><link_ctn id="lc"/></route>
    <bypassRoute src="a" dst="c"><link_ctn id="detour"/></bypassRoute>
  </zone>
</platform>
"""
# Coordinates, in milliseconds, make latencies that no link has.
VIVALDI = f"""{HEAD}  <zone id="places" routing="Vivaldi">
    <peer id="p" coordinates="25.5 9.4 1.4" speed="1Gf" bw_in="2.25GBps" bw_out="2.25GBps"/>
    <peer id="q" coordinates="-12.7 -9.9 2.1" speed="1Gf" bw_in="2.25GBps" bw_out="2.25GBps"/>
  </zone>
</platform>
"""
# Two towns with gateways, each host on a line of its own each way, and trunks that all share.
TOWNS = f"""{HEAD}  <zone id="country" routing="Full">
    <zone id="north" routing="Floyd">
      <router id="gw_north"/> <host id="n1" speed="1Gf"/> <host id="n2" speed="1Gf"/>
      <link id="n1_line" bandwidth="1MBps" latency="1ms" sharing_policy="SPLITDUPLEX"/>
      <link id="n2_line" bandwidth="400kBps" latency="2ms" sharing_policy="SPLITDUPLEX"/>
      <route src="n1" dst="gw_north"><link_ctn id="n1_line" direction="UP"/></route>
      <route src="n2" dst="gw_north"><link_ctn id="n2_line" direction="UP"/></route>
    </zone>
    <zone id="south" routing="Floyd">
      <router id="gw_south"/> <host id="s1" speed="1Gf"/> <host id="s2" speed="1Gf"/>
      <link id="s1_line" bandwidth="1MBps" latency="1ms" sharing_policy="SPLITDUPLEX"/>
      <link id="s2_line" bandwidth="800kBps" latency="500us" sharing_policy="SPLITDUPLEX"/>
      <route src="s1" dst="gw_south"><link_ctn id="s1_line" direction="UP"/></route>
      <route src="s2" dst="gw_south"><link_ctn id="s2_line" direction="UP"/></route>
    </zone>
    <link id="trunk" bandwidth="500kBps" latency="4ms" sharing_policy="SPLITDUPLEX"/>
    <zoneRoute src="north" dst="south" gw_src="gw_north" gw_dst="gw_south">
      <link_ctn id="trunk" direction="UP"/>
    </zoneRoute>
  </zone>
</platform>
"""


def built(folder: Path) -> Path:
    """Return the program, compiled against SimGrid's library."""
    program = folder / "simgrid_flows"
    command = [os.environ.get("CXX", "g++"), "-std=c++17", "-O1", f"-I{SDK / 'include'}"]
    library = SDK / "lib"
    linked = [f"-L{library}", "-lsimgrid", f"-Wl,-rpath,{library}"]
    subprocess.run([*command, str(SOURCE), "-o", str(program), *linked], check=True)
    return program


def flows(program: Path, platform: Path, asked) -> list[tuple[float, float]]:
    """Return of each flow (from, to, bytes, start_s) the latency of its route and when it ends."""
    options = [f"--cfg={name}:{value}" for name, value in model_options().items()]
    lines = "".join(f"{one} {other} {size} {start_s!r}\n" for one, other, size, start_s in asked)
    command = [str(program), str(platform), *options, "--log=root.thresh:warning"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
