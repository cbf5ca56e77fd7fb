"""From a submission's image, limits and grants to the body of the engine's create call. Pure.

Every setting closes a door that a test opens; the order below is the order of the contract.
What an image can do although its container looks sealed is answered here too: VOLUME would write
to the host's disk past a read-only root, HEALTHCHECK runs code on a timer, STOPSIGNAL chooses a
signal, NVIDIA_VISIBLE_DEVICES grants GPUs, LD_PRELOAD is inherited by NVIDIA's start hook, which
runs as the host's root (CVE-2025-23266), and WORKDIR under /proc led out of the container
(CVE-2024-21626).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from segtrial.container.accounts import NOBODY
from segtrial.container.engine import Json
from segtrial.container.image_facts import ImageFacts
from segtrial.container.slot import Slot
from segtrial.contracts.limits import Limits, Relaxations
from segtrial.errors import SubmissionError

MIB = 1 << 20
GIB = 1 << 30

_LOG_MAX = {"max-size": "5m", "max-file": "2"}
# The same on every host: engines hand down anything between a thousand and a thousand million, and
# with the latter old programs take minutes to close what they never opened. No higher, because an
# engine that is itself confined cannot raise its own limit.
_OPEN_FILES = 16_384
_TMP_INODES = 65_536
# The kernel's choice when memory runs out on the host itself: the stranger before the harness.
_OOM_SCORE = 500
_ROOTFS_SIZE = "10G"
_FORBIDDEN_WORKDIRS = ("/proc", "/sys", "/dev")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """One attempt: which image, on which files, within which limits.

    Attributes
    ----------
    image
        Facts of the image, which is run by id.
    input_dir
        Folder with the staged case, copied for the attempt; the names in it must say nothing.
    limits
        The card's limits.
    granted
        Relaxations the maintainer granted, not those asked for.
    slot
        Processors and GPU.
    labels
        For the engine's own list; a container cannot read its labels.
    input_at, output_at
        Where the contract shows the two folders.
    output_file
        The one file expected in the output folder, relative to it.
    command
        Arguments of the entrypoint; none in the contract segtrial/1.
    entrypoint
        Replaces the image's; for trusted probes, never for a submission.
    runtime
        Name of a runtime the engine knows, such as ``runsc``; None for its default.
    """

    image: ImageFacts
    input_dir: Path
    limits: Limits = field(default_factory=Limits)
    granted: Relaxations = field(default_factory=Relaxations)
    slot: Slot = field(default_factory=Slot)
    labels: Mapping[str, str] = field(default_factory=dict)
    input_at: str = "/input"
    output_at: str = "/output"
    output_file: str = "segmentation.nii.gz"
    command: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] | None = None
    runtime: str | None = None

    @property
    def user(self) -> str:
        """``uid:gid`` the container runs as: nobody where the image asks for root in vain."""
        return NOBODY if self.image.is_root and not self.granted.root else self.image.user


def create_body(
    spec: ContainerSpec,
    *,
    mounts: list[Json],
    cgroup_parent: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Json:
    """Body of the engine's ``POST /containers/create`` for an attempt.

    Parameters
    ----------
    spec
        The attempt.
    mounts
        Entries of ``HostConfig.Mounts`` that the exchange asks for.
    cgroup_parent
        Control group in which to count the attempt's processor time and memory.
    labels
        The owner's, added to those of the attempt.

    Raises
    ------
    SubmissionError
        The image has no entrypoint, or a working directory inside a kernel file system.
    """
    return {
        "Image": spec.image.image_id,
        "User": spec.user,
        "Entrypoint": list(_entrypoint(spec)),
        "Cmd": list(spec.command),
        "WorkingDir": _working_dir(spec.image.working_dir),
        "Env": _env(spec),
        "Hostname": "case",
        "Labels": dict(spec.labels) | dict(labels or {}),
        "Healthcheck": {"Test": ["NONE"]},
        "StopSignal": "SIGKILL",
        "HostConfig": _host_config(spec, mounts, cgroup_parent),
    }


def _host_config(spec: ContainerSpec, mounts: list[Json], cgroup_parent: str | None) -> Json:
    limits = spec.limits
    memory = int(limits.memory_gib * GIB)
    config: Json = {
        "NetworkMode": "none",
        "ReadonlyRootfs": not spec.granted.writable_rootfs,
        # Without an init, a PID 1 that ignores a signal turns a crash into exit code 0.
        "Init": True,
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
        "PidsLimit": limits.pids,
        "Memory": memory,
        # Equal to Memory: no swap. Left out, the engine would silently add as much again.
        "MemorySwap": memory,
        "OomScoreAdj": _OOM_SCORE,
        "ShmSize": int(_shm_gib(spec) * GIB),
        "Tmpfs": _tmpfs(spec),
        "Ulimits": _ulimits(spec),
        "LogConfig": {"Type": "local", "Config": dict(_LOG_MAX)},
        "Mounts": mounts,
    }
    optional: Json = {
        "NanoCpus": int(limits.cpus * 1e9) if limits.cpus else None,
        "CpusetCpus": spec.slot.cpuset,
        "DeviceRequests": [gpu_request(spec.slot)] if spec.slot.gpu_uuid else None,
        "CgroupParent": cgroup_parent,
        "Runtime": spec.runtime,
        # An engine that cannot hold a quota refuses this at create: never unbounded in silence.
        "StorageOpt": {"size": _ROOTFS_SIZE} if spec.granted.writable_rootfs else None,
    }
    return config | {key: value for key, value in optional.items() if value is not None}


def _entrypoint(spec: ContainerSpec) -> tuple[str, ...]:
    entrypoint = spec.image.entrypoint if spec.entrypoint is None else spec.entrypoint
    if not entrypoint and not spec.command:
        raise SubmissionError(
            "The image has no ENTRYPOINT: nothing says which program is the model. Add an "
            'ENTRYPOINT to the Dockerfile, such as ENTRYPOINT ["python", "/app/predict.py"].'
        )
    return entrypoint


def _working_dir(working_dir: str) -> str:
    # Two leading slashes are a path of their own in POSIX, and the same one in Linux.
    parts = PurePosixPath("/" + working_dir.lstrip("/"))
    forbidden = any(parts.is_relative_to(place) for place in _FORBIDDEN_WORKDIRS)
    if forbidden or ".." in parts.parts:
        raise SubmissionError(
            f"The image's working directory {working_dir!r} lies in a kernel file system or "
            "climbs out with '..'. Set WORKDIR to an ordinary folder, such as /app."
        )
    return str(parts)


def _env(spec: ContainerSpec) -> list[str]:
    """Settings of the environment; a name without ``=`` removes the image's variable."""
    ours = {"HOME": "/tmp"}  # noqa: S108 - the container's own /tmp, in memory
    if spec.slot.gpu_uuid is None or spec.slot.gpu_route == "cdi":
        # Where NVIDIA's runtime is the default one, an image could otherwise grant itself GPUs.
        ours["NVIDIA_VISIBLE_DEVICES"] = "void"
    removed = [name for name in removed_env(spec.image.env) if name not in ours]
    return [f"{name}={value}" for name, value in ours.items()] + removed


def removed_env(env: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Names of an image's variables that no container is given.

    All ``NVIDIA_*`` and ``LD_*``, which NVIDIA's start hook obeys as the host's root, except an
    LD_LIBRARY_PATH of absolute folders: there the hook finds the host's own files, and most GPU
    images need theirs.

    Examples
    --------
    >>> removed_env((("PATH", "/bin"), ("LD_PRELOAD", "/x.so"), ("NVIDIA_VISIBLE_DEVICES", "all")))
    ('LD_PRELOAD', 'NVIDIA_VISIBLE_DEVICES')
    >>> removed_env((("LD_LIBRARY_PATH", "/usr/local/cuda/lib64"),))
    ()
    """
    return tuple(
        name
        for name, value in env
        if name.startswith(("LD_", "NVIDIA_"))
        and not (name == "LD_LIBRARY_PATH" and _all_absolute(value))
    )


def _all_absolute(search_path: str) -> bool:
    return all(
        folder.startswith("/")
        and ".." not in PurePosixPath(folder).parts
        and not PurePosixPath(folder).is_relative_to("/proc")
        for folder in search_path.split(":")
    )


def _shm_gib(spec: ContainerSpec) -> float:
    return spec.granted.shm_gib or spec.limits.shm_gib


def _tmp_gib(spec: ContainerSpec) -> float:
    return spec.granted.tmp_gib or spec.limits.tmp_gib


def _tmpfs(spec: ContainerSpec) -> dict[str, str]:
    """``/tmp``, and a bounded cover over every VOLUME of the image.

    Without a size a tmpfs takes half of the host's memory. ``exec``, because compilers of GPU
    kernels and of Python extensions build into ``/tmp`` and load from there.
    """
    options = (
        f"rw,exec,nosuid,nodev,mode=1777,size={int(_tmp_gib(spec) * GIB)},nr_inodes={_TMP_INODES}"
    )
    mounted = {spec.input_at, spec.output_at}
    covered = {path for path in spec.image.volumes if path.rstrip("/") not in mounted}
    return dict.fromkeys(["/tmp", *sorted(covered)], options)  # noqa: S108 - inside the container


def _ulimits(spec: ContainerSpec) -> list[Json]:
    """No core files, and no file larger than any place a container may write to.

    A little larger, so that a full place says that it is full (ENOSPC), which programs know.
    """
    limits = spec.limits
    largest = max(limits.output_mib * MIB, int(max(_shm_gib(spec), _tmp_gib(spec)) * GIB))
    values = {"core": 0, "nofile": _OPEN_FILES, "fsize": largest + MIB}
    return [{"Name": name, "Soft": value, "Hard": value} for name, value in values.items()]


def gpu_request(slot: Slot) -> Json:
    """Entry of ``HostConfig.DeviceRequests`` for a slot's GPU."""
    if slot.gpu_route == "cdi":
        return {"Driver": "cdi", "DeviceIDs": [f"nvidia.com/gpu={slot.gpu_uuid}"]}
    return {"DeviceIDs": [slot.gpu_uuid], "Capabilities": [["gpu", "compute", "utility"]]}
