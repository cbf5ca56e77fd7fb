"""The body of the engine's create call, as data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segtrial.container.engine import Json
from segtrial.container.image_facts import ImageFacts
from segtrial.container.slot import Slot
from segtrial.container.spec import ContainerSpec, create_body, removed_env
from segtrial.contracts.limits import Limits, Relaxations
from segtrial.errors import SubmissionError

IMAGE = ImageFacts(
    image_id="sha256:" + "a" * 64,
    architecture="amd64",
    user="1000:1000",
    entrypoint=("python", "predict.py"),
    working_dir="/app",
    env=(("PATH", "/usr/bin"),),
    volumes=(),
)
SPEC = ContainerSpec(image=IMAGE, input_dir=Path("/staged"))
GPU = Slot(name="gpu", gpu_uuid="GPU-1234", cpuset="0-3")


def body(spec: ContainerSpec = SPEC) -> Json:
    return create_body(spec, mounts=[])


def host(spec: ContainerSpec = SPEC) -> Json:
    return dict(body(spec)["HostConfig"])


def test_the_default_is_sealed() -> None:
    assert host() == {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "Init": True,
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges:true"],
        "PidsLimit": 512,
        "Memory": 16 << 30,
        "MemorySwap": 16 << 30,
        "OomScoreAdj": 500,
        "ShmSize": 1 << 30,
        "Tmpfs": {
            "/tmp": "rw,exec,nosuid,nodev,mode=1777,size=2147483648,nr_inodes=65536"  # noqa: S108
        },
        "Ulimits": [
            {"Name": "core", "Soft": 0, "Hard": 0},
            {"Name": "nofile", "Soft": 16384, "Hard": 16384},
            {"Name": "fsize", "Soft": (2048 + 1) << 20, "Hard": (2048 + 1) << 20},
        ],
        "LogConfig": {"Type": "local", "Config": {"max-size": "5m", "max-file": "2"}},
        "Mounts": [],
    }


def test_the_image_is_run_by_id_with_its_entrypoint_and_no_arguments() -> None:
    assert {name: value for name, value in body().items() if name != "HostConfig"} == {
        "Image": IMAGE.image_id,
        "User": "1000:1000",
        "Entrypoint": ["python", "predict.py"],
        "Cmd": [],
        "WorkingDir": "/app",
        "Env": ["HOME=/tmp", "NVIDIA_VISIBLE_DEVICES=void"],
        "Hostname": "case",
        "Labels": {},
        "Healthcheck": {"Test": ["NONE"]},
        "StopSignal": "SIGKILL",
    }


LIMITS = st.builds(
    Limits,
    memory_gib=st.floats(0.0625, 4096),
    pids=st.integers(8, 65_536),
    cpus=st.none() | st.floats(0.01, 1024),
    tmp_gib=st.floats(0.001, 1024),
    shm_gib=st.floats(0.001, 1024),
    output_mib=st.integers(1, 65_536),
)
GRANTS = st.builds(Relaxations, root=st.booleans(), shm_gib=st.none() | st.floats(0.1, 1024))


@given(limits=LIMITS, granted=GRANTS)
def test_no_limit_and_no_grant_opens_the_box(limits: Limits, granted: Relaxations) -> None:
    config = host(replace(SPEC, limits=limits, granted=granted))

    assert config["Memory"] == config["MemorySwap"] > 0
    assert config["ReadonlyRootfs"]
    assert config["NetworkMode"] == "none"
    assert config["CapDrop"] == ["ALL"]
    assert not {"Privileged", "CapAdd", "Devices", "PidMode", "Binds", "UsernsMode"} & set(config)
    assert all("size=" in options for options in config["Tmpfs"].values())


def test_root_only_by_grant() -> None:
    spec = replace(SPEC, image=replace(IMAGE, user="0:0"))

    assert body(spec)["User"] == "65534:65534"
    assert body(replace(spec, granted=Relaxations(root=True)))["User"] == "0:0"


def test_a_grant_of_root_does_not_make_another_user_root() -> None:
    assert body(replace(SPEC, granted=Relaxations(root=True)))["User"] == "1000:1000"


def test_a_writable_root_is_bounded() -> None:
    config = host(replace(SPEC, granted=Relaxations(writable_rootfs=True)))

    assert not config["ReadonlyRootfs"]
    assert config["StorageOpt"] == {"size": "10G"}


def test_granted_sizes_replace_the_limits() -> None:
    config = host(replace(SPEC, granted=Relaxations(shm_gib=8, tmp_gib=4)))

    assert config["ShmSize"] == 8 << 30
    assert f"size={4 << 30}" in config["Tmpfs"]["/tmp"]  # noqa: S108 - in the container


def test_every_volume_of_the_image_is_covered_but_our_own_mounts() -> None:
    image = replace(IMAGE, volumes=("/data", "/input", "/output"))

    assert set(host(replace(SPEC, image=image))["Tmpfs"]) == {"/tmp", "/data"}  # noqa: S108


def test_a_gpu_is_asked_for_by_uuid() -> None:
    assert host(replace(SPEC, slot=GPU))["DeviceRequests"] == [
        {"DeviceIDs": ["GPU-1234"], "Capabilities": [["gpu", "compute", "utility"]]}
    ]


def test_a_gpu_by_cdi_has_the_hook_switched_off() -> None:
    spec = replace(SPEC, slot=replace(GPU, gpu_route="cdi"))

    assert host(spec)["DeviceRequests"] == [
        {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=GPU-1234"]}
    ]
    assert "NVIDIA_VISIBLE_DEVICES=void" in body(spec)["Env"]


def test_a_gpu_by_the_hook_is_named_by_the_engine_alone() -> None:
    image = replace(IMAGE, env=(("NVIDIA_VISIBLE_DEVICES", "all"),))

    # The bare name removes the image's value; the engine adds its own at start.
    assert body(replace(SPEC, slot=GPU, image=image))["Env"] == [
        "HOME=/tmp", "NVIDIA_VISIBLE_DEVICES",
    ]  # fmt: skip


def test_a_slot_pins_processors() -> None:
    assert host(replace(SPEC, slot=GPU))["CpusetCpus"] == "0-3"
    assert "CpusetCpus" not in host()


@pytest.mark.parametrize(
    "value", ["", "lib", "/a:", ":/a", "/a:./b", "/a/../b", "/proc/self/cwd/x", "/a:$ORIGIN"]
)
def test_a_library_path_that_is_not_absolute_is_taken_away(value: str) -> None:
    assert removed_env((("LD_LIBRARY_PATH", value),)) == ("LD_LIBRARY_PATH",)


@pytest.mark.parametrize(
    "path", ["/proc", "/proc/self/fd/8", "/sys/x", "/dev", "//proc/1", "proc/self", "/app/../proc"]
)
def test_a_working_directory_in_a_kernel_file_system_is_refused(path: str) -> None:
    with pytest.raises(SubmissionError, match="Set WORKDIR to an ordinary folder"):
        body(replace(SPEC, image=replace(IMAGE, working_dir=path)))


@pytest.mark.parametrize(("path", "kept"), [("", "/"), ("app", "/app"), ("/procx", "/procx")])
def test_an_ordinary_working_directory_is_kept(path: str, kept: str) -> None:
    assert body(replace(SPEC, image=replace(IMAGE, working_dir=path)))["WorkingDir"] == kept


def test_an_image_without_entrypoint_runs_only_under_a_contract_with_a_command() -> None:
    bare = replace(SPEC, image=replace(IMAGE, entrypoint=()))

    with pytest.raises(SubmissionError, match="Add an ENTRYPOINT"):
        body(bare)
    assert body(replace(bare, command=("sh", "predict.sh")))["Cmd"] == ["sh", "predict.sh"]


def test_labels_of_owner_and_attempt_are_joined() -> None:
    spec = replace(SPEC, labels={"segtrial.run": "1"})

    assert create_body(spec, mounts=[], labels={"segtrial.owner": "2"})["Labels"] == {
        "segtrial.run": "1",
        "segtrial.owner": "2",
    }
