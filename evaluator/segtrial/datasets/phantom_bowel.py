"""What is not labelled and gets in the way: bowel, pancreas, muscles beside the spine, a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from segtrial.datasets.phantom_body import Body
from segtrial.datasets.phantom_fields import Field, Length, Space, cylinder, ellipsoid, mm
from segtrial.datasets.phantom_random import integers

_LOOPS = 52


@dataclass(frozen=True, eq=False)
class Gut:
    """A piece of bowel: its outer wall, where in front its gas begins, and what else is in it."""

    wall: Field
    gas_above: Length
    content_hu: int


def loops(body: Body) -> Iterator[Gut]:
    """Small bowel, in the front and lower half of the cavity."""
    for number in range(_LOOPS):
        seed = f"{body.case.patient.patient}/loop/{number}"
        x, y, z, a, b, c, fill, gas = integers(seed, 0, 1 << 16, 8)
        at = (
            mm(-84) + (x * mm(168) >> 16),
            mm(-2) + (y * mm(82) >> 16),
            mm(-226) + (z * mm(222) >> 16),
        )
        radii = (
            mm(17) + (a * mm(22) >> 16),
            mm(13) + (b * mm(10) >> 16),
            mm(13) + (c * mm(14) >> 16),
        )
        level = at[1] + mm(4) if gas % 5 == 0 else mm(400)
        yield Gut(ellipsoid(body.space, at=at, radii=radii), level, 12 + fill % 40)


def colon(body: Body) -> Iterator[Gut]:
    """Ascending and descending colon, with haustra."""
    z = body.space.z
    pouches = np.abs((z % mm(36)) - mm(18)) // 4
    for side, top in ((1, -34), (-1, 10)):
        x, y, _ = body.at(f"colon/{side}", 104 * side, -8, 0, by=5)
        radius = mm(20) - pouches // 2
        tube = cylinder(body.space, at=(x, y), radii=(radius, radius))
        yield Gut(np.maximum(tube, z - mm(top)), y + mm(body.vary(f"gas/{side}", -4, 14)), 25)


def pancreas(body: Body) -> Field:
    """From the duodenum across the spine to the spleen, bent around it."""
    space = body.space
    bent = Space(space.x, space.y + (space.x >> 4) ** 2 // mm(42), space.z + space.x // 5)
    return ellipsoid(bent, at=body.at("pancreas", -12, 6, 10, by=5), radii=(mm(74), mm(11), mm(15)))


def psoas(body: Body) -> Field:
    """Muscles beside the spine, thicker towards the pelvis."""
    down = np.clip(mm(10) - body.space.z, 0, mm(160))
    aside = Space(np.abs(body.space.x), body.space.y, body.space.z)
    size = mm(8) + down // 9
    tube = cylinder(aside, at=(mm(34) + down // 8, mm(-56) + down // 8), radii=(size, size))
    muscles: Field = np.maximum(tube, body.space.z - mm(20))
    return muscles


def table(space: Space) -> Field:
    """The table under the patient: a thin trough. Its place is the world's, not the patient's."""
    depth = space.y + mm(128) - (space.x >> 4) ** 2 // mm(90)
    trough: Field = np.maximum(np.abs(depth) - mm(5), np.abs(space.x) - mm(190))
    return trough
