"""Why a case is not clean: the path of links from a declaration to it."""

from __future__ import annotations

from dataclasses import dataclass

from segtrial.contracts.attempt import Eligibility
from segtrial.contracts.lineage import Confidence
from segtrial.policy.exposure import Kind, Step


@dataclass(frozen=True)
class EvidencePath:
    """Why some cases are not clean: the links from the declaration to the dataset."""

    eligibility: Eligibility
    cases: int
    """How many cases of the track this path reaches."""
    steps: tuple[Step, ...]
    confidence: Confidence
    """That of the weakest link."""
    kind: Kind = "labels"
    """Whether labels took part, or images alone."""
    least: int = 0
    """How many of the cases took part for sure, where it is not known which."""

    @property
    def sentence(self) -> str:
        """The whole path in words, with its confidence and its links."""
        links = tuple(dict.fromkeys(link for step in self.steps for link in step.evidence))
        read = f" ({'; '.join(links)})" if links else ""
        counted = "1 case" if self.cases == 1 else f"{self.cases} cases"
        known = f" (at least {self.least} of them took part)" if self.least else ""
        return (
            f"{counted} {self.eligibility}{known}, {self.confidence} confidence: "
            f"{'; '.join(step.sentence for step in self.steps)}.{read}"
        )

    def as_json(self) -> dict[str, object]:
        """Plain values, for a program."""
        return {
            "eligibility": self.eligibility,
            "cases": self.cases,
            "at_least": self.least,
            "used": self.kind,
            "confidence": self.confidence,
            "steps": [
                {"says": s.sentence, "evidence": list(s.evidence), "confidence": s.confidence}
                for s in self.steps
            ],
        }
