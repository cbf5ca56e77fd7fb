"""Images whose configuration opens doors although the container looks sealed."""

from __future__ import annotations

import ast
import secrets
from dataclasses import replace
from pathlib import Path

import pytest

from containers import Bench, MakeImage
from intake import archives
from segtrial.container import engine_images
from segtrial.container.failure import classify
from segtrial.container.image_facts import ImageFacts
from segtrial.container.intake import take_in
from segtrial.container.observation import Observation
from segtrial.container.run import run_attempt
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.submission import ImageSource, Submission
from segtrial.errors import SubmissionError

pytestmark = pytest.mark.docker

WRITE = "open('/output/segmentation.nii.gz', 'w').write('result')"


def run_image(bench: Bench, image: ImageFacts, **changes: object) -> Observation:
    """Run an image as a submission's: its own entrypoint, no arguments."""
    spec = replace(bench.spec(), image=image, entrypoint=None, **changes)  # type: ignore[arg-type]
    return bench.run(spec)


def python(*lines: str) -> list[str]:
    """Entrypoint that runs lines of Python."""
    return ["python3", "-c", "\n".join(lines)]


def test_a_volume_is_bounded_memory_and_not_the_hosts_disk(
    bench: Bench, make_image: MakeImage
) -> None:
    image = make_image(
        Volumes={"/data/": {}, "/more//data": {}, "/./odd/../data2": {}},
        Entrypoint=python(
            "import os",
            "rows = [r.split() for r in open('/proc/self/mountinfo')]",
            "print([(r[4], r[r.index('-') + 1]) for r in rows if 'data' in r[4]], flush=True)",
            "os.write(os.open('/data/x', os.O_WRONLY | os.O_CREAT), b'x' * (33 << 20))",
            "print(os.stat('/data/x').st_size >> 20, flush=True)",
        ),
    )

    seen = run_image(bench, image)

    assert image.volumes == ("/data", "/data2", "/more/data")
    mounted, written_mib = seen.log.head.splitlines()
    places = ast.literal_eval(mounted.decode())
    assert sorted(places) == [("/data", "tmpfs"), ("/data2", "tmpfs"), ("/more/data", "tmpfs")]
    assert written_mib == b"32"


@pytest.mark.parametrize("path", ["/", "relative", "/a/.."])
def test_a_volume_that_is_no_folder_below_the_root_is_refused(
    make_image: MakeImage, path: str
) -> None:
    with pytest.raises(SubmissionError, match="Remove the VOLUME line"):
        make_image(Entrypoint=python(WRITE), Volumes={path: {}})


@pytest.mark.parametrize("path", ["/usr", "/proc", "/dev", "/input/x", "/sbin"])
def test_a_volume_in_an_impossible_place_is_the_authors(
    bench: Bench, make_image: MakeImage, path: str
) -> None:
    verdict = classify(run_image(bench, make_image(Entrypoint=python(WRITE), Volumes={path: {}})))

    assert (verdict.outcome, verdict.fault) == ("failed: crash", "author")


def test_a_volume_at_the_output_changes_nothing(bench: Bench, make_image: MakeImage) -> None:
    image = make_image(
        Volumes={"/output": {}, "/input/": {}, "/tmp": {}},  # noqa: S108 - in the container
        Entrypoint=python(WRITE),
    )

    assert classify(run_image(bench, image)).outcome == "ok"


def test_a_health_check_never_runs(bench: Bench, make_image: MakeImage) -> None:
    image = make_image(
        Healthcheck={"Test": ["CMD", "touch", "/output/checked"], "Interval": 1_000_000_000},
        Entrypoint=python("import os, time", "time.sleep(2.5)", "print(os.listdir('/output'))"),
    )

    assert run_image(bench, image).log.head.strip() == b"[]"


def test_a_stop_signal_chooses_nothing(bench: Bench, make_image: MakeImage) -> None:
    image = make_image(StopSignal="SIGURG", Entrypoint=python("import time", "time.sleep(60)"))
    limits = bench.spec().limits.model_copy(update={"time_s": 1.5})

    assert classify(run_image(bench, image, limits=limits)).outcome == "failed: timeout"


def test_loader_and_gpu_variables_are_taken_away(bench: Bench, make_image: MakeImage) -> None:
    image = make_image(
        Env=[
            "LD_PRELOAD=/evil.so",
            "LD_AUDIT=/evil.so",
            "LD_LIBRARY_PATH=/usr/local/cuda/lib64",
            "NVIDIA_VISIBLE_DEVICES=all",
            "NVIDIA_DRIVER_CAPABILITIES=all",
            "HOME=/nowhere",
            "MODEL=large",
        ],
        Entrypoint=python("import os", "print(sorted(os.environ.items()))"),
    )

    given = dict(ast.literal_eval(run_image(bench, image).log.head.decode()))

    assert given["MODEL"] == "large"
    assert given["HOME"] == "/tmp"  # noqa: S108 - in the container
    assert given["LD_LIBRARY_PATH"] == "/usr/local/cuda/lib64"
    assert given["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert not {"LD_PRELOAD", "LD_AUDIT", "NVIDIA_DRIVER_CAPABILITIES"} & set(given)


@pytest.mark.parametrize(
    "path", ["/proc/self/fd/8", "//proc/self/fd/7/../../..", "/sys", "/dev/fd/3"]
)
def test_a_working_directory_in_a_kernel_file_system_is_refused(
    bench: Bench, make_image: MakeImage, path: str
) -> None:
    image = make_image(WorkingDir=path, Entrypoint=python(WRITE))

    with pytest.raises(SubmissionError, match="Set WORKDIR to an ordinary folder"):
        run_image(bench, image)


def test_a_working_directory_that_is_a_link_into_proc_leads_nowhere(
    bench: Bench, make_image: MakeImage
) -> None:
    image = make_image(
        files={"open": "/proc/self/fd"},
        WorkingDir="/open/8",
        Entrypoint=python("import os", "print(os.listdir('../../../../etc')[:3])"),
    )

    verdict = classify(run_image(bench, image))

    assert verdict.outcome in ("failed: crash", "failed: no_output")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("", "65534:65534"),
        ("root", "65534:65534"),
        ("0:0", "65534:65534"),
        ("toor", "65534:65534"),
        ("app", "1234:1235"),
        ("app:staff", "1234:50"),
        ("4321", "4321:0"),
        ("ghost", "65534:65534"),
    ],
)
def test_nobody_is_root_without_the_grant(
    bench: Bench, make_image: MakeImage, user: str, expected: str
) -> None:
    image = make_image(
        files={"etc/passwd": b"root:x:0:0::/:\ntoor:x:0:0::/:\napp:x:1234:1235::/:\n"},
        User=user,
        Entrypoint=python("import os", "print(f'{os.getuid()}:{os.getgid()}', os.getgroups())"),
    )

    printed = run_image(bench, image).log.head.decode().split()

    assert printed[0] == expected


def test_granted_root_has_no_rights_either(bench: Bench, make_image: MakeImage) -> None:
    image = make_image(
        Entrypoint=python(
            "import os",
            "status = open('/proc/self/status').read()",
            "print(os.getuid(), 'CapEff:\\t0000000000000000' in status)",
        )
    )

    seen = run_image(bench, image, granted=Relaxations(root=True))

    assert seen.log.head.split() == [b"0", b"True"]


def test_an_image_without_an_entrypoint_is_refused_before_anything_starts(
    bench: Bench, make_image: MakeImage
) -> None:
    image = make_image(Cmd=["python3", "-c", "print(1)"])

    with pytest.raises(SubmissionError, match="no ENTRYPOINT"):
        run_image(bench, image)


def test_arguments_of_the_image_are_not_given(bench: Bench, make_image: MakeImage) -> None:
    image = make_image(Entrypoint=python("import sys", "print(sys.argv)"), Cmd=["--from-cmd"])

    assert run_image(bench, image).log.head.strip() == b"['-c']"


@pytest.mark.parametrize(
    "program", ["/no/such/program", "/etc/passwd", "/etc", "no space left on device", "", "-x"]
)
def test_an_entrypoint_that_cannot_run_is_the_authors(
    bench: Bench, make_image: MakeImage, program: str
) -> None:
    verdict = classify(run_image(bench, make_image(Entrypoint=[program])))

    assert (verdict.outcome, verdict.fault) == ("failed: crash", "author")


def test_a_writable_root_is_refused_where_its_disk_use_has_no_bound(
    bench: Bench, make_image: MakeImage
) -> None:
    """Granted, it is either held by a quota or not run at all: never unbounded in silence."""
    image = make_image(Entrypoint=python("open('/grown', 'wb').write(bytes(1 << 20))", WRITE))

    seen = run_image(bench, image, granted=Relaxations(writable_rootfs=True, root=True))

    verdict = classify(seen)
    if seen.trouble is None:
        assert verdict.outcome == "ok"
    else:
        assert verdict.fault == "platform"
        assert "quota" in verdict.reason


def test_run_attempt_never_pulls(bench: Bench) -> None:
    image = replace(bench.image, image_id="sha256:" + "0" * 64)

    seen = run_attempt(
        bench.sandbox, replace(bench.spec(WRITE), image=image), output_to=bench.output
    )

    assert seen.trouble is not None
    assert seen.trouble.step == "create"
    assert classify(seen).fault == "platform"


def test_an_archive_cannot_take_a_tag_that_belongs_to_somebody_else(
    bench: Bench, tmp_path: Path
) -> None:
    engine = bench.sandbox.engine
    name = f"segtrial-test/victim-{secrets.token_hex(4)}"
    victim, thief = (
        archives.image({"Labels": {"test": secrets.token_hex(8)}, "Entrypoint": ["/x"]})
        for _ in range(2)
    )
    made = [take_in_archive(bench, tmp_path, archives.pack(archives.docker_24(victim)))]
    engine.api.tag(made[0], name, "1")
    try:
        for layout in (archives.docker_24, archives.docker_25, archives.oci):
            data = archives.pack(layout(thief, tags=[f"{name}:1", f"{name}:2"]))
            made.append(take_in_archive(bench, tmp_path, data))
            owner = engine_images.find(engine, f"{name}:1")
            assert owner is not None
            assert owner["Id"] == made[0] != made[-1]
            assert engine_images.find(engine, f"{name}:2") is None
            assert engine_images.release(engine, made[-1])
    finally:
        engine.remove_image(f"{name}:1")
        for image in made:
            engine.remove_image(image)


def take_in_archive(bench: Bench, folder: Path, data: bytes) -> str:
    """Id of the image that came in from an archive."""
    (folder / "image.tar").write_bytes(data)
    submission = Submission(
        schema_version="segtrial/1",
        id="stranger",
        name="Stranger",
        version="1",
        authors=("A. Stranger",),
        licence="MIT",
        image=ImageSource(archive="image.tar"),
        labels={1: "liver"},
    )
    return take_in(bench.sandbox.engine, submission, folder).image_id
