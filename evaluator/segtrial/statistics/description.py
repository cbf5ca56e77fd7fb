"""The descriptive parts of a family as they stand in ``results.json``.

The shape is documented in `segtrial.statistics.analysis`.
"""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.statistics.estimates import Estimate
from segtrial.statistics.exact import Floats, published
from segtrial.statistics.interaction import SliceTest
from segtrial.statistics.intervals import NotEstimable
from segtrial.statistics.ranking import RankTally
from segtrial.statistics.schemes import other_schemes, wilcoxon_disagreements
from segtrial.statistics.scores import Family
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.stability import kendall_tau, leave_one_out, near_duplicates
from segtrial.statistics.subgroups import Slice
from segtrial.statistics.verdicts import Comparison
from segtrial.statistics.writing import Object, ends, not_estimable, number


def stability(family: Family, tally: RankTally, without: Floats) -> Object:
    """How the order moves: resamples, single patients, duplicates.

    Parameters
    ----------
    family : Family
        Submissions in ranking order.
    tally : RankTally
        Of the bootstrap.
    without : float64 array, shape (M, n)
        Goodness without each patient, rows in ranking order.
    """
    by_sum = sorted(range(len(without)), key=lambda m: tally_place(tally, family.submissions[m]))
    left_out = leave_one_out(without[by_sum])
    tau = kendall_tau(tally)
    return {
        "ordered_by": "mean_capped" if family.rule.reported_by_quantiles else "mean",
        "kendall_tau": (
            not_estimable("fewer than two submissions")
            if tau is None
            else {"mean": published(tau.mean), "low": published(tau.low)}
        ),
        "leave_one_out": {
            "patients": left_out.patients,
            "changing_order": left_out.changing_order,
            "changing_first": left_out.changing_first,
            "ranks": [
                {"submission": family.submissions[m], "low": low, "high": high}
                for m, (low, high) in zip(by_sum, left_out.ranks, strict=False)
            ],
        },
        "near_duplicates": [
            {
                "a": family.submissions[a],
                "b": family.submissions[b],
                "correlation": published(round(correlation, 6)),
            }
            for a, b, correlation in near_duplicates(family)
        ],
    }


def tally_place(tally: RankTally, submission: str) -> int:
    """Place of a submission in the order by sums."""
    return tally.order.index(tally.family.submissions.index(submission))


def schemes(family: Family, pairs: Sequence[Comparison]) -> Object:
    """Other rankings of the same submissions."""
    return {
        scheme.name: {
            "order": [family.submissions[m] for m in scheme.order],
            "kendall_tau": (
                not_estimable("all tied") if scheme.tau is None else published(scheme.tau)
            ),
            "same_first": scheme.same_first,
        }
        for scheme in other_schemes(family, pairs)
    }


def disagreements(
    family: Family, pairs: Sequence[Comparison], settings: AnalysisSettings
) -> list[Object]:
    """Pairs that Wilcoxon's test decides and the verdicts do not."""
    return [
        {
            "a": family.submissions[found.a],
            "b": family.submissions[found.b],
            "favours": family.submissions[found.favours],
            "p_adjusted": published(found.p_adjusted),
            "opposite": found.opposite,
        }
        for found in wilcoxon_disagreements(family, pairs, alpha=settings.alpha)
    ]


def slices(family: Family, found: Sequence[Slice], settings: AnalysisSettings) -> Object:
    """Levels of each slice, and its tests."""
    return {
        one.name: {
            "levels": [
                {
                    "level": level.name,
                    "n": level.n,
                    "low_n": level.n < settings.low_n,
                    "estimates": [_estimate(family, row) for row in level.estimates],
                }
                for level in one.levels
            ],
            "unknown": one.unknown,
            "interaction": _test(one.interaction, settings),
            "difficulty": _test(one.difficulty, settings),
        }
        | _left_out(family, one)
        for one in found
    }


def _left_out(family: Family, one: Slice) -> Object:
    found = one.left_out
    if found is None:
        return {}
    return {
        "leave_one_out": {
            "levels": found.levels,
            "changing_order": found.changing_order,
            "changing_first": found.changing_first,
            "ranks": [
                {"submission": name, "low": low, "high": high}
                for name, (low, high) in zip(family.submissions, found.ranks, strict=True)
            ],
        }
    }


def _estimate(family: Family, row: Estimate) -> Object:
    written: Object = {"submission": row.submission}
    if family.rule.reported_by_quantiles:
        return written | {"median": number(row.median), "interval": ends(row.interval)}
    if isinstance(row.mean, NotEstimable):
        return written | {"mean": not_estimable(row.mean.reason), "interval": ends(row.interval)}
    return written | {"mean": published(row.mean), "interval": ends(row.interval)}


def _test(test: SliceTest | None, settings: AnalysisSettings) -> Object:
    if test is None:
        return not_estimable("fewer than two levels large enough, or nothing to compare")
    return {
        "p": published(test.p),
        "p_adjusted": published(test.p_adjusted),
        "highlighted": test.p_adjusted <= settings.alpha,
    }
