"""Results of a few entries, made at once: what publishing does with them needs no statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hub.fakehub import FakeHub
from segtrial.contracts.dataset_card import Licence, Publication
from segtrial.contracts.release import Release
from segtrial.contracts.result import (
    CaseRow,
    DatasetRow,
    Protocol,
    Results,
    ScoreRecord,
    SubmissionRow,
    TrackRow,
)
from segtrial.hub.publish import Tools
from segtrial.hub.remote import Kind, Remote
from segtrial.policy.manifest import results_path
from segtrial.policy.merging import track_key
from segtrial.policy.publication import PublicResults

CASES = ("c1", "c2")


def results(
    *versions: tuple[str, str],
    score: float = 0.5,
    public_cases: bool = True,
    settings: Mapping[str, int] | None = None,
    track: str = "all",
) -> Results:
    """Results of entries given as (id, version), each scored the same on two cases."""
    made = Results(
        segtrial_version="0.1.0",
        dataset=DatasetRow(
            id="toy",
            title="Toy",
            version="1",
            modality="ct",
            licence=Licence(name="CC0-1.0"),
            references="public",
            publication=Publication(per_case_scores=public_cases),
        ),
        track=TrackRow(id=track, title="All", structures=("kidney",), tolerances_mm={}),
        protocol=Protocol(contract="segtrial/1", signatures={"dice": "dice/1"}),
        settings=dict(settings or {"seed": 1}),
        submissions=tuple(
            SubmissionRow(
                id=key, name=key.title(), version=version, authors=("A",), licence="MIT",
                verdict="clean",
            )
            for key, version in versions
        ),
        cases=tuple(
            CaseRow(case=c, patient=c, diagonal_mm=1, volume_ml=1, reference_ml={"kidney": 1})
            for c in CASES
        ),
        records=tuple(
            ScoreRecord(
                submission=key, case=case, structure="kidney", outcome="ok", eligibility="clean",
                reference_present=True, metrics={"dice": score},
            )
            for key, _ in versions
            for case in CASES
        ),
        analysis={},
    )  # fmt: skip
    return analyse(made)


def analyse(found: Results) -> Results:
    """A ranking by mean, in the published shape; ranks are what the tests look at."""
    means = {
        row.id: sum(_dice(r) for r in found.records if r.submission == row.id)
        for row in found.submissions
    }
    order = sorted(means, key=lambda key: (-means[key], key))
    ranking = [
        {"submission": key, "mean": means[key], "rank_interval": [place, place]}
        for place, key in enumerate(order, 1)
    ]
    body = {"n": len(CASES), "role": "primary", "ranking": ranking, "pairs": []}
    return found.model_copy(update={"analysis": {"kidney": {"dice": body}}})


def _dice(record: ScoreRecord) -> float:
    value = record.metrics["dice"]
    assert isinstance(value, float)
    return value


def page(
    results: Sequence[PublicResults],
    *,
    releases: Sequence[Release],
    dataset: str | None,
    space: str | None,
) -> dict[str, bytes]:
    """A page that depends on everything a page depends on."""
    files = {results_path(track_key(one)): one.model_dump_json().encode() for one in results}
    said = f"{[one.content_sha256 for one in results]} {len(releases)} {dataset} {space}"
    return {**files, "index.html": said.encode()}


def tools(**changes: object) -> Tools:
    """Tools that never wait."""
    given = {
        "analyse": analyse,
        "page": page,
        "dataset_files": lambda _tracks: {"README.md": b"---\nlicense: other\n---\n"},
        "space_files": lambda _tracks: {"README.md": b"---\nsdk: static\n---\n"},
        "wait": lambda _seconds: None,
        **changes,
    }
    return Tools(**given)  # type: ignore[arg-type]


def remote(hub: FakeHub, kind: Kind, name: str = "lab/board", *, token: str = "hf_one") -> Remote:  # noqa: S107 - the fake Hub takes any
    return Remote(name, kind, endpoint=hub.url, token=token)


def published(hub: FakeHub, key: str = "toy--all") -> PublicResults:
    """What the dataset repository holds now."""
    raw = hub.repo("dataset", "lab/board").files[results_path(key)]
    return PublicResults.model_validate_json(raw)


def versions(found: Results) -> dict[str, str]:
    return {row.id: row.version for row in found.submissions}
