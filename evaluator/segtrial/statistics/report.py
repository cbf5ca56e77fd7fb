"""One family as it stands in ``results.json``; the shape is documented in `analysis`."""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.statistics.estimates import Estimate
from segtrial.statistics.exact import Floats, published
from segtrial.statistics.intervals import NotEstimable
from segtrial.statistics.planning import detectable_difference, smallest_visible_rate
from segtrial.statistics.ranking import RankInterval, RankTally
from segtrial.statistics.scores import Family, Unranked
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.signflip import decidable
from segtrial.statistics.verdicts import Comparison
from segtrial.statistics.writing import Json, Object, ends, not_estimable, number

OVERLAPS = ("dice", "iou", "nsd")
NEAR_ZERO = 0.1
"""Mean overlap below which a submission is flagged, never removed: removing the worst would be a
reward for them, and a ranking without them a claim nobody tested."""


def heading(
    family: Family, pairs: Sequence[Comparison], tally: RankTally, settings: AnalysisSettings
) -> Object:
    """What the family is about, and what it can show."""
    n = int(family.patients.size)
    primary = family.rule.key in settings.primary_metrics
    written: Object = {
        "n": n,
        "cases": family.cases,
        "endpoint": family.rule.endpoint,
        "role": "primary" if primary else "exploratory",
        "estimand": "median" if family.rule.reported_by_quantiles else "mean",
        "higher_is_better": family.rule.higher_is_better,
        "unit": family.rule.unit,
        "low_n": n < settings.low_n,
        "smallest_visible_failure_rate": published(smallest_visible_rate(n)),
        "resamples": {"used": tally.resamples, "empty": tally.empty},
        "decidable": decidable(n, len(pairs), settings),
    }
    deviations = sorted(pair.deviation for pair in pairs if pair.comparable and pair.deviation > 0)
    if deviations and n >= settings.minimum_n:
        written["detectable_difference"] = published(
            detectable_difference(
                deviation=deviations[len(deviations) // 2],
                n=n,
                alpha=settings.alpha / len(pairs),
                power=settings.power,
            )
        )
    return written


def ranking_row(family: Family, row: Estimate, ranks: RankInterval, frequency: Floats) -> Object:
    """One ranked submission."""
    written: Object = {"submission": row.submission}
    if family.rule.reported_by_quantiles:
        written |= {
            "median": number(row.median),
            "interval": ends(row.interval),
            "p90": number(row.p90),
            "p90_interval": ends(row.p90_interval),
            "mean_capped": _mean(row),
        }
    else:
        written |= {"mean": _mean(row), "interval": ends(row.interval)}
        if row.guarded is not None:
            written["guarded_interval"] = ends(row.guarded)
    return written | {
        "rank_interval": [ranks.low, ranks.high],
        "tied_for_first": ranks.tied_for_first,
        "rank_frequency": _frequency(frequency),
        "failure_rate": published(row.failed / family.patients.size),
        "failure_interval": ends(row.failure_interval),
        "failed": row.failed,
        "failed_cases": row.failed_cases,
        **({"near_zero": True} if _near_zero(family, row) else {}),
    }


def _near_zero(family: Family, row: Estimate) -> bool:
    """Whether an overlap is so small that the mistake is likely to be one of labels or space."""
    return family.rule.key in OVERLAPS and isinstance(row.mean, float) and row.mean < NEAR_ZERO


def pair_row(family: Family, pair: Comparison) -> Object:
    """One pair of ranked submissions."""
    row: Object = {"a": family.submissions[pair.a], "b": family.submissions[pair.b]}
    if pair.comparable:
        row |= {
            "difference": published(pair.difference),
            "interval": ends(pair.interval),
            "simultaneous_interval": ends(pair.simultaneous),
        }
    else:
        unknown = not_estimable("size of the scan not known")
        row |= {"difference": unknown, "interval": unknown, "simultaneous_interval": unknown}
    row |= {
        "p": published(pair.p),
        "p_adjusted": published(pair.p_adjusted),
        "verdict": pair.verdict,
        "win_rate": published(pair.win_rate),
    }
    if pair.p_equivalent is not None:
        row["p_equivalent"] = published(pair.p_equivalent)
    if pair.comparable and pair.effect_size is not None:
        row["deviation"] = published(pair.deviation)
        row["effect_size"] = published(pair.effect_size)
    if pair.comparable and pair.patients_needed is not None:
        row["patients_needed"] = pair.patients_needed
    return row


def unranked_row(found: Unranked) -> Object:
    """One submission below the ranking."""
    row: Object = {"submission": found.submission, "reason": found.reason, "scored": found.scored}
    if found.mean is not None:
        row["mean"] = published(found.mean)
    if found.bounds is not None:
        row["bounds"] = [published(end) for end in found.bounds]
    return row


def _mean(row: Estimate) -> Json:
    if isinstance(row.mean, NotEstimable):
        return not_estimable(row.mean.reason)
    return published(row.mean)


def _frequency(frequency: Floats) -> Json:
    """Empty if no resample drew a patient of the family."""
    return [published(float(share)) for share in frequency] if frequency.any() else []
