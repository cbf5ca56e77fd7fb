"""The base image is made once per recipe, from a registry or from the distribution's packages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pip
import pytest

from segtrial.container import base_debian, base_pulled
from segtrial.container.base_image import (
    BASE_REFERENCE,
    BASE_TAG,
    REFERENCE_VARIABLE,
    ensure_base_image,
    recipe_hash,
)
from segtrial.container.base_label import LABEL_DIGEST, LABEL_RECIPE
from segtrial.container.build import build_folder
from segtrial.container.engine import Engine
from segtrial.container.engine_images import find
from segtrial.errors import EngineError


def test_a_recipe_is_another_one_when_anything_in_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = recipe_hash(BASE_REFERENCE)
    assert recipe_hash(BASE_REFERENCE) == before
    assert recipe_hash("another/python@sha256:...") != before
    monkeypatch.setattr(base_debian, "RECIPE", (*base_debian.RECIPE, "more"))
    assert recipe_hash(BASE_REFERENCE) != before


def test_the_hosts_own_mirror_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [
        "http://mirror.test/debian trixie main",
        "http://mirror.test/debian trixie contrib",
        "http://mirror.test/debian trixie-updates main",
        "http://other.test/debian trixie main",
        "unparsable",
    ]
    release = {"ID": "debian", "VERSION_CODENAME": "trixie"}
    monkeypatch.setattr(base_debian, "_apt_sources", lambda: sources)
    monkeypatch.setattr(base_debian, "_os_release", lambda: release)
    suite = base_debian.find_suite()
    assert (suite.codename, suite.mirror) == ("trixie", "http://mirror.test/debian")
    assert suite.components == ("contrib", "main")


def test_debian_without_sources_has_a_public_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_debian, "_apt_sources", list)
    release = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
    monkeypatch.setattr(base_debian, "_os_release", lambda: release)
    assert base_debian.find_suite().mirror == "http://deb.debian.org/debian"


def test_another_distribution_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_debian, "_apt_sources", list)
    monkeypatch.setattr(base_debian, "_os_release", lambda: {"ID": "fedora"})
    with pytest.raises(EngineError, match=REFERENCE_VARIABLE):
        base_debian.find_suite()


def test_without_root_no_packages_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(EngineError, match="needs root"):
        base_debian.build(None, labels={}, announce=print)  # type: ignore[arg-type] # not reached


@pytest.mark.docker
def test_an_image_that_is_there_is_used_and_says_what_it_is(
    engine: Engine, base_image: str
) -> None:
    told: list[str] = []
    again = ensure_base_image(engine, announce=told.append)
    assert (again.id, again.was_there, told) == (base_image, True, [])
    found = find(engine, BASE_TAG)
    assert found is not None
    assert found["Config"]["Labels"][LABEL_RECIPE] == recipe_hash(BASE_REFERENCE)
    assert (again.digest is None) == (again.how == "debian")


@pytest.mark.docker
def test_a_reference_that_was_asked_for_is_taken_or_refused(engine: Engine) -> None:
    nowhere = "127.0.0.1:1/python:3.11"
    with pytest.raises(EngineError, match=rf"{nowhere} .*{REFERENCE_VARIABLE}"):
        ensure_base_image(engine, announce=print, reference=nowhere)


@pytest.fixture
def one_small_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for three large ones."""
    monkeypatch.setattr(base_pulled, "WHEELS", ("packaging==24.2",))


@pytest.mark.docker
@pytest.mark.usefixtures("one_small_wheel")
def test_an_image_of_a_registry_is_pulled_by_digest_and_given_wheels(
    engine: Engine,
    base_image: str,
    registry: str,
    tmp_path: Path,
    throw_away: list[str],
) -> None:
    # The distribution's Python, made to look like the public image: with pip, and packages where
    # that one has them.
    shutil.copytree(Path(pip.__file__).parent, tmp_path / "pip")
    lines = [
        f"FROM {base_image}",
        "COPY pip /usr/local/lib/python3.11/dist-packages/pip",
        "RUN ln -s dist-packages /usr/local/lib/python3.11/site-packages",
    ]
    (tmp_path / "Dockerfile").write_text("\n".join(lines))
    python = build_folder(engine, tmp_path)
    name = f"{registry}/python"
    engine.api.tag(python, name, "3.11")
    engine.api.push(name, "3.11")
    made = base_pulled.build(engine, f"{name}:3.11", labels={"x": "y"}, announce=print)
    throw_away += [made, f"{name}:3.11", python]
    found = find(engine, made)
    assert found is not None
    labels = found["Config"]["Labels"]
    assert labels[LABEL_DIGEST].startswith("sha256:")
    assert (labels["x"], labels["org.segtrial.base.how"]) == ("y", "pulled")
    assert engine.api.images(filters={"label": "org.segtrial.base.stage"}) == []
    program = "import packaging; assert packaging.__version__ == '24.2', packaging"
    check = tmp_path / "check"
    check.mkdir()
    (check / "Dockerfile").write_text(f'FROM {made}\nRUN python3 -c "{program}"\n')
    throw_away.insert(0, build_folder(engine, check))
