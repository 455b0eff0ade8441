"""Writes the platforms that come with the package, with weights and routes, from tables of towns.

`python -m tools.platforms` writes NAME.xml, NAME.csv and, by asking SimGrid (`make simgrid`),
NAME.routes.json of each to pocketsim/platforms. Tests fail when these are stale.
"""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass

from pocketsim.sim.scenario import platform_routes
from pocketsim.sim.scenario.platform_routes import Wanted

FOLDER = platform_routes.PLATFORMS


@dataclass(frozen=True)
class Town:
    """A town by name, with its place in degrees and its inhabitants."""

    name: str
    latitude: float
    longitude: float
    inhabitants: int


# Coordinates are those of towns' centres. Inhabitants of the first four are of 1 January 2025
# (CBS); the others are rounded to thousands.
NETHERLANDS = (
    Town("amsterdam", 52.370, 4.895, 935_793),
    Town("rotterdam", 51.922, 4.479, 672_330),
    Town("denhaag", 52.078, 4.310, 568_419),
    Town("utrecht", 52.091, 5.122, 376_435),
    Town("eindhoven", 51.441, 5.478, 246_000),
    Town("groningen", 53.219, 6.567, 244_000),
    Town("tilburg", 51.560, 5.091, 230_000),
    Town("nijmegen", 51.843, 5.855, 187_000),
    Town("enschede", 52.221, 6.894, 162_000),
    Town("zwolle", 52.516, 6.083, 133_000),
    Town("leeuwarden", 53.201, 5.800, 129_000),
    Town("maastricht", 50.851, 5.691, 125_000),
)


def main() -> int:
    """Write the files; return 0."""
    xml = FOLDER / "netherlands.xml"
    xml.write_text(platform_of("netherlands", NETHERLANDS))
    xml.with_suffix(".csv").write_text(weights_of(NETHERLANDS))
    routes = platform_routes.text(platform_routes.ask(xml, Wanted(hosts=True)))
    xml.with_name("netherlands.routes.json").write_text(routes)
    return 0


def platform_of(name: str, towns: tuple[Town, ...]) -> str:
    """Return a country as a platform: each town a host, a link from it and one for each pair."""
    hosts = [f'<host id="{town.name}" speed="1Gf"/>' for town in towns]
    links = [_link(_access(town), TOWN_MS) for town in towns]
    routes = [_route(town, town, _access(town), _access(town)) for town in towns]
    for one, other in itertools.combinations(towns, 2):
        between = f"{one.name}-{other.name}"
        links.append(_link(between, KM_MS * distance_km(one, other)))
        routes.append(_route(one, other, _access(one), between, _access(other)))
    inside = "\n".join(f"    {line}" for line in (*hosts, *links, *routes))
    return (
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f"{_HEAD}\n"
        f'<platform version="4.1">\n  <zone id="{name}" routing="Full">\n{inside}\n'
        "  </zone>\n</platform>\n"
    )


def weights_of(towns: tuple[Town, ...]) -> str:
    """Return how many inhabitants each town has, as CSV."""
    return "".join(
        f"{line}\n"
        for line in ("netpoint,weight", *(f"{town.name},{town.inhabitants}" for town in towns))
    )


def distance_km(one: Town, other: Town) -> float:
    """Return the distance of two towns on a sphere (the haversine formula)."""
    places = [(math.radians(town.latitude), math.radians(town.longitude)) for town in (one, other)]
    (north, east), (other_north, other_east) = places
    along = math.sin((other_north - north) / 2) ** 2
    across = math.cos(north) * math.cos(other_north) * math.sin((other_east - east) / 2) ** 2
    return 2 * _EARTH_KM * math.asin(math.sqrt(along + across))


def _access(town: Town) -> str:
    return f"{town.name}-access"


def _link(name: str, latency_ms: float) -> str:
    limits = f'bandwidth="10GBps" latency="{latency_ms:.4f}ms" sharing_policy="FATPIPE"'
    return f'<link id="{name}" {limits}/>'


def _route(one: Town, other: Town, *links: str) -> str:
    taken = "".join(f'<link_ctn id="{link}"/>' for link in links)
    return f'<route src="{one.name}" dst="{other.name}">{taken}</route>'


TOWN_MS = 0.55
"""Between a site and the middle of its town: assumed. So the median round trip of two towns is 4.5
ms; WonderNetwork measured 4.25 ms in 2018, between 28 pairs of 8 Dutch sites."""
KM_MS = 2.1 / (299.792458 / 1.468)
"""Of a kilometre as the crow flies: 2.1 times what light in fibre takes (Bozkurt et al., PAM 2018),
whose index of refraction is 1.468."""
_EARTH_KM = 6371.0
_HEAD = f"""<!-- Written by tools/platforms.py, which says where the numbers come from.
     One way between sites of two towns: {TOWN_MS} ms + {KM_MS:.6f} ms/km + {TOWN_MS} ms;
     of one town, twice {TOWN_MS} ms. No link is shared: where a study wants that, write SHARED or
     SPLITDUPLEX (and a direction in its routes) in a copy of this file. -->"""

if __name__ == "__main__":
    sys.exit(main())
