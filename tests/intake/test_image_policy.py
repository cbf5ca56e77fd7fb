"""Every finding has a golden message; a run has what was asked for and granted, no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from segtrial.container.image_config import ImageConfig, read_config
from segtrial.container.image_policy import Verdict, decide
from segtrial.contracts.limits import Relaxations
from segtrial.errors import SubmissionError

GOLDEN = Path(__file__).parents[1] / "golden" / "image-policy"
CASES = sorted(path.stem for path in GOLDEN.glob("*.yaml"))


def judge(case: dict[str, Any]) -> Verdict:
    document = case["config"]
    if "layers" in case:
        document["rootfs"] = {"diff_ids": ["sha256:" + "0" * 64] * case["layers"]}
    return decide(
        read_config(document, size_bytes=int(case.get("size_gib", 1) * 2**30)),
        host_architecture="amd64",
        asked=Relaxations(**case.get("asked", {})),
        granted=Relaxations(**case.get("granted", {})),
        user=case.get("user"),
        disk_is_bounded=case.get("disk_is_bounded", True),
    )


def described(case: dict[str, Any]) -> str:
    try:
        verdict = judge(case)
    except SubmissionError as refused:
        return f"{refused}\n"
    lines = [f"{one.action} {one.reason}: {one}" for one in verdict.findings]
    lines.append(f"runs with: {', '.join(verdict.granted.asked()) or 'no relaxation'}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", CASES)
def test_what_an_image_says_of_itself_has_a_reason_and_an_advice(name: str) -> None:
    case = yaml.safe_load((GOLDEN / f"{name}.yaml").read_text(encoding="utf-8"))
    assert described(case) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def relaxations() -> st.SearchStrategy[Relaxations]:
    gib = st.none() | st.floats(0.5, 64)
    return st.builds(
        Relaxations,
        root=st.booleans(),
        writable_rootfs=st.booleans(),
        shm_gib=gib,
        tmp_gib=gib,
    )


AN_IMAGE = read_config(
    {"os": "linux", "architecture": "amd64", "config": {"Entrypoint": ["/predict"]}}, size_bytes=1
)


@given(asked=relaxations(), granted=relaxations())
def test_a_run_has_what_was_asked_for_or_does_not_happen(
    asked: Relaxations, granted: Relaxations
) -> None:
    """Asked is not granted: the maintainer grants by flag, within caps."""
    verdict = decide(AN_IMAGE, host_architecture="amd64", asked=asked, granted=granted)
    for name in verdict.granted.asked():
        value, limit = getattr(verdict.granted, name), getattr(granted, name)
        assert value == getattr(asked, name)
        assert value <= limit
    if not verdict.rejections:
        assert verdict.granted == asked


text = st.text(max_size=20)
config = st.fixed_dictionaries(
    {},
    optional={
        "os": text,
        "architecture": text,
        "rootfs": st.fixed_dictionaries({}, optional={"diff_ids": st.lists(text) | st.none()}),
        "config": st.dictionaries(
            st.sampled_from(
                ["User", "Env", "Entrypoint", "Cmd", "Volumes", "WorkingDir", "Healthcheck", "X"]
            ),
            st.none() | text | st.integers() | st.lists(text) | st.dictionaries(text, st.none()),
        ),
    },
)


@given(document=config | st.recursive(st.none() | text | st.integers(), st.lists))
def test_any_document_is_read_or_refused(document: object) -> None:
    try:
        image = read_config(document, size_bytes=0)
    except SubmissionError:
        return
    assert isinstance(image, ImageConfig)
    verdict = decide(image, host_architecture="amd64", asked=Relaxations(), granted=Relaxations())
    for finding in verdict.findings:
        assert str(finding).isprintable()
        assert str(finding).isascii()
