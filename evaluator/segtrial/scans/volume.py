"""A volume file of the maintainer's, opened: what its header says, and its voxels as a stream.

Such files are believed to be what they are, but not to be whole: a missing, damaged or unsuitable
file ends in a `DatasetError` that names it. nibabel reads the header of every format it knows, but
for a plain NIfTI file, where it need not be loaded (`plain_nifti`); the voxels of `.nii` and
`.nii.gz` come through the faster reader, all others through nibabel. DICOM series, MetaImage and
NRRD have readers of their own, loaded when one is met.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segtrial.errors import DatasetError
from segtrial.scans.grid import Grid
from segtrial.scans.inflate import DamagedStreamError, reader_for, skip
from segtrial.scans.nifti_fields import length_unit
from segtrial.scans.plain_nifti import plain_header

if TYPE_CHECKING:
    from nibabel.nifti1 import Nifti1Header
    from nibabel.spatialimages import SpatialImage

_AXES = 3
_PIECE_BYTES = 1 << 20
_ITK = {".mha", ".mhd", ".nhdr", ".nrrd"}
_STREAMED = (".nii", ".nii.gz")  # nibabel reads NIfTI in other compressions, too
_UNITS = {1: "metres", 3: "micrometres"}


@dataclass(frozen=True, eq=False)
class Volume:
    """An opened volume file.

    Attributes
    ----------
    path : Path
        The file.
    grid : Grid
        Shape and place of its voxels.
    header : callable
        Returns the NIfTI-1 or NIfTI-2 header of the stored voxels, as nibabel's object.
    dtype : numpy.dtype
        Type of the stored voxels, with their byte order.
    slope, intercept : float
        What makes values of stored voxels; 1 and 0 where they are the values.
    stored : callable
        Reads the voxels in Fortran order, in 1D arrays of any size.
    sparse : bool
        Whether slices outside `grid` were left out because they hold no label.
    """

    path: Path
    grid: Grid
    header: Callable[[], Nifti1Header]
    dtype: np.dtype[np.generic]
    slope: float
    intercept: float
    stored: Callable[[], Iterator[NDArray[np.generic]]]
    sparse: bool = False

    @property
    def scaled(self) -> bool:
        """Whether stored voxels are not the values meant."""
        return (self.slope, self.intercept) != (1.0, 0.0)

    def pieces(self) -> Iterator[NDArray[np.generic]]:
        """Stored voxels in Fortran order, in 1D arrays of about a MiB; each is reused.

        Raises
        ------
        DatasetError
            The voxels are damaged or cut off.
        """
        return self.stored()

    def room(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """An unfilled 1D array with one entry per voxel.

        Raises
        ------
        DatasetError
            The header describes more voxels than this machine has memory for.
        """
        try:
            return np.empty(self.grid.voxels, dtype)
        except (MemoryError, ValueError) as error:
            raise unusable(
                self.path,
                f"its header describes {self.grid.shape} voxels, more than fit in memory.",
            ) from error

    def voxels(self) -> NDArray[np.generic]:
        """All stored voxels, shape ``grid.shape``, Fortran order. Raises as `pieces`."""
        voxels: NDArray[np.generic] = self.room(self.dtype)
        done = 0
        for piece in self.pieces():
            voxels[done : done + piece.size] = piece
            done += piece.size
        return voxels.reshape(self.grid.shape, order="F")


def open_volume(path: str | os.PathLike[str]) -> Volume:
    """Read the header of a volume file.

    Parameters
    ----------
    path : path
        Any volume nibabel can read; axes of size 1 behind the third are dropped. MetaImage, NRRD,
        and DICOM segmentations. Or a folder with the slices of one DICOM series.

    Returns
    -------
    Volume

    Raises
    ------
    DatasetError
        The file is missing, no image, or describes no volume of three axes in mm.
    """
    path = Path(path)
    if path.is_dir():
        return _opener("dicom_series", path)(path)
    if path.suffix.lower() in _ITK and path.is_file():
        return _opener("itk_volume", path)(path)
    if path.suffix.lower() == ".dcm" and path.is_file():
        return _opener("dicom_seg", path)(path)
    return _plain_volume(path) or _nibabel_volume(path)


def _plain_volume(path: Path) -> Volume | None:
    """A plain NIfTI file; None where nibabel has to be asked."""
    header = plain_header(path)
    if header is None:
        return None
    i, j, k = header.shape
    grid = _placed(path, (i, j, k), header.affine)
    return Volume(
        path=path,
        grid=grid,
        header=lambda: _nifti_header(path),
        dtype=header.dtype,
        slope=header.slope,
        intercept=header.intercept,
        stored=lambda: _streamed(
            path, offset=header.voxel_offset, dtype=header.dtype, voxels=grid.voxels
        ),
    )


def _nibabel_volume(path: Path) -> Volume:
    image = _load(path)
    grid = _grid(image, path)
    proxy: Any = image.dataobj
    if not _in_one_file(image):
        return volume_in_memory(path, _read_by_nibabel(path, lambda: np.asanyarray(proxy)), grid)
    header: Any = image.header
    dtype, offset = proxy.dtype, int(proxy.offset)

    def stored() -> Iterator[NDArray[np.generic]]:
        if path.name.lower().endswith(_STREAMED):
            return _streamed(path, offset=offset, dtype=dtype, voxels=grid.voxels)
        return iter((_read_by_nibabel(path, proxy.get_unscaled).ravel(order="F"),))

    return Volume(
        path=path,
        grid=grid,
        header=lambda: header,
        dtype=dtype,
        slope=float(proxy.slope),
        intercept=float(proxy.inter),
        stored=stored,
    )


def _opener(module: str, path: Path) -> Callable[[Path], Volume]:
    """The reader of a format that few need; its library is loaded when it is asked for.

    Those libraries are an extra: nibabel, too, loads pydicom wherever it is installed, and everyone
    would wait for it.
    """
    try:
        opener: Callable[[Path], Volume] = import_module(f"segtrial.scans.{module}").open_volume
    except ModuleNotFoundError as error:
        raise unusable(
            path,
            f"reading it needs {error.name}. Install it: pip install 'segtrial[formats]'.",
        ) from error
    return opener


def volume_in_memory(
    path: Path, voxels: NDArray[np.generic], grid: Grid, *, sparse: bool = False
) -> Volume:
    """A volume whose voxels another library has read already.

    Parameters
    ----------
    path : Path
        The file they came from.
    voxels : array
        In any shape whose Fortran order is that of ``grid.shape``.
    grid : Grid
    sparse : bool
        As of a `Volume`.

    Returns
    -------
    Volume
    """
    native = voxels.astype(voxels.dtype.newbyteorder("="), copy=False)

    def header() -> Nifti1Header:
        import nibabel  # noqa: PLC0415 - slow to load
        from nibabel.spatialimages import HeaderDataError  # noqa: PLC0415

        values: Any = native.reshape(grid.shape, order="F")
        try:
            return nibabel.Nifti1Image(values, grid.affine, dtype=native.dtype).header
        except HeaderDataError as error:
            raise unusable(path, f"it cannot be written as NIfTI ({error}).") from error

    return Volume(
        path=path,
        grid=grid,
        header=header,
        dtype=native.dtype,
        slope=1.0,
        intercept=0.0,
        stored=lambda: iter((native.ravel(order="F"),)),
        sparse=sparse,
    )


def _streamed(
    path: Path, *, offset: int, dtype: np.dtype[Any], voxels: int
) -> Iterator[NDArray[np.generic]]:
    """Voxels of a single `.nii` or `.nii.gz` file, through the faster decompressor."""
    buffer: NDArray[np.generic] = np.empty(_PIECE_BYTES // dtype.itemsize, dtype)
    left = voxels
    try:
        with path.open("rb") as file:
            reader = reader_for(file, path.name)
            skip(reader, offset)
            while left:
                piece = buffer[:left]
                filled = reader.readinto(piece.view(np.uint8).data)
                if filled < piece.nbytes:
                    there = voxels - left + filled // dtype.itemsize
                    raise unusable(
                        path, f"it ends too early, after {there} of its {voxels} voxels."
                    )
                yield piece
                left -= piece.size
            reader.read(1)  # reaching the end is what checks the checksum
    except DamagedStreamError as error:
        raise unusable(path, f"{error}.") from error
    except OSError as error:
        raise unusable(path, f"it could not be read ({error}).") from error


def unusable(path: str | os.PathLike[str], why: str) -> DatasetError:
    """Error for a file of the maintainer's: what is wrong with it, and which one it is."""
    error = DatasetError(f"A volume file cannot be used: {why}")
    error.add_note(f"file {os.fspath(path)}")
    return error


def _load(path: Path) -> SpatialImage:
    import nibabel  # noqa: PLC0415 - slow to load
    from nibabel.spatialimages import SpatialImage  # noqa: PLC0415

    if not path.exists():
        raise unusable(path, "it does not exist. Check the path.")
    try:
        image = nibabel.load(path)
    except Exception as error:  # each format and each decompressor has errors of its own
        raise unusable(path, f"it is no image that can be read ({error}).") from error
    if not isinstance(image, SpatialImage):
        raise unusable(path, "it holds no volume of voxels.")
    opened = {holder.filename for holder in image.file_map.values()}
    if str(path) not in opened:  # beside scan.Nii nibabel finds scan.nii
        raise unusable(
            path, "nibabel cannot open a name so spelt. Write its suffix in small letters."
        )
    return image


def _read_by_nibabel(path: Path, read: Callable[[], NDArray[np.generic]]) -> NDArray[np.generic]:
    """Voxels that nibabel reads."""
    try:
        return read()
    except Exception as error:  # each decompressor has errors of its own
        raise unusable(path, f"its voxels cannot be read ({error}).") from error


def _nifti_header(path: Path) -> Nifti1Header:
    header: Any = _load(path).header
    nifti: Nifti1Header = header
    return nifti


def _in_one_file(image: SpatialImage) -> bool:
    """Whether header and voxels lie in one NIfTI file."""
    import nibabel  # noqa: PLC0415 - slow to load
    from nibabel.arrayproxy import is_proxy  # noqa: PLC0415

    return type(image) in (nibabel.Nifti1Image, nibabel.Nifti2Image) and is_proxy(image.dataobj)


def _grid(image: SpatialImage, path: Path) -> Grid:
    stored = tuple(int(n) for n in image.shape)
    shape = list(stored)
    while len(shape) > _AXES and shape[-1] == 1:
        shape.pop()
    if not 0 < len(shape) <= _AXES:
        raise unusable(path, f"it has shape {stored}; one volume of three axes is needed.")
    i, j, k = shape + [1] * (_AXES - len(shape))
    unit = _UNITS.get(_length_unit(image.header))
    if unit:
        raise unusable(path, f"its header gives lengths in {unit}. Rewrite it in mm.")
    return _placed(path, (i, j, k), image.affine)


def _placed(path: Path, shape: tuple[int, int, int], affine: NDArray[np.float64]) -> Grid:
    try:
        return Grid(shape, affine)
    except ValueError as error:
        raise unusable(path, f"{error}.") from error


def _length_unit(header: Any) -> int:  # noqa: ANN401 - nibabel's header classes share no type
    """NIfTI's code for the unit of lengths; formats that have no such field are in mm."""
    from nibabel.nifti1 import Nifti1Header  # noqa: PLC0415 - slow to load

    return length_unit(header["xyzt_units"]) if isinstance(header, Nifti1Header) else 0
