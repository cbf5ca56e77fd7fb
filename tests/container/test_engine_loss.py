"""An engine that dies or restarts in the middle of an attempt never makes a score."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from containers import left_behind
from private_engine import PrivateEngine
from segtrial.container import run as run_module
from segtrial.container.engine import connect
from segtrial.container.failure import classify
from segtrial.container.image_facts import read_image
from segtrial.container.observation import Observation
from segtrial.container.run import run_attempt
from segtrial.container.sandbox import Sandbox, open_sandbox
from segtrial.container.spec import ContainerSpec
from segtrial.contracts.limits import Limits
from segtrial.errors import EngineError

pytestmark = [
    pytest.mark.docker,
    # docker-py leaves a socket open whose connection was refused; the collector closes it.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def sockets_are_collected() -> Iterator[None]:
    """Here, where the warning is expected, and not in whichever test comes next."""
    yield
    gc.collect()


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A staged case."""
    folder = tmp_path / "input"
    folder.mkdir()
    return folder


def spec(sandbox: Sandbox, case: Path, *, time_s: float) -> ContainerSpec:
    """Attempt that sleeps until its deadline."""
    image = read_image(sandbox.engine, sandbox.exchanges.holder_image, labels={})
    return ContainerSpec(image=image, input_dir=case, limits=Limits(time_s=time_s))


def run_while(sandbox: Sandbox, case: Path, disturb: Callable[[], None]) -> Observation:
    """Run an attempt and disturb its engine once the container is up."""
    seen: list[Observation] = []
    attempt = spec(sandbox, case, time_s=40)
    output = case.with_name("output")
    thread = threading.Thread(
        target=lambda: seen.append(run_attempt(sandbox, attempt, output_to=output))
    )
    thread.start()
    while not sandbox.engine.api.containers():
        time.sleep(0.05)
    time.sleep(0.5)
    disturb()
    thread.join()
    return seen[0]


def test_an_engine_that_stays_away_is_the_platforms_and_leaves_nothing_when_it_is_back(
    private_engine: PrivateEngine, case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "OUTAGE_S", 1.0)
    with open_sandbox() as sandbox:
        seen = run_while(sandbox, case, lambda: private_engine.end(signal.SIGKILL))

        verdict = classify(seen)
        assert (verdict.outcome, verdict.retry) == ("not_run: platform", "with_back_off")
        assert seen.leftovers

        private_engine.start()
        again = run_attempt(sandbox, spec(sandbox, case, time_s=1), output_to=case / "x")
        assert classify(again).outcome == "failed: timeout"
        assert again.leftovers == ()
        assert left_behind(sandbox) == []


def test_an_engine_that_is_restarted_is_never_the_authors_fault(
    private_engine: PrivateEngine, case: Path
) -> None:
    def restart() -> None:
        private_engine.end(signal.SIGTERM)
        private_engine.start()

    with open_sandbox() as sandbox:
        seen = run_while(sandbox, case, restart)

        assert classify(seen).fault in ("platform", "ambiguous")
        assert sandbox.unremoved.run() == []
        assert left_behind(sandbox) == []


@pytest.mark.usefixtures("private_engine")
def test_a_container_removed_by_somebody_is_the_platforms(case: Path) -> None:
    def remove() -> None:
        other = connect()
        for container in other.api.containers():
            other.remove(container["Id"])
        other.close()

    with open_sandbox() as sandbox:
        verdict = classify(run_while(sandbox, case, remove))

        assert verdict.outcome == "not_run: platform"
        assert left_behind(sandbox) == []


def test_no_engine_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")

    with pytest.raises(EngineError, match="Check DOCKER_HOST, or unset"):
        connect()


def test_an_address_that_is_none_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "nonsense://x")

    with pytest.raises(EngineError, match="Check DOCKER_HOST"):
        connect()
