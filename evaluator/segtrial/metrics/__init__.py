"""Metrics of a pair of label maps: arrays in, numbers out, each with what decided it.

Conventions
-----------
Label maps are integer arrays on one grid, in canonical axes (the layer above brings them there by
their affine: the triangulation is not symmetric under axis flips). Lengths are in mm, areas in mm2,
volumes in ml. A mask is zero-padded: anatomy cut by the border of the volume has a surface there.

Definitions
-----------
For a structure with reference mask R and prediction mask P:

- **Dice** is 2 |R and P| / (|R| + |P|), **IoU** is |R and P| / |R or P|, in voxels.
- **Surface elements** are the triangles of the marching-cubes surface of the mask at level 0.5 and
  true spacing (Lewiner's cases as in scikit-image); in 2D the segments of the marching-squares
  contour, diagonal pixels not joined. An element's **distance** goes from its centroid to the
  nearest point of the other surface, exactly; its **weight** is its area (length in 2D).
- **HD** is the largest distance over the elements of both surfaces.
- **HDp** is the larger of the two directed weighted percentiles: the smallest distance at which the
  cumulative weight reaches p percent. ``hdp_pooled`` takes the percentile of both directions
  together, which is another number.
- **ASSD** is the weighted mean of all distances of both directions; **MASD** is the mean of the two
  directed weighted means.
- **NSD** at tolerance t is the weight of the elements of both surfaces with distance at most
  t (1 + 1e-9), over the weight of all.
- **Boundary IoU** is the IoU of the two inner bands: the voxels of a mask whose centre is no
  further than the width from the face of a background voxel, at least one voxel thick.
- **Volume difference** is ||P| - |R|| in ml; **relative volume error** is that over |R|.

A cumulative weight counts as reached within a ratio of 1e-9, as a distance does for NSD: exact
implementations differ in the last bit, and masks on a grid produce exact ties in great number.

Empty masks
-----------
When one mask is empty, Dice, IoU, boundary IoU and NSD are 0 and distances are *unbounded*; when
both are, they are *undefined*. The relative volume error is undefined without a reference. In a
record's ``values`` unbounded is ``math.inf`` and undefined is None; ``as_dict()`` writes
``{"state": "unbounded"}`` and ``{"state": "undefined"}``. No value is ever NaN. What a case scores
for an absent structure is decided above (a separate endpoint, never a 1.0 or a 0 mm in a mean).

References
----------
- Maier-Hein et al., Metrics reloaded: recommendations for image analysis validation, Nature Methods
  2024, https://doi.org/10.1038/s41592-023-02151-z
- Reinke et al., Understanding metric-related pitfalls in image analysis validation, Nature Methods
  2024, https://doi.org/10.1038/s41592-023-02150-0
- Podobnik and Vrtovec, MeshMetrics, 2025, https://doi.org/10.48550/arXiv.2509.05670
- Nikolov et al., Clinically applicable segmentation of head and neck anatomy for radiotherapy
  (NSD), JMIR 2021, https://doi.org/10.2196/26151
- Cheng et al., Boundary IoU: improving object-centric image segmentation evaluation, CVPR 2021,
  https://doi.org/10.1109/CVPR46437.2021.01508
- Lewiner et al., Efficient implementation of marching cubes' cases with topological guarantees,
  Journal of Graphics Tools 2003, https://doi.org/10.1080/10867651.2003.10487582
"""

from __future__ import annotations

from segtrial.metrics.detection import DetectionMetrics, Lesion, evaluate_detection
from segtrial.metrics.evaluate import evaluate_label_maps
from segtrial.metrics.native import SlowMetricsWarning
from segtrial.metrics.record import StructureMetrics
from segtrial.metrics.signature import (
    METRIC_VERSION,
    detection_signatures,
    metric_signatures,
    require_same_signature,
)

__all__ = [
    "METRIC_VERSION",
    "DetectionMetrics",
    "Lesion",
    "SlowMetricsWarning",
    "StructureMetrics",
    "detection_signatures",
    "evaluate_detection",
    "evaluate_label_maps",
    "metric_signatures",
    "require_same_signature",
]
