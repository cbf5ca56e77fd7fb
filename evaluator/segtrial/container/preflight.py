"""What this host can promise: each limit of the sealed run, measured by starting probes.

Nothing is believed because a flag was set. A probe is an attempt like any other, by the same code
and flags, with small limits and a program (`inside`) that pushes against the wall in question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from segtrial.container import inside
from segtrial.container.finding import Finding
from segtrial.container.host_facts import judge_engine
from segtrial.container.image_facts import ImageFacts
from segtrial.container.observation import Observation
from segtrial.container.owner import scratch
from segtrial.container.preflight_gpu import judge_gpus
from segtrial.container.probe_findings import (
    DEADLINE_S,
    LIMITS,
    PROBES,
    judge,
    judge_writable_root,
)
from segtrial.container.run import run_attempt
from segtrial.container.sandbox import Sandbox
from segtrial.container.spec import ContainerSpec
from segtrial.contracts.limits import Relaxations


def examine(sandbox: Sandbox, image: ImageFacts) -> Iterator[Finding]:
    """Findings about this host, one after the other as they are measured.

    Parameters
    ----------
    sandbox
        Open.
    image
        An image with Python, such as the base image.

    Yields
    ------
    Finding
        Every one, each time; nothing is left out because another is broken.
    """
    yield from examine_walls(sandbox, image)
    yield from judge_gpus(sandbox)


def examine_walls(sandbox: Sandbox, image: ImageFacts) -> Iterator[Finding]:
    """The same without the GPUs."""
    yield from judge_engine(sandbox.engine.info(), host_swap_bytes=host_swap_bytes(sandbox))
    yield _exchange(sandbox)
    with scratch(sandbox.owner) as folder:
        specs = _specs(image, folder)
        for probe in PROBES:
            yield from judge(probe, _run(sandbox, specs[probe]))
        free = replace(specs["walls"], granted=Relaxations(writable_rootfs=True))
        yield judge_writable_root(_run(sandbox, free))


def _specs(image: ImageFacts, folder: Path) -> dict[str, ContainerSpec]:
    case = folder / "input"
    case.mkdir()
    (case / "request.json").write_text("{}", encoding="utf-8")
    source = Path(inside.__file__).read_text(encoding="utf-8")
    return {
        probe: ContainerSpec(
            image=image,
            input_dir=case,
            limits=LIMITS.model_copy(update={"time_s": DEADLINE_S} if probe == "undying" else {}),
            entrypoint=("python3", "-c", source, probe),
        )
        for probe in PROBES
    }


def _run(sandbox: Sandbox, spec: ContainerSpec) -> Observation:
    output = spec.input_dir.with_name("output")
    seen = run_attempt(sandbox, spec, output_to=output)
    output.unlink(missing_ok=True)
    return seen


def _exchange(sandbox: Sandbox) -> Finding:
    sentences = {
        "host tmpfs": "Outputs come out through a sized file system in memory of this host.",
        "engine volume": (
            "Outputs come out through a sized volume of the engine in memory, kept by a holder "
            "container, which costs about half a second for each case. As root beside the engine "
            "it would cost nothing."
        ),
    }
    return Finding(key="exchange", status="note", sentence=sentences[sandbox.exchanges.kind])


def host_swap_bytes(sandbox: Sandbox) -> int | None:
    """Swap of this host, if it is the engine's."""
    if sandbox.cgroups is None:
        return None
    rows = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("SwapTotal:"))
