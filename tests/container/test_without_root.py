"""A member of the docker group who is not root can run attempts, with nothing but the socket."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from containers import needs_root

pytestmark = pytest.mark.docker

# Loads everything as root, who may read the installation, then stays nobody for good.
PROGRAM = """
    import json, os, sys, tempfile
    from pathlib import Path
    from segtrial.container.failure import classify
    from segtrial.container.image_facts import read_image
    from segtrial.container.run import run_attempt
    from segtrial.container.sandbox import open_sandbox
    from segtrial.container.spec import ContainerSpec

    os.setgroups([Path("/var/run/docker.sock").stat().st_gid])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    os.environ["XDG_RUNTIME_DIR"], image = sys.argv[1:]
    folder = Path(sys.argv[1])
    case = folder / "input"
    case.mkdir()
    (case / "request.json").write_text("{}")
    program = (
        "import time; time.sleep(2); "
        "open('/output/segmentation.nii.gz', 'w').write(open('/input/request.json').read())"
    )
    with open_sandbox() as box:
        spec = ContainerSpec(
            image=read_image(box.engine, image, labels=box.owner.labels),
            input_dir=case,
            entrypoint=("python3", "-c", program),
        )
        seen = run_attempt(box, spec, output_to=folder / "output")
        print(json.dumps([
            os.getuid(), box.exchanges.kind, classify(seen).outcome, seen.leftovers,
            (folder / "output").read_text(), seen.resources.memory_is, str(box.owner.folder.parent),
        ]))
"""


@needs_root
def test_an_attempt_without_root(base_image: str) -> None:
    # Not in pytest's own folder, which each new session closes to everybody else.
    with tempfile.TemporaryDirectory(prefix="segtrial-nobody-") as home:
        Path(home).chmod(0o777)
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), home, base_image]
        done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        65534, "engine volume", "ok", [], "{}", "sampled", f"{home}/segtrial",
    ]  # fmt: skip
