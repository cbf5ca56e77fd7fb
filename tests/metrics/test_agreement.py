"""The native core measures what the reference implementation measures, to 1e-9."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from metrics.masks import SPACINGS_MM, adversarial_pairs, noise
from segtrial.metrics import _core, native
from segtrial.metrics.measurement import StructureMeasurement, StructureRequest
from segtrial.metrics.reference import boundary_band, measure_structure

PERCENTILES = (95.0, 50.0, 100.0, 3.0)
LabelMap = NDArray[np.integer]


def request(*labels: int, boundary_width_mm: float = 2.0) -> StructureRequest:
    return StructureRequest(
        name="structure",
        reference_labels=labels or (1,),
        prediction_labels=labels or (1,),
        tolerances_mm=(2.0, 1.0, 0.5),
        boundary_width_mm=boundary_width_mm,
    )


def by_core(
    reference: LabelMap,
    prediction: LabelMap,
    asked: StructureRequest,
    spacing_mm: Sequence[float],
    *,
    ignore_labels: Sequence[int] = (),
    threads: int = 2,
    instruction_set: str = "",
) -> StructureMeasurement:
    (measured,) = native.measure_structures(
        reference,
        prediction,
        [asked],
        spacing_mm=spacing_mm,
        percentiles=PERCENTILES,
        ignore_labels=ignore_labels,
        threads=threads,
        instruction_set=instruction_set,
    )
    return measured


def assert_same(core: StructureMeasurement, plain: StructureMeasurement) -> None:
    assert core.reference_voxels == plain.reference_voxels
    assert core.prediction_voxels == plain.prediction_voxels
    assert core.intersection_voxels == plain.intersection_voxels
    assert core.boundary_intersection_voxels == plain.boundary_intersection_voxels
    assert core.boundary_union_voxels == plain.boundary_union_voxels
    assert (core.surface is None) == (plain.surface is None)
    if core.surface is None or plain.surface is None:
        return
    # Where surfaces coincide the plain arithmetic gives 1e-15 for 0.
    close = {"rel": 1e-9, "abs": 1e-12 * plain.surface.to_prediction.size}
    for ours, theirs in (
        (core.surface.to_prediction, plain.surface.to_prediction),
        (core.surface.to_reference, plain.surface.to_reference),
    ):
        assert ours.size == pytest.approx(theirs.size, **close)
        assert ours.moment == pytest.approx(theirs.moment, **close)
        assert ours.maximum_mm == pytest.approx(theirs.maximum_mm, **close)
        assert ours.percentiles_mm == pytest.approx(theirs.percentiles_mm, **close)
        assert ours.within == pytest.approx(theirs.within, **close)
    assert core.surface.pooled_percentiles_mm == pytest.approx(
        plain.surface.pooled_percentiles_mm, **close
    )


@pytest.mark.parametrize("spacing_mm", SPACINGS_MM)
@pytest.mark.parametrize("name", adversarial_pairs())
def test_adversarial_masks(name: str, spacing_mm: tuple[float, ...]) -> None:
    first, second = (mask.astype(np.uint8) for mask in adversarial_pairs()[name])
    plain = measure_structure(
        first, second, request(), spacing_mm=spacing_mm, percentiles=PERCENTILES
    )
    assert_same(by_core(first, second, request(), spacing_mm), plain)


@pytest.mark.parametrize("seed", range(6))
def test_masks_of_any_size_at_any_spacing(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tuple(int(n) for n in random.integers(1, 13, size=3))
    spacing_mm = tuple(random.uniform(0.3, 4, size=3).tolist())
    maps = [random.integers(0, 4, size=shape).astype(np.uint16) for _ in "rp"]
    for labels in ((1,), (1, 3)):
        asked = request(*labels, boundary_width_mm=float(random.choice([0.0, 1.0, 2.7, 50.0])))
        plain = measure_structure(
            *maps, asked, spacing_mm=spacing_mm, percentiles=PERCENTILES, ignore_labels=(2,)
        )
        assert_same(by_core(*maps, asked, spacing_mm, ignore_labels=(2,)), plain)


@pytest.mark.parametrize("seed", range(6))
def test_images_in_the_plane(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tuple(int(n) for n in random.integers(1, 80, size=2))
    spacing_mm = tuple(random.uniform(0.3, 4, size=2).tolist())
    maps = [random.integers(0, 3, size=shape).astype(np.uint8) for _ in "rp"]
    plain = measure_structure(*maps, request(), spacing_mm=spacing_mm, percentiles=PERCENTILES)
    assert_same(by_core(*maps, request(), spacing_mm), plain)


# Many voxels wide along two axes or more; each volume is deeper than its band somewhere.
WIDE_BANDS: dict[str, tuple[tuple[int, ...], tuple[float, ...], float]] = {
    "even spacing": ((44, 42, 50), (1.0, 1.0, 1.0), 18.0),
    "thick planes": ((12, 46, 64), (5.0, 0.5, 0.4), 10.5),
    "thick rows": ((46, 12, 64), (0.5, 5.0, 0.4), 10.5),
    "thick columns": ((82, 66, 12), (0.4, 0.5, 5.0), 15.0),
    "planes further apart than the width": ((6, 70, 76), (90.0, 1.0, 1.0), 33.0),
    "rows further apart than the width": ((70, 6, 76), (1.0, 90.0, 1.0), 33.0),
    "several slabs of planes": ((100, 42, 50), (1.0, 1.1, 1.0), 18.0),
    # The limit is the distance to voxels 15 and 11 away, up to rounding.
    "a voxel at the limit": ((44, 42, 50), (1.0, 1.0, 1.0), np.hypot(14.5, 10.5) / (1 + 1e-9)),
    "an image": ((210, 250), (0.5, 0.4), 44.0),
}


@pytest.mark.parametrize("name", WIDE_BANDS)
def test_wide_bands_are_the_same_to_the_voxel(name: str) -> None:
    shape, spacing_mm, width_mm = WIDE_BANDS[name]
    solid = np.ones(shape, bool)
    solid[tuple(size // 6 for size in shape)] = False
    squares = sum(axis**2 for axis in np.ix_(*[np.linspace(-1, 1, size) for size in shape]))
    masks = (solid, squares < 1.5)  # one has a hole, the other no corners
    bands = [boundary_band(mask, np.array(spacing_mm), width_mm) for mask in masks]
    assert not np.array_equal(bands[0], masks[0])
    for in_order in (np.ascontiguousarray, np.asfortranarray):
        maps = [in_order(mask.astype(np.uint8)) for mask in masks]
        found = by_core(*maps, request(boundary_width_mm=width_mm), spacing_mm)
        assert found.boundary_intersection_voxels == int((bands[0] & bands[1]).sum())
        assert found.boundary_union_voxels == int((bands[0] | bands[1]).sum())


def pair() -> tuple[LabelMap, LabelMap]:
    shape = (21, 18, 70)  # more than a word of columns, and more than a slab of planes
    return noise(0.3, shape, 1).astype(np.uint8), noise(0.3, shape, 2).astype(np.uint8)


MEMORY_ORDERS: dict[str, Callable[[LabelMap], LabelMap]] = {
    "Fortran": np.asfortranarray,
    "axes turned": lambda a: np.ascontiguousarray(a.transpose(1, 2, 0)).transpose(2, 0, 1),
    "one axis reversed": lambda a: a[::-1].copy()[::-1],
    "all axes reversed": lambda a: a[::-1, ::-1, ::-1].copy(order="F")[::-1, ::-1, ::-1],
    "every other column of another": lambda a: np.repeat(a, 2, axis=2)[:, :, ::2],
    "part of another": lambda a: np.pad(a, 3)[3:-3, 3:-3, 3:-3],
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "bool": lambda a: a.astype(bool),
    "int8": lambda a: a.astype(np.int8),
    "uint16": lambda a: a.astype(np.uint16),
    "int16": lambda a: a.astype(np.int16),
    "int32": lambda a: a.astype(np.int32),
    "int64": lambda a: a.astype(np.int64),
    "between the bytes of words": lambda a: np.frombuffer(
        b"." + a.astype(np.uint16).tobytes(), np.uint16, offset=1
    ).reshape(a.shape),
    "big-endian": lambda a: a.astype(">i4"),
}


@pytest.mark.parametrize("change", MEMORY_ORDERS.values(), ids=MEMORY_ORDERS)
def test_memory_order_and_dtype_change_nothing_to_the_bit(
    change: Callable[[LabelMap], LabelMap],
) -> None:
    first, second = pair()
    expected = by_core(first, second, request(), (0.78, 0.8, 2.5))
    for maps in ((change(first), change(second)), (change(first), second), (first, change(second))):
        assert by_core(*maps, request(), (0.78, 0.8, 2.5)) == expected


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_the_number_of_threads_changes_nothing_to_the_bit(threads: int) -> None:
    shape = (64, 96, 96)  # smaller volumes get fewer threads than were asked for
    maps = [noise(0.03, shape, seed).astype(np.uint8) for seed in (1, 2)]
    expected = by_core(*maps, request(), (0.78, 0.8, 2.5), threads=1)
    assert by_core(*maps, request(), (0.78, 0.8, 2.5), threads=threads) == expected


@pytest.mark.parametrize("instruction_set", _core.instruction_sets())
def test_the_instruction_set_changes_nothing_to_the_bit(instruction_set: str) -> None:
    for masks in [*adversarial_pairs().values(), pair()]:
        maps = [mask.astype(np.uint8) for mask in masks]
        expected = by_core(*maps, request(), (0.7, 0.7, 5.0), instruction_set="baseline")
        found = by_core(*maps, request(), (0.7, 0.7, 5.0), instruction_set=instruction_set)
        assert found == expected


def test_an_instruction_set_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="instruction set"):
        by_core(*pair(), request(), (1.0, 1.0, 1.0), instruction_set="mmx")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_labels_up_to_the_largest_are_told_apart(dtype: type[np.integer]) -> None:
    largest = min(np.iinfo(dtype).max, 2**31 - 1)
    random = np.random.default_rng(0)
    which = random.choice([0, 1, largest - 1, largest], size=(4, 5, 40)).astype(dtype)
    other = np.roll(which, 1, axis=2)
    for label in (1, largest - 1, largest):
        plain = measure_structure(
            which, other, request(label), spacing_mm=(1, 1, 2), percentiles=PERCENTILES
        )
        assert_same(by_core(which, other, request(label), (1, 1, 2)), plain)
    assert native.labels_found(which, "reference", threads=2) == [1, largest - 1, largest]


def test_many_structures_are_measured_each_by_itself() -> None:
    random = np.random.default_rng(5)
    maps = [random.integers(0, 41, size=(12, 13, 14)).astype(np.uint8) for _ in "rp"]
    asked = [request(label) for label in range(1, 41)]
    measured = native.measure_structures(
        *maps, asked, spacing_mm=(1, 1, 1), percentiles=PERCENTILES, threads=2
    )
    for one, found in zip(asked, measured, strict=True):
        assert found == by_core(*maps, one, (1, 1, 1))


def test_masks_are_told_from_empty_ones() -> None:
    shape = (5, 6, 7)
    nothing = np.zeros(shape, np.uint8)
    something = noise(0.4, shape, 9).astype(np.uint8)
    for maps in ((nothing, something), (something, nothing), (nothing, nothing)):
        plain = measure_structure(*maps, request(), spacing_mm=(1, 1, 1), percentiles=PERCENTILES)
        found = by_core(*maps, request(), (1, 1, 1))
        assert_same(found, plain)
        assert found.surface is None


def test_voxels_ignored_leave_nothing_of_a_structure() -> None:
    first, second = noise(0.4, (5, 6, 7), 9).astype(np.uint8), np.full((5, 6, 7), 1, np.uint8)
    first[first == 0] = 2
    second[first == 1] = 0  # the prediction has the structure only where nobody is scored
    found = by_core(first, second, request(), (1, 1, 1), ignore_labels=(2,))
    assert (found.reference_voxels, found.prediction_voxels) == (int((first == 1).sum()), 0)
    assert found.surface is None
