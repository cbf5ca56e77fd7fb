"""What an image may say about itself: every finding has a name, a reason and an advice. Pure.

Three things can come of a finding. *reject*: the image is not run. *relax*: it needs something
beyond the contract that its author asked for and the maintainer granted; this is published
beside the score. *neutralise*: it says something that the sealed run does not obey; the run goes
on, and the author is told, because a model that relied on it would fail without a hint.

The same settings are closed again when the container is made (`spec`): this page explains, that
one enforces.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Literal

from segtrial.container.accounts import NOBODY
from segtrial.container.image_config import ImageConfig
from segtrial.container.spec import removed_env
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.record import Record

Action = Literal["reject", "relax", "neutralise"]

MAX_IMAGE_BYTES = 60 << 30
"""Largest image, uncompressed: CUDA, PyTorch and the weights of five folds are below 30 GiB."""
MAX_LAYERS = 127
"""Most layers the overlay driver of the engine can stack."""

_KERNEL_FOLDERS = ("/proc", "/sys", "/dev")
_SHOWN_LENGTH = 120


class Finding(Record):
    """One thing an image says about itself that matters to a sealed run."""

    reason: str
    """Its name, stable between versions: ``root_user``, ``volumes``, ``wrong_architecture``..."""
    action: Action
    what: str
    why: str
    what_to_do: str

    def __str__(self) -> str:
        """One paragraph for a person."""
        return f"{self.what} {self.why} {self.what_to_do}"


class Verdict(Record):
    """What becomes of an image."""

    findings: tuple[Finding, ...]
    granted: Relaxations
    """What was both asked for and granted: what the run is made with."""

    @property
    def rejections(self) -> tuple[Finding, ...]:
        """Findings for which the image is not run."""
        return tuple(finding for finding in self.findings if finding.action == "reject")


def decide(
    image: ImageConfig,
    *,
    host_architecture: str,
    asked: Relaxations,
    granted: Relaxations,
    user: str | None = None,
    disk_is_bounded: bool = True,
) -> Verdict:
    """Decide what becomes of an image.

    Parameters
    ----------
    image
        What it says about itself.
    host_architecture
        The engine's, as Docker names it (``amd64``, ``arm64``).
    asked
        What its ``submission.yaml`` asks for.
    granted
        What the maintainer grants; for sizes, the largest that is granted.
    user
        ``uid:gid`` of its USER, where the image's own accounts have been read.
    disk_is_bounded
        Whether the engine can bound what a container writes to its own file system.

    Examples
    --------
    >>> from segtrial.container.image_config import read_config
    >>> image = read_config(
    ...     {
    ...         "os": "linux",
    ...         "architecture": "amd64",
    ...         "config": {"User": "app", "Entrypoint": ["/predict"], "Volumes": {"/data": {}}},
    ...     },
    ...     size_bytes=10,
    ... )
    >>> verdict = decide(
    ...     image, host_architecture="amd64", asked=Relaxations(), granted=Relaxations()
    ... )
    >>> [(finding.reason, finding.action) for finding in verdict.findings]
    [('volumes', 'neutralise')]
    """
    findings = (
        *_of_platform(image, host_architecture),
        *_of_program(image),
        *_of_size(image),
        *_of_user(image, user, asked=asked, granted=granted),
        *_of_relaxations(asked, granted, disk_is_bounded=disk_is_bounded),
        *_of_settings(image),
    )
    both = {
        name: getattr(asked, name) for name in asked.asked() if _is_granted(name, asked, granted)
    }
    return Verdict(findings=findings, granted=Relaxations(**both))


def _of_platform(image: ImageConfig, host: str) -> Iterator[Finding]:
    if image.os != "linux":
        yield Finding(
            reason="wrong_os",
            action="reject",
            what=f"The image is for the operating system {_shown(image.os)}.",
            why="Submissions run as Linux containers.",
            what_to_do="Build it for linux, such as with `docker build --platform linux/amd64`.",
        )
    elif image.architecture != host:
        yield Finding(
            reason="wrong_architecture",
            action="reject",
            what=f"The image is for the processor architecture {_shown(image.architecture)}, "
            f"and this host is {host}.",
            why="It could start only under emulation, whose times and memory mean nothing.",
            what_to_do=f"Build it with `docker build --platform linux/{host}`.",
        )


def _of_program(image: ImageConfig) -> Iterator[Finding]:
    if not image.entrypoint:
        yield Finding(
            reason="no_entrypoint",
            action="reject",
            what="The image has no ENTRYPOINT.",
            why="Nothing says which program is the model; CMD alone only holds arguments.",
            what_to_do='Add one to the Dockerfile: ENTRYPOINT ["python", "/app/predict.py"].',
        )
    elif image.cmd:
        yield Finding(
            reason="cmd",
            action="neutralise",
            what=f"The image has the CMD {_shown(' '.join(image.cmd))}.",
            why="The ENTRYPOINT is started with no arguments.",
            what_to_do="Write arguments into the ENTRYPOINT if the model needs them.",
        )
    folder = PurePosixPath("/" + image.working_dir.lstrip("/"))
    if ".." in folder.parts or any(folder.is_relative_to(place) for place in _KERNEL_FOLDERS):
        yield Finding(
            reason="kernel_workdir",
            action="reject",
            what=f"The image's WORKDIR is {_shown(image.working_dir)}.",
            why="A working directory in /proc, /sys or /dev has been a way out of a container "
            "(CVE-2024-21626).",
            what_to_do="Set WORKDIR to an ordinary folder, such as /app.",
        )


def _of_size(image: ImageConfig) -> Iterator[Finding]:
    if image.size_bytes > MAX_IMAGE_BYTES:
        yield Finding(
            reason="too_large",
            action="reject",
            what=f"The image holds {image.size_bytes / 2**30:.1f} GiB, and at most "
            f"{MAX_IMAGE_BYTES >> 30} GiB are taken.",
            why="It has to fit on the maintainer's disk beside all the others.",
            what_to_do="Leave out build tools, caches and weights that are not used; install and "
            "clean up in the same RUN line.",
        )
    if image.layers > MAX_LAYERS:
        yield Finding(
            reason="too_many_layers",
            action="reject",
            what=f"The image has {image.layers} layers, and at most {MAX_LAYERS} can be stacked.",
            why="The engine's file system has no place for more.",
            what_to_do="Join RUN lines, or build in stages and copy the result.",
        )


def _of_user(
    image: ImageConfig, user: str | None, *, asked: Relaxations, granted: Relaxations
) -> Iterator[Finding]:
    name = image.user.partition(":")[0]
    is_root = user.startswith("0:") if user else name in {"", "0", "root"}
    if is_root and asked.root:
        if granted.root:
            yield Finding(
                reason="root",
                action="relax",
                what="The image runs as root.",
                why="Its author asked for it and it was granted; it still has no capability.",
                what_to_do="It is published beside the score.",
            )
    elif is_root:
        yield Finding(
            reason="root_user",
            action="neutralise",
            what="The image has no USER." if not name else f"The image's USER is {_shown(name)}.",
            why=f"Submissions do not run as root; it is run as {NOBODY}, which can read only what "
            "everybody may read.",
            what_to_do="Add `USER 1000:1000` to the Dockerfile and check that the model's files "
            "can be read by it.",
        )
    elif user == NOBODY and name not in {"65534", "nobody"}:
        yield Finding(
            reason="unknown_user",
            action="neutralise",
            what=f"The image's USER is {_shown(image.user)}, and its /etc/passwd does not know it.",
            why=f"It is run as {NOBODY}.",
            what_to_do="Create the account in the Dockerfile, or give USER a number.",
        )


def _of_relaxations(
    asked: Relaxations, granted: Relaxations, *, disk_is_bounded: bool
) -> Iterator[Finding]:
    unbounded = asked.writable_rootfs and granted.writable_rootfs and not disk_is_bounded
    if unbounded:
        yield Finding(
            reason="writable_rootfs_unbounded",
            action="reject",
            what="The submission asks for a writable root file system, and this engine cannot "
            "bound what would be written to it.",
            why="A run could fill the host's disk. Quotas need overlay2 on xfs with pquota, btrfs "
            "or zfs.",
            what_to_do="Run it on a host whose engine keeps its images on such a disk, or ask the "
            "author to write to /tmp.",
        )
    for name in asked.asked():
        value, limit = getattr(asked, name), getattr(granted, name)
        if not _is_granted(name, asked, granted):
            how_much = "" if limit in (False, None) else f"; {limit:g} is granted"
            yield Finding(
                reason=f"{name}_not_granted",
                action="reject",
                what=f"The submission asks for the relaxation {_written(name, value)}, which is "
                f"not granted{how_much}.",
                why="Running it without what it needs would only show that it fails.",
                what_to_do=f"Maintainer: grant it with `--grant {_written(name, value)}`. Author: "
                "make the model do without, and take it out of submission.yaml.",
            )
        elif name != "root" and not (name == "writable_rootfs" and unbounded):
            yield Finding(
                reason=name,
                action="relax",
                what=f"The submission runs with {_written(name, value)}.",
                why="Its author asked for it and it was granted.",
                what_to_do="It is published beside the score.",
            )


def _of_settings(image: ImageConfig) -> Iterator[Finding]:
    if image.volumes:
        yield Finding(
            reason="volumes",
            action="neutralise",
            what=f"The image declares VOLUME {_listed(image.volumes)}.",
            why="A volume would be written to the host's disk without a bound. An empty, bounded "
            "folder in memory covers each: files the image has there are not seen.",
            what_to_do="Remove VOLUME from the Dockerfile; keep weights in ordinary folders.",
        )
    removed = removed_env(image.env)
    if removed:
        yield Finding(
            reason="environment",
            action="neutralise",
            what=f"The image sets {_listed(removed)}.",
            why="Start hooks of GPU runtimes obey such variables outside of the container; they "
            "are removed.",
            what_to_do="Remove them from the Dockerfile; a GPU is given by the host.",
        )
    home = dict(image.env).get("HOME")
    if home not in (None, "/tmp"):  # noqa: S108 - a folder of the container
        yield Finding(
            reason="home",
            action="neutralise",
            what=f"The image sets HOME={_shown(home)}.",
            why="HOME is /tmp in every run, because it has to be writable.",
            what_to_do="Refer to weights and settings by absolute paths.",
        )
    if image.has_healthcheck:
        yield Finding(
            reason="healthcheck",
            action="neutralise",
            what="The image has a HEALTHCHECK.",
            why="It would run beside the model, on a timer; it is switched off.",
            what_to_do="No action is needed.",
        )
    if image.stop_signal:
        yield Finding(
            reason="stop_signal",
            action="neutralise",
            what=f"The image has the STOPSIGNAL {_shown(image.stop_signal)}.",
            why="A container that is out of time is ended with SIGKILL.",
            what_to_do="No action is needed.",
        )


def _is_granted(name: str, asked: Relaxations, granted: Relaxations) -> bool:
    wanted, limit = getattr(asked, name), getattr(granted, name)
    if isinstance(wanted, bool):
        return bool(limit)
    return limit is not None and wanted <= limit


def _written(name: str, value: bool | float) -> str:  # noqa: FBT001 - a relaxation's value as it is
    return name if isinstance(value, bool) else f"{name}={value:g}"


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(_shown(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"  # noqa: PLR2004 - one line


def _shown(text: str) -> str:
    """A stranger's string in a message: printable, quoted, bounded."""
    quoted = ascii(text)
    return quoted if len(quoted) <= _SHOWN_LENGTH else f"{quoted[: _SHOWN_LENGTH - 3]}..."
