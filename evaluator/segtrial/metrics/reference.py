"""The reference implementation: every definition in its plainest form, for masks of one structure.

Exact and slow. It is what the native core is tested against, and what runs where no compiler was
at hand. Surfaces come from scikit-image; distances are from each element's centroid to the nearest
point of any element of the other surface, found among the elements whose centroid is near enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from segtrial.metrics.arguments import LabelMap
from segtrial.metrics.measurement import (
    IN_PLANE,
    IN_SPACE,
    RELATIVE_SLACK,
    DirectedDistances,
    StructureMeasurement,
    StructureRequest,
    SurfaceDistances,
)

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_PAIRS_AT_ONCE = 400_000
"""Point-element pairs held in memory at once; bounds the peak to some 100 MB."""


def measure_structure(
    reference: LabelMap,
    prediction: LabelMap,
    request: StructureRequest,
    *,
    spacing_mm: Sequence[float],
    percentiles: Sequence[float],
    ignore_labels: Sequence[int] = (),
) -> StructureMeasurement:
    """Measure one structure of two label maps.

    Parameters
    ----------
    reference, prediction : integer array, shape (I, J) or (I, J, K)
        Label maps on one grid.
    request : StructureRequest
        Labels and parameters of the structure.
    spacing_mm : sequence of float
        Voxel spacing of each axis in mm.
    percentiles : sequence of float
        Percentiles of the distances, in (0, 100].
    ignore_labels : sequence of int
        Reference labels whose voxels are background on both sides.
    """
    masks = (
        np.isin(reference, request.reference_labels),
        np.isin(prediction, request.prediction_labels),
    )
    if ignore_labels:
        kept = ~np.isin(reference, ignore_labels)
        masks = (masks[0] & kept, masks[1] & kept)
    first, second = _crop_to_content(*masks)
    spacing = np.asarray(spacing_mm, dtype=np.float64)
    bands = [boundary_band(mask, spacing, request.boundary_width_mm) for mask in (first, second)]
    surface = None
    if first.any() and second.any():
        surface = surface_distances(
            surface_elements(first, spacing),
            surface_elements(second, spacing),
            tolerances_mm=request.tolerances_mm,
            percentiles=percentiles,
        )
    return StructureMeasurement(
        reference_voxels=int(first.sum()),
        prediction_voxels=int(second.sum()),
        intersection_voxels=int((first & second).sum()),
        boundary_intersection_voxels=int((bands[0] & bands[1]).sum()),
        boundary_union_voxels=int((bands[0] | bands[1]).sum()),
        surface=surface,
    )


def _crop_to_content(first: Mask, second: Mask) -> tuple[Mask, Mask]:
    """Both masks in the smallest box that holds them, or one voxel of nothing."""
    either = first | second
    box = []
    for axis in range(either.ndim):
        others = tuple(a for a in range(either.ndim) if a != axis)
        filled = np.flatnonzero(either.any(axis=others))
        box.append(slice(filled[0], filled[-1] + 1) if filled.size else slice(0, 1))
    return first[tuple(box)], second[tuple(box)]


def surface_elements(mask: Mask, spacing_mm: Floats) -> Floats:
    """Surface of a mask as elements: triangles in 3D, segments in 2D.

    Parameters
    ----------
    mask : bool array, shape (I, J, K) or (I, J)
        The structure; voxel centres lie at index times spacing.
    spacing_mm : float array, shape (3,) or (2,)
        Voxel spacing in mm.

    Returns
    -------
    float array, shape (N, 3, 3) or (N, 2, 2)
        Corners of each element in mm, in the frame of `mask`; N is 0 for an empty mask.
    """
    dimensions = mask.ndim
    if not mask.any():
        return np.zeros((0, dimensions, dimensions))
    padded = np.pad(mask, 1).astype(np.float32)
    corners = _triangles(padded) if dimensions == IN_SPACE else _segments(padded)
    return (corners - 1.0) * spacing_mm


def _triangles(padded: NDArray[np.float32]) -> Floats:
    from skimage.measure import marching_cubes  # noqa: PLC0415 - slow to import, seldom used

    vertices, faces, _, _ = marching_cubes(padded, 0.5)  # type: ignore[no-untyped-call]
    return np.asarray(vertices[faces], dtype=np.float64)


def _segments(padded: NDArray[np.float32]) -> Floats:
    from skimage.measure import find_contours  # noqa: PLC0415

    contours = find_contours(padded, 0.5, fully_connected="low")  # type: ignore[no-untyped-call]
    return np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in contours])


def element_sizes(elements: Floats) -> Floats:
    """Area in mm2 of each triangle, or length in mm of each segment."""
    edges = elements[:, 1:] - elements[:, :1]
    if elements.shape[1] == IN_PLANE:
        return np.asarray(np.linalg.norm(edges[:, 0], axis=1))
    return np.asarray(np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2)


def surface_distances(
    reference: Floats,
    prediction: Floats,
    *,
    tolerances_mm: Sequence[float],
    percentiles: Sequence[float],
) -> SurfaceDistances:
    """Distances between two surfaces in both directions.

    Parameters
    ----------
    reference, prediction : float array, shape (N, D, D)
        Elements as `surface_elements` gives them; neither empty.
    tolerances_mm, percentiles : sequence of float
        What to measure.
    """
    distances = (
        nearest_distances(reference.mean(axis=1), prediction),
        nearest_distances(prediction.mean(axis=1), reference),
    )
    sizes = (element_sizes(reference), element_sizes(prediction))
    directed = [
        DirectedDistances(
            size=float(size.sum()),
            moment=float((size * distance).sum()),
            maximum_mm=float(distance.max()),
            percentiles_mm=tuple(weighted_quantile(distance, size, p) for p in percentiles),
            within=tuple(
                float(size[distance <= tolerance * (1 + RELATIVE_SLACK)].sum())
                for tolerance in tolerances_mm
            ),
        )
        for distance, size in zip(distances, sizes, strict=True)
    ]
    pooled, weights = np.concatenate(distances), np.concatenate(sizes)
    return SurfaceDistances(
        to_prediction=directed[0],
        to_reference=directed[1],
        pooled_percentiles_mm=tuple(weighted_quantile(pooled, weights, p) for p in percentiles),
    )


def weighted_quantile(values: Floats, weights: Floats, percentile: float) -> float:
    """Smallest value at which the cumulative weight reaches a percentage of the total.

    The lower empirical quantile, with `RELATIVE_SLACK` on the cumulative weight.

    Examples
    --------
    >>> weighted_quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 75.0)
    2.0
    """
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weights[order])
    target = percentile / 100 * cumulative[-1] * (1 - RELATIVE_SLACK)
    return float(values[order[np.searchsorted(cumulative, target)]])


def nearest_distances(points: Floats, elements: Floats) -> Floats:
    """Exact distance from each point to the nearest point of any element.

    Parameters
    ----------
    points : float array, shape (N, D)
        Coordinates in mm.
    elements : float array, shape (M, D, D), M >= 1
        Triangles (D = 3) or segments (D = 2).

    Returns
    -------
    float array, shape (N,)
        Distances in mm.

    Notes
    -----
    No element reaches further from its centroid than `reach`. So the nearest one has its centroid
    within the distance to any element, such as the one of nearest centroid, plus `reach`.
    """
    from scipy.spatial import KDTree  # noqa: PLC0415

    centroids = elements.mean(axis=1)
    reach = float(np.linalg.norm(elements - centroids[:, None], axis=2).max())
    tree = KDTree(centroids)
    _, nearest_centroid = tree.query(points)
    bounds = point_to_element(points, elements[nearest_centroid]) + reach
    radii = bounds * (1 + RELATIVE_SLACK)
    counts = tree.query_ball_point(points, radii, return_length=True)
    distances = np.empty(len(points))
    for chunk in _chunks(counts, _PAIRS_AT_ONCE):
        candidates = np.concatenate(tree.query_ball_point(points[chunk], radii[chunk]))
        pairs = np.repeat(points[chunk], counts[chunk], axis=0)
        away = point_to_element(pairs, elements[candidates.astype(np.intp)])
        starts = np.concatenate([[0], np.cumsum(counts[chunk])[:-1]])
        distances[chunk] = np.minimum.reduceat(away, starts)
    return distances


def _chunks(counts: NDArray[np.intp], total: int) -> Iterator[slice]:
    """Consecutive slices whose counts sum up to about `total`."""
    which = np.cumsum(counts) // total
    edges = [0, *(np.flatnonzero(np.diff(which)) + 1).tolist(), len(counts)]
    return (slice(start, end) for start, end in itertools.pairwise(edges))


def point_to_element(points: Floats, elements: Floats) -> Floats:
    """Distance from each point to the nearest point of its element.

    Parameters
    ----------
    points : float array, shape (N, D)
        One point for each element.
    elements : float array, shape (N, D, D)
        Triangles (D = 3) or segments (D = 2), none of them degenerate.

    Examples
    --------
    >>> triangle = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])
    >>> point_to_element(np.array([[0.25, 0.25, 2.0]]), triangle)
    array([2.])
    """
    corners = elements.shape[1]
    sides = 1 if corners == IN_PLANE else 3
    to_sides = [
        _point_to_segment(points, elements[:, side], elements[:, (side + 1) % corners])
        for side in range(sides)
    ]
    nearest_side = np.min(to_sides, axis=0)
    if sides == 1:
        return np.asarray(nearest_side)
    height, inside = _height_above(points, elements)
    return np.where(inside, height, nearest_side)


def _point_to_segment(points: Floats, start: Floats, end: Floats) -> Floats:
    along = end - start
    length_squared = np.einsum("nd,nd->n", along, along)
    position = np.einsum("nd,nd->n", points - start, along) / length_squared
    foot = start + np.clip(position, 0.0, 1.0)[:, None] * along
    return np.asarray(np.linalg.norm(points - foot, axis=1))


def _height_above(points: Floats, triangles: Floats) -> tuple[Floats, Mask]:
    """Distance to the triangle's plane, and whether the foot point lies inside the triangle."""
    first, second, third = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normal = np.cross(second - first, third - first)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    inside = np.ones(len(points), dtype=bool)
    for start, end in ((first, second), (second, third), (third, first)):
        outwards = np.cross(end - start, normal)
        inside &= np.einsum("nd,nd->n", points - start, outwards) <= 0
    return np.abs(np.einsum("nd,nd->n", points - first, normal)), inside


def boundary_band(mask: Mask, spacing_mm: Floats, width_mm: float) -> Mask:
    """Voxels of a mask near its boundary.

    Parameters
    ----------
    mask : bool array, shape (I, J, K) or (I, J)
        The structure; everything outside the array is background.
    spacing_mm : float array
        Voxel spacing in mm.
    width_mm : float
        A voxel belongs to the band when its centre is no further than this from the nearest face
        of a background voxel, or when a background voxel shares a face with it.

    References
    ----------
    Cheng et al., Boundary IoU, CVPR 2021, https://doi.org/10.1109/CVPR46437.2021.01508 (there in
    pixels; here in mm, to the edge between mask and background).
    """
    limit = width_mm * (1 + RELATIVE_SLACK)
    # A step of the whole size leads out of the array from anywhere; further is the same.
    reach = [
        int(np.clip(limit / spacing + 0.5, 1, size))
        for spacing, size in zip(spacing_mm, mask.shape, strict=True)
    ]
    padded = np.pad(mask, [(steps, steps) for steps in reach])
    squares = np.where(padded, np.inf, 0.0)
    sharing_a_face = np.zeros_like(padded)
    for axis, spacing in enumerate(spacing_mm):
        for step in (-1, 1):
            sharing_a_face |= ~np.roll(padded, step, axis)
        # The sum of squares over axes is least when each axis in turn takes its least.
        steps = range(-reach[axis], reach[axis] + 1)
        gaps = [max(abs(step) - 0.5, 0.0) * spacing for step in steps]
        squares = np.min(
            [np.roll(squares, step, axis) + gap**2 for step, gap in zip(steps, gaps, strict=True)],
            axis=0,
        )
    inner = tuple(slice(steps, -steps) for steps in reach)
    return mask & ((np.sqrt(squares) <= limit) | sharing_a_face)[inner]
