"""What a killed process leaves behind is gone after the next start."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from containers import left_behind, needs_root
from segtrial.container.engine import connect
from segtrial.container.exchange import ExchangeKind
from segtrial.container.owner import LABEL_OWNER
from segtrial.container.sandbox import open_sandbox

pytestmark = pytest.mark.docker

# A process that is killed in the middle of an attempt, with everything an attempt has made.
VICTIM = """
    import sys, tempfile
    from pathlib import Path
    from segtrial.container.image_facts import read_image
    from segtrial.container.run import run_attempt
    from segtrial.container.sandbox import open_sandbox
    from segtrial.container.spec import ContainerSpec

    image, exchange, case = sys.argv[1:]
    with open_sandbox(exchange=exchange) as box:
        spec = ContainerSpec(
            image=read_image(box.engine, image, labels=box.owner.labels),
            input_dir=Path(case),
            entrypoint=("python3", "-c", "import time; time.sleep(60)"),
        )
        print(box.owner.name, flush=True)
        run_attempt(box, spec, output_to=Path(case) / "never")
"""


@needs_root
@pytest.mark.parametrize("kind", ["host tmpfs", "engine volume"])
def test_the_next_start_removes_what_a_killed_process_left(
    base_image: str, tmp_path: Path, kind: ExchangeKind
) -> None:
    case = tmp_path / "input"
    case.mkdir()
    command = [sys.executable, "-c", textwrap.dedent(VICTIM), base_image, kind, str(case)]
    engine = connect()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        owner = victim.stdout.readline().strip()
        mine = {"label": f"{LABEL_OWNER}={owner}", "status": "running"}
        while not [c for c in engine.api.containers(filters=mine) if "segtrial-h" not in str(c)]:
            assert victim.poll() is None
        victim.kill()
    assert engine.api.containers(filters=mine)

    with open_sandbox() as sandbox:
        removed = " ".join(sandbox.reaped.removed)
        assert not [failed for failed in sandbox.reaped.failed if owner in failed]
        assert f"container /segtrial-{owner}" in removed
        assert "image sha256:" in removed
        assert f"folder /run/segtrial/{owner}" in removed
        assert not engine.api.containers(all=True, filters={"label": f"{LABEL_OWNER}={owner}"})
        assert not engine.api.images(filters={"label": f"{LABEL_OWNER}={owner}"})
        volumes = engine.api.volumes(filters={"label": f"{LABEL_OWNER}={owner}"})
        assert not volumes["Volumes"]
        assert owner not in Path("/proc/self/mountinfo").read_text()
        assert not list(Path("/sys/fs/cgroup").rglob(f"segtrial-{owner}*"))
    engine.close()


def test_a_living_owner_keeps_what_is_its_own() -> None:
    with open_sandbox() as first:
        body = {"Image": first.exchanges.holder_image, "Labels": first.owner.labels}
        container = first.engine.create(body, name=f"segtrial-{first.new_attempt_name()}")
        with open_sandbox() as second:
            assert not [name for name in second.reaped.removed if first.owner.name in name]
        assert len(left_behind(first)) == 1
        first.engine.remove(container)
        assert left_behind(first) == []
