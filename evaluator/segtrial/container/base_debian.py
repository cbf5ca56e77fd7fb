"""The base image from the distribution's own packages: no registry, no package index.

``debootstrap`` makes a minimal system with Python, numpy, scipy and nibabel from the mirror that
this host's apt uses already, and the tree goes to the engine as one layer. Needs root, as
debootstrap does.

On Debian, scipy depends on a compiler through pythran. Those files are left out on the way into
the image, with documentation and package lists: 1.1 GB become 0.4 GB. Byte code stays: below a
read-only root it could not be written, and every container would compile numpy and scipy again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from segtrial.container.base_label import LABEL_HOW
from segtrial.container.engine import Engine, Json
from segtrial.errors import EngineError

PACKAGES = ("python3", "python3-numpy", "python3-scipy", "python3-nibabel", "ca-certificates")
LEFT_OUT = (
    "./dev/*",
    "./proc/*",
    "./sys/*",
    "./debootstrap",
    "./usr/include/*",
    "./usr/lib/gcc/*/*/cc1*",
    "./usr/lib/gcc/*/*/lto*",
    "./usr/lib/gcc/*/*/*.a",
    "./usr/bin/*-lto-dump*",
    "./usr/lib/*/*.a",
    "./usr/lib/python3*/config-*",
    "./usr/lib/python3/dist-packages/pythran",
    "./usr/lib/python3/dist-packages/*/tests",
    "./usr/share/doc/*",
    "./usr/share/info/*",
    "./usr/share/locale/*",
    "./usr/share/man/*",
    "./var/cache/apt/*",
    "./var/lib/apt/lists/*",
    "./var/log/*",
)
RECIPE = (PACKAGES, LEFT_OUT)

_NEEDED_BYTES = 2 << 30
_PUBLIC_MIRROR = {"debian": "http://deb.debian.org/debian"}
_LAST_LINES = 15
_SCRATCH = "segtrial-bootstrap-"

Announce = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Suite:
    """What to bootstrap and from where."""

    codename: str
    mirror: str
    components: tuple[str, ...]


def build(engine: Engine, *, labels: dict[str, str], announce: Announce) -> str:
    """Build the base image from packages and return its id.

    Raises
    ------
    EngineError
        Not root, not Debian or Ubuntu, no room, or the mirror does not answer.
    """
    _require_root()
    _require_debootstrap(announce)
    suite = find_suite()
    announce(f"base image: packages of {suite.codename} from {suite.mirror}; about a minute")
    with _scratch_folder() as scratch:
        root = scratch / "root"
        _bootstrap(suite, root, announce=announce)
        _finish(root)
        announce("base image: handing it to the engine")
        return _import(engine, root, labels={**labels, LABEL_HOW: "debian"})


def find_suite() -> Suite:
    """Find the host's own distribution and the mirror its apt uses for it."""
    release = _os_release()
    codename, family = release.get("VERSION_CODENAME", ""), release.get("ID", "")
    sources = [line.split() for line in _apt_sources()]
    ours = [row for row in sources if len(row) == 3 and row[1] == codename]  # noqa: PLR2004 - site, release, component
    if ours:
        mirror = ours[0][0]
        return Suite(codename, mirror, tuple(sorted({row[2] for row in ours if row[0] == mirror})))
    if family in _PUBLIC_MIRROR and codename:
        return Suite(codename, _PUBLIC_MIRROR[family], ("main",))
    raise EngineError(
        "No registry is reachable, and the base image can be built from packages on Debian and "
        "Ubuntu only. Load an image with Python, numpy, scipy and nibabel from elsewhere "
        "(`docker load`), then set SEGTRIAL_BASE_IMAGE to its registry reference."
    )


def _apt_sources() -> list[str]:
    """One line ``mirror codename component`` for each source of this host's apt."""
    if shutil.which("apt-get") is None:
        return []
    line = "$(SITE) $(RELEASE) $(COMPONENT)"
    asked = subprocess.run(  # noqa: S603 - fixed words
        ["apt-get", "indextargets", "--format", line, "Created-By: Packages"],  # noqa: S607 - the host's own apt
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.splitlines()


def _os_release() -> dict[str, str]:
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return {}
    rows = (line.partition("=") for line in text.splitlines())
    return {name: value.strip('"') for name, _, value in rows}


def _require_root() -> None:
    if os.geteuid() != 0:
        raise EngineError(
            "No registry is reachable, and building the base image from the distribution's "
            "packages needs root. Run this once as root, or give this machine a registry "
            "(SEGTRIAL_BASE_IMAGE=name@sha256:... names the image to pull)."
        )


def _require_debootstrap(announce: Announce) -> None:
    if shutil.which("debootstrap"):
        return
    if os.environ.get("NO_INSTALL") == "1" or shutil.which("apt-get") is None:
        raise EngineError(
            "No registry is reachable, and building the base image from packages needs "
            "debootstrap. Install it (`apt-get install debootstrap`), then try again."
        )
    announce("base image: installing the package debootstrap (NO_INSTALL=1 prevents this)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "debootstrap"]
    done = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    if done.returncode != 0:
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True, check=False)  # noqa: S607
        done = subprocess.run(install, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise EngineError(
            f"debootstrap could not be installed:\n{done.stderr.strip()[-1500:]}\n"
            "Install it by hand, then try again."
        )


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    # /var/tmp: /tmp is often in memory, or mounted nodev, which debootstrap refuses.
    parent = Path(os.environ.get("TMPDIR") or "/var/tmp")  # noqa: S108 - a private folder is made in it
    for left in parent.glob(f"{_SCRATCH}*"):
        # Of a build that was killed: the caller sees to it that there is one build at a time.
        shutil.rmtree(left, ignore_errors=True)
    free = shutil.disk_usage(parent).free
    if free < _NEEDED_BYTES:
        raise EngineError(
            f"Building the base image needs {_NEEDED_BYTES >> 30} GiB in {parent}, and "
            f"{free / 2**30:.1f} GiB are free. Make room, or set TMPDIR to another folder."
        )
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=parent) as folder:
        yield Path(folder)


def _bootstrap(suite: Suite, root: Path, *, announce: Announce) -> None:
    command = [
        # A mount namespace of its own: the /proc and /dev that debootstrap mounts below `root`
        # vanish with it, also when it is killed, and can never be deleted through.
        *("unshare", "--mount", "--propagation", "private"),
        *("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}"),
        f"--components={','.join(suite.components)}",
        *(suite.codename, str(root), suite.mirror),
    ]
    environment = {**os.environ, **_apt_proxy(), "DEBIAN_FRONTEND": "noninteractive"}
    with subprocess.Popen(  # noqa: S603 - an argument list of ours and of apt's own sources
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            last = _narrate(process.stdout or (), announce)
        except BaseException:
            # With its downloads and package scripts, so that nothing writes below us any more.
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        raise EngineError(
            f"debootstrap failed with exit code {process.returncode}. Its last lines:\n"
            + "\n".join(last)
            + "\nCheck that the mirror answers (`apt-get update`), then try again."
        )


def _narrate(lines: Iterable[str], announce: Announce) -> deque[str]:
    """Tell the phases of debootstrap as they begin, and keep its last lines."""
    last: deque[str] = deque(maxlen=_LAST_LINES)
    told: set[str] = set()
    for line in lines:
        last.append(line.rstrip())
        phase = re.match(r"I: (Retrieving|Unpacking|Configuring) ", line)
        if phase and phase[1] not in told:
            told.add(phase[1])
            announce(f"base image: {phase[1].lower()} packages")
    return last


def _apt_proxy() -> dict[str, str]:
    """The proxy of this host's apt, where it has one: debootstrap downloads by itself."""
    asked = subprocess.run(
        ["apt-config", "dump", "--format", "%v%n", "Acquire::http::Proxy"],  # noqa: S607 - the host's own apt
        capture_output=True,
        text=True,
        check=False,
    )
    proxy = asked.stdout.strip().partition("\n")[0]
    return {"http_proxy": proxy} if proxy.startswith("http") else {}


def _finish(root: Path) -> None:
    """Give Dockerfiles written for the public Python image the name they use."""
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")


def _import(engine: Engine, root: Path, *, labels: dict[str, str]) -> str:
    command = ["tar", "--create", "--directory", str(root), "--numeric-owner", "--one-file-system"]
    command += [f"--exclude={pattern}" for pattern in LEFT_OUT]
    with subprocess.Popen([*command, "."], stdout=subprocess.PIPE) as tar:  # noqa: S603 - fixed words
        # In pieces of our size: docker-py would send an open pipe line by line.
        pieces = iter(partial(cast("IO[bytes]", tar.stdout).read, 1 << 20), b"")
        answer = _import_stream(engine, pieces, labels=labels)
    if tar.returncode != 0 or "status" not in answer:
        raise EngineError(
            f"The engine did not take the base image: {str(answer)[:500]} (tar: {tar.returncode})"
        )
    return str(answer["status"])


def _import_stream(engine: Engine, stream: Iterator[bytes], *, labels: dict[str, str]) -> Json:
    changes = [
        "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "ENV LANG=C.UTF-8",
        'CMD ["python3"]',
        *(f'LABEL {name}="{value}"' for name, value in labels.items()),
    ]
    said = engine.api.import_image_from_stream(stream, changes=changes)
    return _last_json(str(said))


def _last_json(said: str) -> Json:
    rows = [line for line in said.splitlines() if line.strip()]
    try:
        parsed: Json = json.loads(rows[-1])
    except (IndexError, ValueError):
        return {"error": said[-500:]}
    return parsed
