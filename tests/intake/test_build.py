"""A Dockerfile is built from a bounded context, without a network; its log says what failed."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from segtrial.container import build
from segtrial.container.build import BuildFailedError, build_submission, context_files
from segtrial.container.engine import Engine
from segtrial.container.engine_images import find
from segtrial.errors import SubmissionError


def write(folder: Path, *lines: str) -> None:
    (folder / "Dockerfile").write_text(
        "\n".join(["ARG BASE_IMAGE", "FROM ${BASE_IMAGE}", *lines]) + "\n"
    )


def test_dockerignore_decides_what_is_sent(tmp_path: Path) -> None:
    write(tmp_path)
    for name in ("predict.py", "data/case.nii.gz", "notes.txt", "keep.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".dockerignore").write_text("# comment\n*.txt\n!keep.txt\ndata\nDockerfile\n")
    assert context_files(tmp_path, dockerfile="Dockerfile") == [
        ".dockerignore",
        "Dockerfile",
        "keep.txt",
        "predict.py",
    ]


@pytest.mark.parametrize(("bound", "value"), [("MAX_CONTEXT_FILES", 3), ("MAX_CONTEXT_BYTES", 99)])
def test_a_context_that_is_too_large_says_what_to_leave_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    write(tmp_path)
    for number in range(4):
        (tmp_path / f"{number}").write_bytes(bytes(30))
    monkeypatch.setattr(build, bound, value)
    with pytest.raises(SubmissionError, match=r"too large.*\.dockerignore"):
        context_files(tmp_path, dockerfile="Dockerfile")


@pytest.mark.docker
def test_the_base_image_is_handed_over_and_nothing_is_tagged(
    engine: Engine, base_image: str, tmp_path: Path, throw_away: list[str]
) -> None:
    write(tmp_path, "COPY x /x", f"LABEL x={secrets.token_hex(8)}")
    (tmp_path / "x").write_text("x")
    image_id = build_submission(engine, tmp_path, dockerfile="Dockerfile", base_image=base_image)
    throw_away.append(image_id)
    found = find(engine, image_id)
    assert found is not None
    assert not found["RepoTags"]
    assert found["Id"] == image_id


@pytest.mark.docker
def test_a_build_has_no_network_unless_it_is_asked_for(
    engine: Engine, base_image: str, tmp_path: Path
) -> None:
    program = "import os; print(sorted(os.listdir('/sys/class/net'))); raise SystemExit(3)"
    write(tmp_path, f'RUN python3 -c "{program}"')
    with pytest.raises(BuildFailedError) as failed:
        build_submission(engine, tmp_path, dockerfile="Dockerfile", base_image=base_image)
    message = str(failed.value)
    assert "returned a non-zero code: 3" in message
    assert "built without a network; if a RUN line needs one, allow it" in message
    assert "| ['lo']" in message


@pytest.mark.docker
def test_the_log_of_a_failed_build_is_bounded_and_harmless(
    engine: Engine, base_image: str, tmp_path: Path
) -> None:
    program = "print('a' * 9999 + chr(27) + '[31m', *range(999), sep=chr(10), flush=1); 1 / 0"
    write(tmp_path, f'RUN python3 -c "{program}"')
    with pytest.raises(BuildFailedError) as failed:
        build_submission(engine, tmp_path, dockerfile="Dockerfile", base_image=base_image)
    message = str(failed.value)
    assert "ZeroDivisionError" in message
    assert "\x1b" not in message
    assert len(message) < 20_000


@pytest.mark.docker
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("COPY gone /gone",), "does not build: COPY failed"),
        (("RUN --mount=type=cache,target=/x true",), "Build it with `docker build`"),
        (("NONSENSE",), "unknown instruction"),
    ],
)
def test_a_dockerfile_that_cannot_be_built_says_why(
    engine: Engine, base_image: str, tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    write(tmp_path, *lines)
    with pytest.raises(BuildFailedError, match=message):
        build_submission(engine, tmp_path, dockerfile="Dockerfile", base_image=base_image)


@pytest.mark.docker
def test_a_build_that_takes_too_long_is_stopped(
    engine: Engine, base_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BUILD_TIME_S", 0.5)
    write(tmp_path, f"RUN while true; do echo {secrets.token_hex(4)}; sleep 0.1; done")
    with pytest.raises(BuildFailedError, match="was stopped after"):
        build_submission(engine, tmp_path, dockerfile="Dockerfile", base_image=base_image)


@pytest.mark.docker
@pytest.mark.parametrize("name", ["../Dockerfile", "gone", "link"])
def test_a_dockerfile_lies_in_its_submissions_folder(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    write(tmp_path)
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "link").symlink_to("../Dockerfile")
    with pytest.raises(SubmissionError, match=r"outside of|There is no Dockerfile"):
        build_submission(engine, folder, dockerfile=name)
