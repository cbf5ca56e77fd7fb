"""One track, read once: what every view of it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from segtrial.board.cost import Cost, costs
from segtrial.board.endpoint import Endpoint, endpoints
from segtrial.contracts.result import ScoreRecord, SubmissionRow
from segtrial.policy.merging import track_key
from segtrial.policy.publication import PublicResults


@dataclass(frozen=True)
class Track:
    """One track of a board; made from public results only."""

    results: PublicResults

    @cached_property
    def key(self) -> str:
        """Name in addresses and folders."""
        return track_key(self.results)

    @cached_property
    def endpoints(self) -> dict[tuple[str, str], Endpoint]:
        """By (structure, metric), in the order they are offered."""
        return endpoints(self.results)

    @cached_property
    def structures(self) -> tuple[str, ...]:
        """Structures with an endpoint, macro-average first."""
        return tuple(dict.fromkeys(structure for structure, _ in self.endpoints))

    @cached_property
    def entries(self) -> Mapping[str, SubmissionRow]:
        """Submissions by id."""
        return {row.id: row for row in self.results.submissions}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Names by id; the version beside a name that two entries share."""
        rows = self.results.submissions
        shared = {row.name for row in rows if sum(row.name == o.name for o in rows) > 1}
        return {r.id: f"{r.name} {r.version}" if r.name in shared else r.name for r in rows}

    @cached_property
    def baselines(self) -> frozenset[str]:
        """Trivial entries: the floor, which would flatten a drawing of the others."""
        return frozenset(row.id for row in self.results.submissions if row.baseline)

    @cached_property
    def costs(self) -> Mapping[str, Cost]:
        """What each entry took."""
        return costs(self.results)

    @cached_property
    def records(self) -> Mapping[str, Sequence[ScoreRecord]]:
        """Per-case records of each entry."""
        found: dict[str, list[ScoreRecord]] = {row.id: [] for row in self.results.submissions}
        for record in self.results.records:
            found.setdefault(record.submission, []).append(record)
        return found

    @property
    def default(self) -> tuple[str, str] | None:
        """What is shown first; None where there is nothing to show."""
        return next(iter(self.endpoints), None)

    def metrics(self, structure: str) -> list[str]:
        """Metrics of a structure, in the order they are offered."""
        return [metric for found, metric in self.endpoints if found == structure]
