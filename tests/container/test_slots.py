"""Slots on a real engine whose GPU hook is a stand-in: given by UUID, exclusive, probed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from containers import left_behind
from private_engine import PrivateEngine
from segtrial.container import slot_locks
from segtrial.container.failure import classify
from segtrial.container.gpu import Gpu
from segtrial.container.image_facts import read_image
from segtrial.container.observation import Observation
from segtrial.container.run import run_attempt
from segtrial.container.sandbox import Sandbox, open_sandbox
from segtrial.container.slot import Slot
from segtrial.container.slot_locks import is_given
from segtrial.container.slots import SlotPool, gpu_route, open_slots, shares
from segtrial.container.spec import ContainerSpec
from segtrial.contracts.limits import Limits
from segtrial.errors import PlatformError


def gpu(number: int) -> Gpu:
    return Gpu(uuid=f"GPU-{number}", model="Stand-in", driver="1.0", memory_mib=1024, index=number)


TWO = (gpu(0), gpu(1))


def run_holder(sandbox: Sandbox, slot: Slot, case: Path, *, time_s: float = 1.0) -> Observation:
    """Run the only image a private engine has; it sleeps until its deadline."""
    image = read_image(sandbox.engine, sandbox.exchanges.holder_image, labels={})
    spec = ContainerSpec(image=image, input_dir=case, slot=slot, limits=Limits(time_s=time_s))
    return run_attempt(sandbox, spec, output_to=case.with_name("output"))


@pytest.mark.docker
@pytest.mark.usefixtures("private_engine")
def test_each_gpu_is_a_slot_with_its_share_of_the_processors() -> None:
    with open_sandbox() as sandbox, open_slots(sandbox, gpus=TWO) as pool:
        slots = [pool.get(), pool.get()]

        assert [slot.gpu_uuid for slot in slots] == ["GPU-0", "GPU-1"]
        assert all(slot.cpuset for slot in slots)
        assert pool.unused == {}
        assert left_behind(sandbox) == []


@pytest.mark.docker
@pytest.mark.usefixtures("private_engine")
def test_a_container_is_given_its_own_gpu_and_no_other(tmp_path: Path) -> None:
    case = tmp_path / "input"
    case.mkdir()
    with open_sandbox() as sandbox, open_slots(sandbox, gpus=TWO, count=1) as pool:
        slot = pool.get()
        thread = threading.Thread(target=run_holder, args=(sandbox, slot, case))
        thread.start()
        environment = b""
        while b"GPU" not in environment:
            for container in sandbox.engine.api.containers():
                pid = sandbox.engine.inspect(container["Id"])["State"]["Pid"]
                environment = Path(f"/proc/{pid}/environ").read_bytes()
        thread.join()

    assert b"NVIDIA_VISIBLE_DEVICES=GPU-0\x00" in environment


@pytest.mark.docker
@pytest.mark.usefixtures("private_engine")
def test_two_processes_never_hold_the_same_gpu() -> None:
    program = """
        import sys
        from segtrial.container.gpu import Gpu
        from segtrial.container.sandbox import open_sandbox
        from segtrial.container.slots import open_slots
        gpus = [
            Gpu(uuid=f"GPU-{n}", model="", driver="", memory_mib=0, index=n) for n in range(2)
        ]
        with open_sandbox() as sandbox, open_slots(sandbox, gpus=gpus, count=1) as pool:
            print(pool.slots[0].gpu_uuid, flush=True)
            sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline().strip() == "GPU-0"
        with open_sandbox() as sandbox:
            with open_slots(sandbox, gpus=TWO) as pool:
                assert [slot.gpu_uuid for slot in pool.slots] == ["GPU-1"]
                assert pool.unused == {"GPU-0": "another process of ours has it"}
            other.kill()
            other.wait()
            with open_slots(sandbox, gpus=TWO) as pool:
                assert len(pool.slots) == 2


@pytest.mark.docker
@pytest.mark.usefixtures("private_engine")
def test_a_gpu_in_a_strangers_container_is_not_free() -> None:
    with open_sandbox() as sandbox:
        body = {
            "Image": sandbox.exchanges.holder_image,
            "HostConfig": {
                "NetworkMode": "none",
                "DeviceRequests": [{"DeviceIDs": ["1"], "Capabilities": [["gpu"]]}],
            },
        }
        sandbox.engine.start(sandbox.engine.create(body, name="stranger"))
        with open_slots(sandbox, gpus=TWO) as pool:
            assert [slot.gpu_uuid for slot in pool.slots] == ["GPU-0"]
            assert pool.unused == {"GPU-1": "container stranger has it"}
        sandbox.engine.remove("stranger")


@pytest.mark.docker
def test_a_gpu_that_fails_is_taken_out_and_no_slot_is_an_error(
    private_engine: PrivateEngine, tmp_path: Path
) -> None:
    case = tmp_path / "input"
    case.mkdir()
    with open_sandbox() as sandbox, open_slots(sandbox, gpus=TWO) as pool:
        first, second = pool.get(), pool.get()
        private_engine.break_gpus()
        verdict = classify(run_holder(sandbox, first, case))
        pool.put(first, suspect=verdict.fault == "platform")
        pool.put(second)

        assert verdict.fault == "platform"
        assert list(pool.taken_out) == ["GPU-0"]
        assert "nvml error" in pool.taken_out["GPU-0"]
        assert pool.get() is second
        pool.put(second, suspect=True)
        with pytest.raises(PlatformError, match="No slot is left"):
            pool.get()
        with (
            pytest.raises(PlatformError, match="None of the 1 GPUs"),
            open_slots(sandbox, gpus=[gpu(7)]),
        ):
            pass
        assert left_behind(sandbox) == []


def test_an_engine_that_lists_the_device_gets_it_by_cdi() -> None:
    info = {"DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=GPU-0"}]}

    assert gpu_route(info, "GPU-0") == "cdi"
    assert gpu_route(info, "GPU-1") == "hook"
    assert gpu_route({}, "GPU-0") == "hook"


@pytest.mark.parametrize(
    ("request_", "given_"),
    [
        ({"DeviceIDs": ["GPU-3"]}, True),
        ({"DeviceIDs": ["3"]}, True),
        ({"DeviceIDs": ["GPU-30"]}, False),
        ({"DeviceIDs": ["0", "1"]}, False),
        ({"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=GPU-3"]}, True),
        ({"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}, True),
        ({"Count": -1, "DeviceIDs": None}, True),
        ({"Count": 1}, True),
    ],
)
def test_a_request_covers_a_gpu(request_: dict[str, object], given_: bool) -> None:  # noqa: FBT001
    assert is_given({"HostConfig": {"DeviceRequests": [request_]}}, gpu(3)) is given_


def test_a_container_without_requests_has_no_gpu() -> None:
    assert not is_given({"HostConfig": {"DeviceRequests": None}}, gpu(0))


@given(st.lists(st.integers(0, 500), min_size=1, unique=True), st.integers(1, 64))
def test_shares_are_equal_and_disjoint_where_there_are_enough(cpus: list[int], count: int) -> None:
    parts = [[int(cpu) for cpu in share.split(",")] for share in shares(cpus, count)]

    assert len(parts) == count
    assert len({len(part) for part in parts}) == 1
    flat = [cpu for part in parts for cpu in part]
    assert set(flat) <= set(cpus)
    if count <= len(cpus):
        assert len(set(flat)) == len(flat)


@pytest.fixture
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processor locks of this test's own, on a host of four."""
    monkeypatch.setattr(slot_locks, "private_runtime_dir", lambda: tmp_path)
    monkeypatch.setattr("segtrial.container.slots._processors", lambda: [0, 1, 2, 3])


@pytest.mark.docker
@pytest.mark.usefixtures("own_locks")
def test_processor_slots_have_processors_of_their_own(sandbox: Sandbox) -> None:
    with open_slots(sandbox, gpus=(), count=2) as pool:
        assert [slot.cpuset for slot in pool.slots] == ["0,1", "2,3"]
        with (
            pytest.raises(PlatformError, match="0 of 4 are free"),
            open_slots(sandbox, gpus=(), count=2),
        ):
            pass
    with open_slots(sandbox, gpus=(), count=4) as pool:
        assert len({slot.cpuset for slot in pool.slots}) == 4


@pytest.mark.docker
@pytest.mark.usefixtures("own_locks")
@pytest.mark.parametrize("count", [1, 5])
def test_one_slot_and_too_many_slots_are_not_pinned(sandbox: Sandbox, count: int) -> None:
    with open_slots(sandbox, gpus=(), count=count) as pool:
        assert [slot.cpuset for slot in pool.slots] == [None] * count


@pytest.mark.docker
def test_a_pinned_container_sees_its_processors_only(
    sandbox: Sandbox, base_image: str, tmp_path: Path
) -> None:
    case = tmp_path / "input"
    case.mkdir()
    spec = ContainerSpec(
        image=read_image(sandbox.engine, base_image, labels=sandbox.owner.labels),
        input_dir=case,
        slot=Slot(cpuset="1"),
        entrypoint=("python3", "-c", "import os; print(os.sched_getaffinity(0))"),
    )

    seen = run_attempt(sandbox, spec, output_to=tmp_path / "output")

    assert seen.log.head.strip() == b"{1}"


def test_a_pool_waits_for_a_slot() -> None:
    pool = SlotPool(slots=(Slot(),), unused={}, probe=lambda _: None)
    slot = pool.get()
    threading.Timer(0.2, pool.put, [slot]).start()

    assert pool.get() is slot
