"""The same scores ranked by other rules, and where they disagree.

A ranking that another reasonable rule turns around is one rule's opinion (Maier-Hein et al. 2018,
doi:10.1038/s41467-018-07619-7). None of these replaces the ranking by mean; each answers another
question, and the page says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segtrial.statistics.comparison import holm
from segtrial.statistics.exact import Floats, settled
from segtrial.statistics.intervals import quantile
from segtrial.statistics.scores import Family
from segtrial.statistics.signflip import pairs
from segtrial.statistics.stability import tau_b
from segtrial.statistics.verdicts import Comparison

MEDIAN_THEN_RANK = "median_then_rank"
RANK_THEN_MEAN = "rank_then_mean"
BY_VERDICTS = "by_verdicts"
BY_MEAN = "by_mean"


@dataclass(frozen=True, slots=True)
class Scheme:
    """One other ranking of the same submissions.

    Attributes
    ----------
    name : str
        Which rule.
    order : list of int
        Positions in the main ranking, best first; ties in the order of the main ranking.
    tau : float or None
        Kendall's tau-b with the main ranking; None where the rule ties everybody.
    same_first : bool
        Whether the first of the main ranking is (or shares) first here.
    """

    name: str
    order: list[int]
    tau: float | None
    same_first: bool


def other_schemes(family: Family, verdicts: Sequence[Comparison]) -> list[Scheme]:
    """Rank a family by the other rules.

    Parameters
    ----------
    family : Family
        Submissions in ranking order.
    verdicts : sequence of Comparison
        Its pairs.
    """
    by_rule = {
        RANK_THEN_MEAN: _mean_ranks(family),
        BY_VERDICTS: _verdict_balance(family, verdicts),
    }
    if family.rule.reported_by_quantiles:
        sums = family.goodness.sum(axis=1)
        by_rule[BY_MEAN] = [
            float(total) if known else -np.inf
            for total, known in zip(sums, family.comparable, strict=True)
        ]
    else:
        by_rule[MEDIAN_THEN_RANK] = [quantile(np.sort(row), 0.5) for row in family.goodness]
    return [_scheme(name, by_rule[name]) for name in sorted(by_rule)]


def _scheme(name: str, merit: Sequence[float]) -> Scheme:
    places = list(range(len(merit)))
    return Scheme(
        name=name,
        order=sorted(places, key=lambda m: (-merit[m], m)),
        tau=tau_b([-float(place) for place in places], merit),
        same_first=bool(merit) and merit[0] == max(merit),
    )


def _mean_ranks(family: Family) -> list[float]:
    """Minus the sum of each submission's ranks over patients, ties sharing them."""
    better = -family.observed if family.rule.reported_by_quantiles else family.goodness
    merit = []
    for row in better:
        ahead = (better > row).sum() + ((better == row).sum() - row.size) / 2
        merit.append(-float(ahead))
    return merit


def _verdict_balance(family: Family, verdicts: Sequence[Comparison]) -> list[float]:
    """Number of submissions beaten minus number of those that beat it, by verdict."""
    balance = [0.0] * len(family.submissions)
    for pair in verdicts:
        if pair.verdict == "better":
            balance[pair.a] += 1
            balance[pair.b] -= 1
    return balance


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A pair on which Wilcoxon's test says something the verdict does not.

    Attributes
    ----------
    a, b : int
        Positions in the main ranking.
    favours : int
        The one that wins more often, weighted by ranks.
    p_adjusted : float
        Wilcoxon, Holm over the family.
    opposite : bool
        Whether it favours the one that ranks behind.
    """

    a: int
    b: int
    favours: int
    p_adjusted: float
    opposite: bool


def wilcoxon_disagreements(
    family: Family, verdicts: Sequence[Comparison], *, alpha: float
) -> list[Disagreement]:
    """Pairs that Wilcoxon's signed-rank test decides and the verdicts do not.

    It asks who wins on more patients, not whose mean is higher: a submission that is slightly
    better on most patients and fails on a few can win it and be worse.
    """
    merit = -family.observed if family.rule.reported_by_quantiles else family.goodness
    places = pairs(len(family.submissions))
    z = np.array([signed_rank_z(merit[a], merit[b]) for a, b in places])
    adjusted = holm(_two_sided(z))
    return [
        Disagreement(a, b, a if z[k] > 0 else b, float(adjusted[k]), opposite=bool(z[k] < 0))
        for k, (a, b) in enumerate(places)
        if adjusted[k] <= alpha and (z[k] < 0 or verdicts[k].verdict != "better")
    ]


def signed_rank_z(a: Floats, b: Floats) -> float:
    """Standardised signed-rank statistic of a against b.

    Parameters
    ----------
    a, b : float64 array, shape (n,)
        More is better; minus infinity is worse than anything, and two of them are a tie.

    Returns
    -------
    float
        Positive where a tends to be better; 0 without any difference. Zero differences are left
        out, tied ones share their ranks, and the variance is corrected for ties.

    References
    ----------
    Wilcoxon 1945, doi:10.2307/3001968.
    """
    differ = a != b
    difference = a[differ] - b[differ]
    if difference.size == 0:
        return 0.0
    _, group, size = np.unique(np.abs(difference), return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    twice_rank = (2 * last - size + 1)[group]
    twice = int(twice_rank[difference > 0].sum()) - int(twice_rank[difference < 0].sum())
    # Twice the rank sums, so that everything stays an integer; the variance is four times its own.
    variance = int((twice_rank.astype(np.int64) ** 2).sum())
    return float(twice / np.sqrt(variance))


def _two_sided(z: Floats) -> Floats:
    from scipy import stats  # noqa: PLC0415 - SciPy takes half a second; only callers pay

    return np.array([settled(float(p)) for p in 2 * stats.norm.sf(np.abs(z))])
