"""Whether scores made on this host may be ranked: asked before a run, measured once per host.

What the doctor measured is remembered in the folder of locks, which a reboot empties, under a key
that changes with the engine, the kernel and our own release. Only a good answer is remembered:
whoever mends a host can go on at once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from segtrial import __version__
from segtrial.container import engine_images
from segtrial.container.base_image import BASE_TAG
from segtrial.container.finding import Finding, may_rank
from segtrial.container.host_facts import judge_engine
from segtrial.container.image_facts import read_image
from segtrial.container.owner import private_runtime_dir
from segtrial.container.preflight import examine_walls, host_swap_bytes
from segtrial.container.sandbox import Sandbox
from segtrial.errors import PlatformError


def require_sound_host(sandbox: Sandbox, *, announce: Callable[[str], None]) -> None:
    """Measure the walls of a sealed run where nobody has since this host was started.

    Parameters
    ----------
    sandbox
        Open.
    announce
        Is told one line when something is done or cannot be.

    Raises
    ------
    PlatformError
        A wall does not hold here. GPUs are not asked about: one that fails is taken out by itself.
    """
    if _mark(sandbox).exists():
        return
    base = engine_images.find(sandbox.engine, BASE_TAG)
    if base is None:
        # Making the image takes minutes and a network; a grader may have neither to spare.
        announce("the walls were not measured on this host: run `evaluate doctor` once")
        info = sandbox.engine.info()
        _demand(judge_engine(info, host_swap_bytes=host_swap_bytes(sandbox)))
        return
    announce("measuring whether this host keeps the limits (once)")
    image = read_image(sandbox.engine, str(base["Id"]), labels=sandbox.owner.labels)
    findings = tuple(examine_walls(sandbox, image))
    _demand(findings)
    remember(sandbox, findings)


def remember(sandbox: Sandbox, findings: Iterable[Finding]) -> None:
    """Keep what was measured, if every wall held, until the host changes."""
    if may_rank(tuple(findings)):
        _mark(sandbox).touch()


def _demand(findings: tuple[Finding, ...]) -> None:
    broken = [f"- {one.key}: {one.sentence}" for one in findings if one.status == "broken"]
    if broken:
        raise PlatformError(
            "This host does not keep what a sealed run promises, so scores made on it could not "
            "be ranked, and nothing is run:\n" + "\n".join(broken) + "\n"
            "Mend it and try again; `evaluate doctor` shows everything that was measured. To look "
            "at one case only, `evaluate check` runs here."
        )


def _mark(sandbox: Sandbox) -> Path:
    return private_runtime_dir() / f"sound-{host_key(sandbox)[:32]}"


def host_key(sandbox: Sandbox) -> str:
    """Hash that changes whenever the findings can: another engine, kernel, boot or release."""
    info = sandbox.engine.info()
    named = ("ID", "ServerVersion", "KernelVersion", "DefaultRuntime", "SecurityOptions", "Driver")
    told = [info.get(name) for name in named]
    boot = Path("/proc/sys/kernel/random/boot_id")
    own = boot.read_text(encoding="ascii").strip() if boot.exists() else ""
    parts = [__version__, sandbox.exchanges.kind, own, os.geteuid(), *told]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
