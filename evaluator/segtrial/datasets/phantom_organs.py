"""The organs that are labelled, and the vessels beside them."""

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
)
from segtrial.datasets.phantom_random import integers

_FORK_MM = -104  # where the aorta divides


@dataclass(frozen=True, eq=False)
class Kidney:
    """A kidney without its sinus, the sinus, and the field the cortex is measured in."""

    parenchyma: Field
    sinus: Field
    whole: Field


def kidney(body: Body, side: int) -> Kidney:
    """The kidney of one side: +1 right, -1 left. The upper pole leans to the spine."""
    name = "kidney/right" if side > 0 else "kidney/left"
    x, y, z = body.at(name, 64 * side, -44, -22 if side > 0 else -8, by=5)
    radii = body.radii(name, 29, 26, 54, percent=12)
    height = body.space.z - z
    leaning = Space(body.space.x + side * (height // 5), body.space.y + height // 8, body.space.z)
    whole = ellipsoid(leaning, at=(x, y, z), radii=radii)
    hilum = (x - side * mm(21), y + mm(6), z)
    sinus = ellipsoid(leaning, at=hilum, radii=(mm(19), mm(11), mm(21)))
    return Kidney(subtract(whole, sinus, mm(4)), sinus, whole)


def liver(body: Body, cavity: Field, diaphragm: Field, right_kidney: Field) -> Field:
    """Right and left lobe under the diaphragm, cut by a sloping lower face."""
    space = body.space
    right = ellipsoid(
        space,
        at=body.at("liver/right", 68, 4, 24, by=5),
        radii=body.radii("liver/right", 90, 100, 96),
    )
    left = ellipsoid(
        space,
        at=body.at("liver/left", -14, 52, 50, by=8),
        radii=body.radii("liver/left", 76, 40, 36, percent=14),
    )
    lobes = smooth_union(right, left, mm(18))
    slope = body.vary("liver/slope", 42, 60)
    reach = body.vary("liver/reach", -104, -74)
    lower = (mm(reach) + (mm(120) - space.x) * slope // 64 - space.y // 5 - space.z) * 3 >> 2
    under = smooth_intersection(lobes, diaphragm + mm(3), mm(6))
    inside = smooth_intersection(under, cavity + mm(4), mm(8))
    cut = smooth_intersection(inside, lower, mm(14))
    fossa = ellipsoid(space, at=(mm(22), mm(-8), mm(6)), radii=(mm(19), mm(32), mm(36)))
    return subtract(subtract(cut, right_kidney - mm(4), mm(8)), fossa, mm(12))


def gallbladder(body: Body) -> Field:
    """A pear under the liver."""
    at = body.at("gallbladder", 44, 36, -4, by=6)
    return ellipsoid(body.space, at=at, radii=(mm(15), mm(26), mm(17)))


def stomach(body: Body) -> Field:
    """The stomach: fundus under the left dome, body towards the middle and front."""
    fundus = ellipsoid(
        body.space, at=body.at("stomach/fundus", -66, 4, 56, by=6), radii=(mm(36), mm(36), mm(38))
    )
    antrum = ellipsoid(
        body.space, at=body.at("stomach/antrum", -40, 44, 16, by=8), radii=(mm(46), mm(26), mm(30))
    )
    return smooth_union(fundus, antrum, mm(22))


def spleen(body: Body, cavity: Field, diaphragm: Field, stomach: Field, kidney: Field) -> Field:
    """A crescent between the wall, the left dome, the stomach and the left kidney."""
    at = body.at("spleen", -100, -30, 36, by=6)
    radii = body.radii("spleen", 42, 50, 58, percent=16)
    height = body.space.z - at[2]
    leaning = Space(body.space.x - height // 6, body.space.y + height // 4, body.space.z)
    crescent = ellipsoid(leaning, at=at, radii=radii)
    hollow = ellipsoid(
        leaning, at=(at[0] + mm(48), at[1] + mm(20), at[2]), radii=(mm(34), mm(36), mm(46))
    )
    inside = smooth_intersection(crescent, cavity + mm(4), mm(8))
    under = smooth_intersection(inside, diaphragm + mm(4), mm(6))
    free = subtract(subtract(under, hollow, mm(8)), stomach - mm(3), mm(6))
    return subtract(free, kidney - mm(4), mm(6))


def aorta(body: Body) -> Field:
    """From behind the heart down the front of the spine to the fourth lumbar vertebra."""
    patient, z = body.case.patient, body.space.z
    high = np.clip(z - mm(60), 0, mm(60))
    x = mm(body.vary("aorta/x", -13, -5)) - high // 6
    y = mm(-31) - high * 2 // 5
    widest = mm(8) + patient.age * 3 + (mm(1) if patient.sex == "M" else 0)
    radius = widest - np.clip(mm(70) - z, 0, mm(170)) // 80
    if "aneurysm" in patient.traits:
        from_widest = z - mm(-56)
        bulge = np.maximum(mm(14) - from_widest * from_widest // mm(80), 0)
        radius, y = radius + bulge, y + bulge * 3 // 4
    tube = cylinder(body.space, at=(x, y), radii=(radius, radius))
    return smooth_intersection(tube, mm(_FORK_MM) - z, mm(4))


def iliac_arteries(body: Body) -> Field:
    """The two branches in which the aorta ends; no part of its label."""
    below = np.clip(mm(_FORK_MM + 10) - body.space.z, 0, mm(140))
    aside = Space(np.abs(body.space.x + mm(9) - below // 9), body.space.y, body.space.z)
    tube = cylinder(aside, at=(below // 3, mm(-31) + below // 8), radii=(mm(6), mm(6)))
    limited: Field = np.maximum(tube, body.space.z - mm(_FORK_MM + 10))
    return limited


def vena_cava(body: Body) -> Field:
    """To the right of the aorta, wider than deep, into the liver and the heart."""
    z = body.space.z
    forward = np.clip(z - mm(20), 0, mm(80))
    fork = np.clip(mm(_FORK_MM - 6) - z, 0, mm(140))
    x, y = mm(17), mm(-33) + forward // 2
    right = cylinder(body.space, at=(x + fork // 6, y), radii=(mm(13), mm(10)))
    left = cylinder(body.space, at=(x - fork * 2 // 3, y - fork // 9), radii=(mm(13), mm(10)))
    return smooth_union(right, left, mm(3))


def liver_tumours(body: Body, liver: Field) -> Field:
    """Round lesions inside the liver, growing from scan to scan."""
    seed = f"{body.case.patient.patient}/tumours"
    nowhere = np.full_like(liver, mm(100))
    if "liver_tumours" not in body.case.patient.traits:
        return nowhere
    found = nowhere
    for number in range(body.vary("tumours", 1, 4)):
        dx, dy, dz, size = integers(f"{seed}/{number}", 0, 1 << 16, 4)
        at = (
            mm(36) + (dx * mm(66) >> 16),
            mm(-34) + (dy * mm(80) >> 16),
            mm(-4) + (dz * mm(58) >> 16),
        )
        radius = mm(8) + (size * mm(16) >> 16) + mm(3) * body.case.years_later
        lesion = ellipsoid(body.space, at=at, radii=(radius, radius * 7 // 8, radius))
        found = smooth_union(found, lesion, mm(3))
    inside: Field = np.maximum(found, liver + mm(2))
    return inside


def kidney_cysts(body: Body) -> Field:
    """Round cysts at the outer face of the kidneys a patient has."""
    traits = body.case.patient.traits
    found = np.full_like(body.space.x, mm(100))
    if "kidney_cysts" not in traits:
        return found
    for number in range(body.vary("cysts", 1, 3)):
        seed = f"{body.case.patient.patient}/cyst/{number}"
        side, dy, dz, size = integers(seed, 0, 1 << 16, 4)
        right = bool(side & 1)
        if ("no_right_kidney" if right else "no_left_kidney") in traits:
            continue
        at = (
            mm(86) if right else mm(-86),
            mm(-56) + (dy * mm(24) >> 16),
            mm(-44) + (dz * mm(60) >> 16),
        )
        radius = mm(9) + (size * mm(13) >> 16)
        found = np.minimum(found, ellipsoid(body.space, at=at, radii=(radius, radius, radius)))
    return found
