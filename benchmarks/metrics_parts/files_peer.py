"""From two compressed files to the metrics of surface-distance, as its users write it."""

from __future__ import annotations

import sys

import nibabel
import numpy as np
from methods import labels_of, mask_pairs, surface_distance


def main() -> None:
    """Read, measure, print."""
    images = [nibabel.load(path) for path in sys.argv[1:3]]
    reference, prediction = (np.asanyarray(image.dataobj) for image in images)
    spacing_mm = [float(step) for step in images[0].header.get_zooms()[:3]]
    pairs = mask_pairs(reference, prediction, labels_of(reference))
    print({name: surface_distance(masks, spacing_mm) for name, masks in pairs})


if __name__ == "__main__":
    main()
