"""Laws of grids: what "the same place" means, and what moving axes may not change."""

from __future__ import annotations

import itertools
import math

import nibabel
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nibabel.orientations import apply_orientation, inv_ornt_aff
from numpy.typing import NDArray

from segtrial.scans import Grid, LabelMap, corner_shift_mm, same_grid, to_canonical

from .conftest import rotation

lengths_mm = st.floats(0.3, 8)
angles = st.floats(-0.6, 0.6)
offsets_mm = st.floats(-500, 500)
shapes = st.tuples(*[st.integers(1, 600)] * 3)


@st.composite
def affines(draw: st.DrawFn) -> NDArray[np.float64]:
    """Oblique, in any axis order and direction, as scanners make them."""
    order = list(draw(st.permutations(range(3))))
    signs = np.array([draw(st.sampled_from([-1, 1])) for _ in range(3)])
    spacing_mm = np.array([draw(lengths_mm) for _ in range(3)])
    affine = np.eye(4)
    turned = rotation(draw(angles), draw(angles), draw(angles))
    affine[:3, :3] = (turned @ np.diag(spacing_mm))[:, order] * signs
    affine[:3, 3] = [draw(offsets_mm) for _ in range(3)]
    return affine


grids = st.builds(Grid, shapes, affines())


@given(grids)
def test_a_grid_is_the_same_as_itself(grid: Grid) -> None:
    assert same_grid(grid, grid)
    assert corner_shift_mm(grid, grid) == 0


@given(grids)
def test_a_header_keeps_the_grid(grid: Grid) -> None:
    header = nibabel.Nifti1Header()
    header.set_sform(grid.affine, code=1)
    assert same_grid(grid, Grid(grid.shape, header.get_sform()))


@given(shapes, angles, angles, angles)
def test_a_quaternion_keeps_the_grid_of_a_volume_in_ras_order(
    shape: tuple[int, int, int], x: float, y: float, z: float
) -> None:
    """A round trip through other libraries "moves an oblique affine in the fifth digit"."""
    affine = np.eye(4)
    affine[:3, :3] = rotation(x, y, z)
    header = nibabel.Nifti1Header()
    header.set_qform(affine, code=1)
    assert same_grid(Grid(shape, affine), Grid(shape, header.get_qform()))


@given(grids, st.floats(0, math.tau), st.floats(0.2, 3))
def test_a_shift_counts_by_its_length(grid: Grid, direction: float, share: float) -> None:
    """Every corner of the volume within 1 % of the smallest spacing, and no further."""
    assume(abs(share - 1) > 1e-3)
    length_mm = share * 0.01 * min(grid.spacing_mm)
    moved = grid.affine.copy()
    moved[:2, 3] += length_mm * np.array([math.cos(direction), math.sin(direction)])
    other = Grid(grid.shape, moved)
    assert corner_shift_mm(grid, other) == pytest.approx(length_mm, rel=1e-6)
    assert same_grid(grid, other) == (share < 1)


@given(grids, st.integers(0, 2))
def test_a_spacing_that_is_a_little_off_adds_up(grid: Grid, axis: int) -> None:
    stretched = grid.affine.copy()
    stretched[:3, axis] *= 1.001
    expected_mm = 0.001 * grid.spacing_mm[axis] * max(grid.shape[axis] - 0.5, 0.5)
    assert corner_shift_mm(grid, Grid(grid.shape, stretched)) == pytest.approx(expected_mm)


@given(grids)
def test_another_shape_is_another_grid(grid: Grid) -> None:
    longer = (grid.shape[0] + 1, *grid.shape[1:])
    assert not same_grid(grid, Grid(longer, grid.affine))


@given(grids)
def test_spacing_diagonal_and_volume_agree_with_the_corners(grid: Grid) -> None:
    corners = grid.corners_mm()
    longest = max(math.dist(a, b) for a, b in itertools.combinations(corners, 2))
    assert grid.diagonal_mm == pytest.approx(longest, rel=1e-6)
    assert grid.volume_ml == pytest.approx(
        grid.voxels * abs(np.linalg.det(grid.affine[:3, :3])) / 1000, rel=1e-6
    )


@given(affines(), st.permutations(range(3)), st.tuples(*[st.sampled_from([1, -1])] * 3))
def test_the_same_anatomy_stored_otherwise_is_the_same_in_canonical_axes(
    affine: NDArray[np.float64], order: list[int], flips: tuple[int, int, int]
) -> None:
    grid = Grid((3, 4, 5), affine)
    labels = np.arange(60, dtype=np.uint8).reshape(grid.shape)
    moved = np.array(list(zip(order, flips, strict=True)), dtype=float)
    stored = apply_orientation(labels, moved)
    stored_affine = affine @ inv_ornt_aff(moved, grid.shape)

    here = to_canonical(LabelMap(labels, grid))
    there = to_canonical(LabelMap(stored, Grid(stored.shape, stored_affine)))
    # An axis at 45 degrees may fall either way; what counts is that both fall the same way.
    assert np.array_equal(here.labels, there.labels)
    assert same_grid(here.grid, there.grid)


@given(affines())
def test_the_canonical_axes_are_those_of_nibabel(affine: NDArray[np.float64]) -> None:
    grid = Grid((2, 3, 4), affine)
    labels = np.arange(24, dtype=np.uint8).reshape(grid.shape)
    expected = nibabel.as_closest_canonical(nibabel.Nifti1Image(labels, affine))  # type: ignore[no-untyped-call]

    found = to_canonical(LabelMap(labels, grid))

    assert np.array_equal(found.labels, np.asanyarray(expected.dataobj))
    assert np.array_equal(found.grid.affine, expected.affine)


@given(affines())
def test_every_voxel_stays_where_it_is_in_the_patient(affine: NDArray[np.float64]) -> None:
    grid = Grid((2, 3, 4), affine)
    labels = np.arange(24, dtype=np.uint8).reshape(grid.shape)
    canonical = to_canonical(LabelMap(labels, grid))
    for label in range(24):
        before = grid.affine @ [*np.argwhere(labels == label)[0], 1]
        after = canonical.grid.affine @ [*np.argwhere(canonical.labels == label)[0], 1]
        assert np.allclose(before, after)


@given(affines())
def test_canonical_axes_are_a_fixed_point(affine: NDArray[np.float64]) -> None:
    once = to_canonical(LabelMap(np.zeros((2, 3, 4), np.uint8), Grid((2, 3, 4), affine)))
    twice = to_canonical(once)
    assert once.grid.axis_codes == "RAS"
    assert np.array_equal(once.grid.affine, twice.grid.affine)


def test_flipping_an_array_without_its_affine_is_another_anatomy() -> None:
    grid = Grid((2, 2, 2), np.diag([-1.0, 1.0, 1.0, 1.0]))
    labels = np.zeros(grid.shape, np.uint8)
    labels[0] = 1
    left = to_canonical(LabelMap(labels, grid)).labels
    right = to_canonical(LabelMap(labels[::-1], grid)).labels
    assert not np.array_equal(left, right)


@pytest.mark.parametrize(
    ("shape", "affine", "message"),
    [
        ((2, 2), np.eye(4), "three axes"),
        ((2, 2, 0), np.eye(4), "at least one voxel"),
        ((2, 2, 2), np.eye(3), "shape \\(4, 4\\)"),
        ((2, 2, 2), np.eye(4) * np.nan, "finite"),
        ((2, 2, 2), np.eye(4) * 1e200, "in mm"),
        ((2, 2, 2), np.diag([1.0, 0.0, 1.0, 1.0]), "plane or a line"),
        ((2, 2, 2), np.diag([1.0, 1.0, 1e-200, 1.0]), "plane or a line"),
        ((2, 2, 2), np.ones((4, 4)), "plane or a line"),
    ],
)
def test_what_is_no_grid_is_refused(
    shape: tuple[int, int, int], affine: NDArray[np.float64], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Grid(shape, affine)


def test_a_grid_cannot_be_changed() -> None:
    affine = np.eye(4)
    grid = Grid((2, 2, 2), affine)
    affine[0, 0] = 9
    assert grid.affine[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        grid.affine[0, 0] = 9
