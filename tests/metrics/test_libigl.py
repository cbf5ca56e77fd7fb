"""Every metric agrees with scikit-image's surface and libigl's distances, to 1e-9 relative."""

from __future__ import annotations

import igl
import numpy as np
import pytest
from numpy.typing import NDArray
from skimage.measure import marching_cubes

from metrics.masks import SPACINGS_MM, Mask, adversarial_pairs, noise
from segtrial.metrics import evaluate_label_maps

Floats = NDArray[np.float64]
SLACK = 1 + 1e-9


def mesh(mask: Mask, spacing_mm: tuple[float, ...]) -> tuple[Floats, NDArray[np.int64]]:
    volume = np.pad(mask, 1).astype(np.float32)
    vertices, faces, _, _ = marching_cubes(volume, 0.5, spacing=spacing_mm)
    return np.ascontiguousarray(vertices, dtype=np.float64), faces.astype(np.int64)


def quantile(distances: Floats, areas: Floats, percentile: float) -> float:
    order = np.argsort(distances)
    reached = np.cumsum(areas[order]) >= percentile / 100 * areas.sum() / SLACK
    return float(distances[order][np.argmax(reached)])


def by_igl(first: Mask, second: Mask, spacing_mm: tuple[float, ...]) -> dict[str, float]:
    meshes = mesh(first, spacing_mm), mesh(second, spacing_mm)
    distances, areas = [], []
    for (vertices, faces), other in zip(meshes, reversed(meshes), strict=True):
        corners = vertices[faces]
        squares, _, _ = igl.point_mesh_squared_distance(corners.mean(axis=1), *other)
        distances.append(np.sqrt(squares))
        sides = corners[:, 1:] - corners[:, :1]
        areas.append(np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1) / 2)
    pooled, weights = np.concatenate(distances), np.concatenate(areas)
    means = [float(a @ d / a.sum()) for d, a in zip(distances, areas, strict=True)]
    both, either = np.count_nonzero(first & second), np.count_nonzero(first | second)
    return {
        "dice": 2 * both / (both + either),
        "iou": both / either,
        "hd": float(pooled.max()),
        "hd95": max(quantile(d, a, 95) for d, a in zip(distances, areas, strict=True)),
        "hd95_pooled": quantile(pooled, weights, 95),
        "hd50": max(quantile(d, a, 50) for d, a in zip(distances, areas, strict=True)),
        "assd": float(weights @ pooled / weights.sum()),
        "masd": (means[0] + means[1]) / 2,
        "nsd": float(weights[pooled <= 2 * SLACK].sum() / weights.sum()),
        "nsd_1mm": float(weights[pooled <= 1 * SLACK].sum() / weights.sum()),
    }


def assert_agrees(first: Mask, second: Mask, spacing_mm: tuple[float, ...]) -> None:
    record = evaluate_label_maps(
        first,
        second,
        spacing_mm=spacing_mm,
        structures={"structure": 1},
        percentiles=(95, 50),
        tolerances_mm=(2, 1),
    )["structure"]
    expected = by_igl(first, second, spacing_mm)
    assert {key: record[key] for key in expected} == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("spacing_mm", SPACINGS_MM)
@pytest.mark.parametrize("name", adversarial_pairs())
def test_adversarial_masks(name: str, spacing_mm: tuple[float, ...]) -> None:
    assert_agrees(*adversarial_pairs()[name], spacing_mm)


@pytest.mark.parametrize("fraction", [0.02, 0.2, 0.5, 0.8])
def test_noise(fraction: float) -> None:
    shape = (31, 33, 70)
    assert_agrees(noise(fraction, shape, 1), noise(fraction, shape, 2), (0.78, 0.78, 2.5))


def test_smooth_organs() -> None:
    grid = np.indices((60, 64, 40)) - np.array([30, 32, 20])[:, None, None, None]
    x, y, z = grid * np.array([0.78, 0.78, 2.5])[:, None, None, None]
    radius = np.sqrt((x / 18) ** 2 + (y / 20) ** 2 + (z / 40) ** 2)
    waves = 0.08 * np.sin(x / 4) * np.cos(y / 5) + 0.05 * np.sin(z / 7)
    assert_agrees(radius < 1, radius + waves < 1, (0.78, 0.78, 2.5))
