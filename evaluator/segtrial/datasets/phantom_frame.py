"""What holds the organs: skin, muscle, cavity, diaphragm, lungs, spine and ribs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segtrial.datasets.phantom_body import Body
from segtrial.datasets.phantom_fields import (
    Field,
    Space,
    cylinder,
    ellipsoid,
    mm,
    smooth_intersection,
    smooth_union,
    subtract,
    trunk,
)

_LEVEL = mm(34)  # from one vertebra to the next
_RIB_LEVEL = mm(26)


@dataclass(frozen=True, eq=False)
class Spine:
    """Vertebrae (one bone per level, with its arch), and the canal behind their bodies."""

    vertebrae: Field
    canal: Field
    discs: Field


def muscle_wall(body: Body) -> Field:
    """The trunk without its fat: a rounded box, slimmer at the waist."""
    waist = mm(9) - np.minimum(np.abs(body.space.z + mm(50)) // 10, mm(9))
    width, depth, _ = body.radii("wall", 153, 106, percent=3)
    return trunk(body.space, at=(0, 0), radii=(width - waist, depth - waist // 3))


def skin(body: Body, wall: Field) -> Field:
    """Outer surface: the wall and the fat on it, thicker in front and at the sides."""
    share = 700 + np.clip(body.space.y, -mm(100), mm(100)) // 16
    return wall - (mm(body.case.patient.fat_mm) * share >> 10)


def cavity(body: Body) -> Field:
    """Inner surface of the muscles, in front of the spine."""
    width, depth, _ = body.radii("cavity", 136, 84, percent=2)
    return trunk(body.space, at=(0, mm(13)), radii=(width, depth))


def diaphragm(body: Body) -> Field:
    """Negative below the two domes and the tendon between them; about mm of height."""
    right = _dome(body.space, body.at("dome/right", 72, 2, 98, by=6), (58, 52))
    left = _dome(body.space, body.at("dome/left", -76, -2, 88, by=6), (58, 52))
    tendon = _dome(body.space, body.at("dome/middle", -6, 24, 78, by=4), (110, 60))
    domes = smooth_union(smooth_union(right, left, mm(16)), tendon, mm(16))
    return smooth_union(domes, body.space.z - mm(24), mm(16))


def _dome(space: Space, at: tuple[int, int, int], flatness: tuple[int, int]) -> Field:
    """Negative below a paraboloid that stays high in front."""
    x, y = (space.x - at[0]) >> 3, (space.y - at[1]) >> 3
    drop = x * x // flatness[0] + y * y // flatness[1]
    drop -= np.maximum(y, 0) ** 2 * 2 // (flatness[1] * 3)
    below: Field = np.clip(space.z - at[2] + drop, -mm(250), mm(250)) * 5 >> 3
    return below


def heart(body: Body) -> Field:
    """The heart, on the tendon of the diaphragm, to the left."""
    at = body.at("heart", -26, 30, 124, by=5)
    return ellipsoid(body.space, at=at, radii=body.radii("heart", 60, 46, 50))


def mediastinum(body: Body) -> Field:
    """What lies between the lungs, the heart not counted."""
    return cylinder(body.space, at=(mm(-4), mm(-10)), radii=(mm(30), mm(78)))


def lungs(body: Body, cavity: Field, diaphragm: Field) -> Field:
    """Both lungs: the cavity above the diaphragm, without heart and mediastinum."""
    above = smooth_intersection(cavity + mm(4), mm(2) - diaphragm, mm(5))
    middle = smooth_union(heart(body) - mm(3), mediastinum(body), mm(10))
    return subtract(above, middle, mm(5))


def spine(body: Body) -> Spine:
    """Vertebrae and canal; the column sways a little from side to side and is hollow behind."""
    space, (sway, hollow) = body.space, (body.vary("sway", -6, 6), body.vary("hollow", 4, 12))
    height = space.z >> 6  # mm
    x = sway * height * (200 - np.abs(height)) // 160
    y = mm(-60) + hollow * ((height + 30) * (height + 30) >> 3) // -56
    centred = Space(space.x - x, space.y - y, space.z + body.vary("level", 0, 34) * 64)
    phase = (centred.z % _LEVEL) - _LEVEL // 2
    bodies = cylinder(centred, at=(0, 0), radii=(mm(24) - np.abs(phase) // -6, mm(18)))
    discs = bodies + mm(1)
    blocks = smooth_intersection(bodies, np.abs(phase) - mm(13), mm(4))
    canal = cylinder(centred, at=(0, mm(-25)), radii=(mm(11), mm(8)))
    arch = _arch(Space(centred.x, centred.y, phase))
    bone = subtract(smooth_union(blocks, arch, mm(4)), canal, mm(2))
    return Spine(bone, canal, discs)


def _arch(level: Space) -> Field:
    """Ring around the canal, processes to both sides and to the back, of one level."""
    ring = ellipsoid(level, at=(0, mm(-25), 0), radii=(mm(17), mm(14), mm(11)))
    aside = Space(np.abs(level.x), level.y + np.abs(level.x) // 5, level.z)
    transverse = ellipsoid(aside, at=(mm(24), mm(-18), mm(2)), radii=(mm(20), mm(5), mm(6)))
    back = Space(level.x, level.y, level.z - (level.y + mm(30)) // 3)
    spinous = ellipsoid(back, at=(0, mm(-42), mm(-4)), radii=(mm(4), mm(16), mm(10)))
    return smooth_union(smooth_union(ring, transverse, mm(5)), spinous, mm(4))


def ribs(body: Body, wall: Field) -> Field:
    """Bony arcs in the wall that fall towards the front, above the costal margin."""
    space = body.space
    depth = wall + mm(11)
    falling = space.z + (space.y * 3 >> 2) + (np.abs(space.x) * 3 >> 3)
    phase = (falling % _RIB_LEVEL) - _RIB_LEVEL // 2
    round_ = ((depth >> 1) ** 2 + (phase * 3 >> 3) ** 2) // mm(4) * 2 - mm(4)
    margin = mm(28) + (space.y * 3 >> 2) - (np.abs(space.x) >> 1) - space.z
    front = space.y - mm(66)
    middle = mm(32) - np.abs(space.x)
    limits = np.maximum(np.maximum(margin, front), middle)
    arcs: Field = np.maximum(round_, limits)
    return arcs
