"""What the phantom's tissues are called, and how dense they are."""

from __future__ import annotations

from segtrial.datasets.phantom_body import Body

LABELS = {
    "liver": 1,
    "spleen": 2,
    "kidney_left": 3,
    "kidney_right": 4,
    "aorta": 5,
    "vertebrae": 6,
    "lung_left": 7,
    "lung_right": 8,
    "liver_tumor": 9,
    "kidney_cyst": 10,
}
"""Structure and its id in the reference; 0 is everything else."""

_ENHANCED_HU = {
    "native": {
        "liver": 58, "spleen": 49, "cortex": 34, "medulla": 30, "aorta": 42, "vein": 40,
        "tumour": 44, "vessel": 44, "gut": 40, "muscle": 54, "pancreas": 42,
    },
    "arterial": {
        "liver": 74, "spleen": 128, "cortex": 190, "medulla": 96, "aorta": 310, "vein": 82,
        "tumour": 96, "vessel": 92, "gut": 58, "muscle": 58, "pancreas": 98,
    },
    "portal": {
        "liver": 108, "spleen": 122, "cortex": 186, "medulla": 162, "aorta": 152, "vein": 146,
        "tumour": 66, "vessel": 150, "gut": 62, "muscle": 62, "pancreas": 92,
    },
}  # fmt: skip
"""Typical enhancement of each tissue by contrast phase."""


def tissue_hu(body: Body) -> dict[str, int]:
    """Each tissue as this patient, in this scan, shows it."""
    typical = dict(_ENHANCED_HU[body.case.phase])
    if "fatty_liver" in body.case.patient.traits:
        typical["liver"] -= 34
        typical["tumour"] -= 10
    return {name: hu + body.vary(f"hu/{name}", -7, 7) for name, hu in typical.items()}
