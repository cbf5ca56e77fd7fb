"""The exchange of everyone who is not root beside the engine: two volumes in memory.

Tmpfs-backed volumes of the engine's local driver are bounded by the kernel like the host's own
tmpfs, and made through the socket alone. Their content lives for as long as some running
container has them mounted, so a holder does, from before the attempt starts until its file is
out. That second container is the price; benchmarks/RESULTS.md has it in milliseconds.
"""

from __future__ import annotations

import io
import secrets
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from docker.errors import APIError

from segtrial.container.engine import ENGINE_FAULTS, Engine, Json
from segtrial.container.exchange import MIB, input_bounds, output_bounds, save
from segtrial.container.fetch import Refused, fetch_file
from segtrial.container.holder import IN, OUT, holder_body
from segtrial.container.mounting import tmpfs_options
from segtrial.container.observation import OutputSeen
from segtrial.contracts.limits import Limits

_NO_SPACE = "no space left on device"


class VolumeExchange:
    """Two sized volumes in memory, with the holder that keeps them mounted."""

    def __init__(
        self,
        engine: Engine,
        *,
        name: str,
        case: Path,
        limits: Limits,
        holder_image: str,
        labels: Mapping[str, str],
    ) -> None:
        """Make the volumes, start their holder and copy the case.

        Raises
        ------
        OSError, docker.errors.DockerException, requests.RequestException
            The case cannot be read, or the engine refuses; nothing is left.
        """
        self._engine = engine
        self._max_bytes = limits.output_mib * MIB
        self._input = f"segtrial-i-{name}"
        self._output = f"segtrial-o-{name}"
        self._holder = f"segtrial-h-{name}"
        try:
            self._make_volume(self._input, mode="0755", bounds=input_bounds(case), labels=labels)
            self._make_volume(
                self._output, mode="0777", bounds=output_bounds(limits), labels=labels
            )
            mounts = [_mount(self._input, IN), _mount(self._output, OUT)]
            engine.create(
                holder_body(holder_image, mounts=mounts, labels=labels), name=self._holder
            )
            engine.start(self._holder)
            with _packed(case) as archive:
                engine.api.put_archive(self._holder, IN, archive)
        except (*ENGINE_FAULTS, OSError):
            self.close()
            raise

    def _make_volume(
        self, name: str, *, mode: str, bounds: Mapping[str, int], labels: Mapping[str, str]
    ) -> None:
        options = f"{tmpfs_options(mode=mode, bounds=bounds)},nosuid,nodev,noexec"
        self._engine.api.create_volume(
            name,
            driver="local",
            driver_opts={"type": "tmpfs", "device": "tmpfs", "o": options},
            labels=dict(labels),
        )

    def mounts(self, *, input_at: str, output_at: str) -> list[Json]:
        """Entries for ``HostConfig.Mounts``."""
        return [_mount(self._input, input_at) | {"ReadOnly": True}, _mount(self._output, output_at)]

    def collect(self, name: str, *, into: Path) -> OutputSeen:
        """Copy one regular file out; see `OutputSeen` for what else can be found."""
        if self._is_full():
            return OutputSeen(status="volume_full", detail="the output volume is full")
        fetched = fetch_file(self._engine, self._holder, f"{OUT}/{name}", max_bytes=self._max_bytes)
        if isinstance(fetched, Refused):
            return OutputSeen(status=fetched.why, detail=fetched.detail.replace(f"{OUT}/", ""))
        return save(fetched, into=into)

    def _is_full(self) -> bool:
        """Whether one more page does not fit; the engine has no call that says how much would."""
        try:
            self._engine.api.put_archive(self._holder, OUT, _one_page())
        except APIError as error:
            if _NO_SPACE not in str(error.explanation):
                raise
            return True
        return False

    def close(self) -> None:
        """Remove the holder and the volumes; the files go with them."""
        self._engine.remove(self._holder)
        self._engine.remove_volume(self._input)
        self._engine.remove_volume(self._output)


def _mount(volume: str, target: str) -> Json:
    return {
        "Type": "volume",
        "Source": volume,
        "Target": target,
        # Else the engine would first copy what the image has at that path, unbounded.
        "VolumeOptions": {"NoCopy": True},
    }


def _packed(case: Path) -> IO[bytes]:
    """A staged case as a tar file; all its times are 1970, all its files readable by any user."""
    archive = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller's with
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in sorted(case.rglob("*")):
            tar.add(path, str(path.relative_to(case)), recursive=False, filter=_neutral)
    archive.seek(0)
    return archive


def _neutral(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode = 0o755 if member.isdir() else 0o644
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = 0
    return member


def _one_page() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        # A name that the container cannot have planted a link at.
        member = tarfile.TarInfo(f".{secrets.token_hex(16)}")
        member.size = 4096
        tar.addfile(member, io.BytesIO(bytes(member.size)))
    return packed.getvalue()
