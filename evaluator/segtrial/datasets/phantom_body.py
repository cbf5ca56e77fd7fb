"""One invented body: how it differs from the reference adult, and where it lies in a scan.

Positions are in millimetres of a reference adult: x to the right, y to the front, z to the head
from the first lumbar vertebra. Every body is that one, scaled, bent by a smooth random
displacement, and varied organ by organ; the numbers are proportions read off anatomy, not
measurements of anyone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segtrial.datasets.phantom_fields import Space, mm, smooth_noise
from segtrial.datasets.phantom_patients import Case
from segtrial.datasets.phantom_random import integer, integers

_DISPLACEMENT_MM = 9  # where the bending noise is at its extreme; typically a third of it


@dataclass(frozen=True, eq=False)
class Body:
    """One body in one scan: fields are made on demand, from organs that shape each other.

    Attributes
    ----------
    case : Case
        Whose body, and when.
    space : Space
        Position of each voxel in the reference adult, bent and scaled.
    """

    case: Case
    space: Space

    def vary(self, what: str, low: int, high: int) -> int:
        """A number that belongs to the patient, not to the scan."""
        return integer(f"{self.case.patient.patient}/{what}", low, high)

    def at(self, what: str, x: int, y: int, z: int, *, by: int) -> tuple[int, int, int]:
        """A place in ticks, varied by up to `by` mm along each axis from patient to patient."""
        dx, dy, dz = integers(f"{self.case.patient.patient}/{what}/at", -by * 64, by * 64, 3)
        return mm(x) + dx, mm(y) + dy, mm(z) + dz

    def radii(
        self, what: str, a: int, b: int, c: int = 0, *, percent: int = 8
    ) -> tuple[int, int, int]:
        """Lengths given in mm, in ticks, each varied by up to `percent` between patients."""
        seed = f"{self.case.patient.patient}/{what}/radii"
        shares = integers(seed, 100 - percent, 100 + percent, 3)
        i, j, k = (mm(r) * share // 100 for r, share in zip((a, b, c), shares, strict=True))
        return i, j, k


def body_of(case: Case, space: Space, step: tuple[int, int, int]) -> Body:
    """Place a patient in a scan.

    Parameters
    ----------
    case : Case
        The scan.
    space : Space
        World position of each voxel, ticks.
    step : tuple of int
        Voxels along each axis that `bend` puts between control points.
    """
    patient = case.patient
    scale = integer(f"{patient.patient}/scale", 985, 1050) - (65 if patient.sex == "F" else 0)
    bent = []
    for name, position in zip("xyz", (space.x, space.y, space.z), strict=True):
        noise = smooth_noise(f"{case.case}/bend/{name}", position.shape, step)
        shifted = position * 1024 // scale + (noise * mm(_DISPLACEMENT_MM) >> 15)
        bent.append(shifted.astype(np.int32))
    return Body(case, Space(*bent))
