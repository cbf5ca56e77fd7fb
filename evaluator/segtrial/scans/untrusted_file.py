"""Open a file that a stranger may have made."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from segtrial.errors import PlatformError
from segtrial.scans.prediction_error import PredictionError

_NOT_A_FILE = (
    "The prediction is not a plain file of its own: it is a link, a folder, a pipe or a device. "
    "Write the label map itself to that path."
)


@contextmanager
def open_untrusted(path: Path, *, max_bytes: int, allow_links: bool) -> Iterator[io.FileIO]:
    """Open a regular file of bounded size, without side effects whatever it really is.

    Parameters
    ----------
    path : Path
        What to open. A link is not followed, a pipe not waited on, a device not touched.
    max_bytes : int
        Largest size of the file.
    allow_links : bool
        Whether the path may be a link, or the file have other names.

    Yields
    ------
    FileIO
        At the file's first byte; closed afterwards.

    Raises
    ------
    PredictionError
        There is no such file, it is not a plain one, or it is too large.
    PlatformError
        The disk or the system failed, here or in the body of the ``with``.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags if allow_links else flags | os.O_NOFOLLOW)
    except OSError as error:
        raise _open_error(error) from error
    try:
        _demand_small_file(os.fstat(descriptor), max_bytes=max_bytes, allow_links=allow_links)
        with io.FileIO(descriptor, closefd=False) as file:
            yield file
    except OSError as error:
        raise PlatformError(f"The prediction could not be read from disk: {error}.") from error
    finally:
        os.close(descriptor)


def _demand_small_file(status: os.stat_result, *, max_bytes: int, allow_links: bool) -> None:
    if not stat.S_ISREG(status.st_mode) or (status.st_nlink != 1 and not allow_links):
        raise PredictionError("unreadable_output", _NOT_A_FILE)
    if status.st_size > max_bytes:
        raise PredictionError(
            "output_too_large",
            f"The prediction has {status.st_size} bytes, at most {max_bytes} are taken. "
            "Write one uint8 label map, gzip-compressed, and nothing else.",
        )


def _open_error(error: OSError) -> Exception:
    if error.errno == errno.ENOENT:
        return PredictionError(
            "no_output",
            "There is no prediction. Write the label map to /output/segmentation.nii.gz, "
            "for every case, also when nothing was found.",
        )
    if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOTDIR, errno.EACCES):
        return PredictionError("unreadable_output", _NOT_A_FILE)
    return PlatformError(f"The prediction could not be opened: {error}.")
