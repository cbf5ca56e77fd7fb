"""Do the intervals cover, and how often is a verdict false? Simulated, seeded, with errors.

``python benchmarks/coverage.py`` prints tables in Markdown; ``--write FILE`` puts them between the
markers of that file (``docs/methodology.md``), all of them or the one of ``--only``. ``--quick``
runs a tenth of it.

Scores are drawn from four made-up populations (`POPULATIONS`): patients share their difficulty, so
two submissions' scores of a patient are correlated, and some of them are 0. Ours are the functions
of the product with their defaults, but for 16,384 flips instead of 131,072. Beside them stand the
rule of the earlier benchmark segauge (percentile bootstrap, Bonferroni, 2,000 resamples), BCa,
Student's t with Holm, and Wilcoxon with Holm.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from segtrial.policy.failures import metric_rule
from segtrial.statistics.comparison import differences, equivalence_p, holm
from segtrial.statistics.estimates import estimates
from segtrial.statistics.exact import quantise
from segtrial.statistics.guard import guarded_intervals
from segtrial.statistics.interaction import slice_tests
from segtrial.statistics.intervals import Interval
from segtrial.statistics.ranking import rank_intervals
from segtrial.statistics.resampling import bootstrap
from segtrial.statistics.scores import Family
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.signflip import generators, pairs, sign_flip_tests
from segtrial.statistics.weights import (
    Stream,
    bootstrap_counts,
    flip_codes,
    permutations,
    spacings,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
SIZES = (10, 20, 50, 100, 200)
SETTINGS = AnalysisSettings()
ALPHA = SETTINGS.alpha
FEWER_FLIPS = AnalysisSettings(flips=9_999)
"""The next power of two: a group of 16,384."""
SEED_RESAMPLES = 2_000
CORRELATION = 0.6
"""Of the difficulty of a patient for two submissions, on the normal scale."""
TITLES = (
    "**Coverage of the 95 % interval of a mean**",
    "**Coverage of the 95 % interval of a paired difference**",
    "**Family-wise error",
    "**Equal means, but one",
    "**Power:",
    "**Equal submissions: share",
    "**Verdict “equivalent” although",
    "**Rank intervals of six",
    "**Interaction test: share",
)
"""How each table begins."""
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"


@dataclass(frozen=True, slots=True)
class Population:
    """Scores of one structure: a share of zeros, the rest from a beta distribution."""

    name: str
    zeros: float
    a: float
    b: float
    gain: float = 0.0
    """Added to every score that is not zero, up to 1."""

    def scores(self, uniform: Floats) -> Floats:
        """Scores at these quantiles."""
        rest = np.clip((uniform - self.zeros) / (1 - self.zeros), 0, 1)
        values = np.clip(stats.beta.ppf(rest, self.a, self.b) + self.gain, 0, 1)
        return np.where(uniform < self.zeros, 0.0, values)

    def mean(self) -> float:
        """Expected score."""
        values = np.clip(beta_grid(self.a, self.b) + self.gain, 0, 1)
        return (1 - self.zeros) * float(values.mean())

    def better_by(self, gain: float) -> Population:
        """A population whose non-zero scores are higher by ``gain``."""
        return replace(self, gain=self.gain + gain)


@lru_cache
def beta_grid(a: float, b: float) -> Floats:
    """A beta distribution as 100,000 equally likely values."""
    return np.asarray(stats.beta.ppf((np.arange(100_000) + 0.5) / 100_000, a, b), np.float64)


POPULATIONS = (
    Population("large organ", 0.0, 60, 4),
    Population("small organ", 0.01, 12, 2.5),
    Population("rare failures", 0.03, 40, 4),
    Population("lesion", 0.12, 5, 2),
)


def draw(
    populations: Sequence[Population], n: int, sets: int, random: np.random.Generator
) -> Floats:
    """Scores of several submissions on the same patients, shape (sets, submissions, n)."""
    shared = random.normal(size=(sets, 1, n))
    own = random.normal(size=(sets, len(populations), n))
    normal = math.sqrt(CORRELATION) * shared + math.sqrt(1 - CORRELATION) * own
    uniform = stats.norm.cdf(normal)
    return np.stack([p.scores(uniform[:, m]) for m, p in enumerate(populations)], axis=1)


def family(values: Floats) -> Family:
    """Submissions (rows) on the same patients (columns), as the product holds them."""
    m, n = values.shape
    return Family(
        structure="kidney",
        rule=metric_rule("dice"),
        patients=np.arange(n),
        cases=n,
        submissions=tuple(f"m{k:02d}" for k in range(m)),
        bits=30,
        scores=quantise(values, 30),
        observed=values,
        failed=np.zeros((m, n), bool),
        failed_cases=np.zeros(m, np.int64),
        comparable=np.ones(m, bool),
        unranked=(),
    )


@dataclass(slots=True)
class Tally:
    """How often something happened in a test set, or in what share of its pairs."""

    hits: float = 0.0
    squares: float = 0.0
    tries: int = 0
    width: float = 0.0

    def add(self, shares: Bools | Floats) -> None:
        """Count test sets."""
        self.hits += float(shares.sum())
        self.squares += float((shares.astype(np.float64) ** 2).sum())
        self.tries += shares.size

    def join(self, other: Tally) -> None:
        """Count what another one has."""
        self.hits += other.hits
        self.squares += other.squares
        self.tries += other.tries

    def percent(self) -> float:
        """Percentage."""
        return 100 * self.hits / max(self.tries, 1)

    def text(self) -> str:
        """Percentage with its standard error."""
        if not self.tries:
            return "-"
        share = self.hits / self.tries
        variance = self.squares / self.tries - share * share
        error = math.sqrt(max(variance, 0.25 / self.tries) / self.tries)
        return f"{100 * share:.1f} ± {100 * error:.1f}"


def batches(total: int, size: int) -> Iterator[int]:
    """Sizes of batches that add up."""
    for start in range(0, total, size):
        yield min(size, total - start)


# Intervals ----------------------------------------------------------------------------------------


def ends_ours(values: Floats, key: int) -> dict[str, Floats]:
    """Our intervals of the means of rows, shape (rows, 2); NaN where not estimable."""
    rows, n = values.shape
    one_each = [family(row[None]) for row in values]
    resampled = bootstrap(
        one_each, bootstrap_counts(Stream(key), patients=n, resamples=SETTINGS.resamples)
    )
    shares = spacings(Stream(key + 1), patients=n, resamples=SETTINGS.resamples)
    guarded = guarded_intervals(one_each, shares, alpha=ALPHA)
    found = {name: np.full((rows, 2), np.nan) for name in ("ours", "ours, guarded")}
    for k, single in enumerate(one_each):
        (row,) = estimates(single, resampled[k], guarded[k] if guarded else None, SETTINGS)
        for name, interval in (("ours", row.interval), ("ours, guarded", row.guarded)):
            if isinstance(interval, Interval):
                found[name][k] = interval.low, interval.high
    return found


def ends_bootstrap(values: Floats, key: int, alpha: float = ALPHA) -> dict[str, Floats]:
    """Percentile and BCa intervals of the means of rows, shape (rows, 2)."""
    n = values.shape[1]
    counts = bootstrap_counts(Stream(key + 2), patients=n, resamples=SEED_RESAMPLES)
    means = values @ counts.T.astype(np.float64) / n
    ordered = np.sort(means, axis=1)
    return {
        "percentile": at_levels(ordered, np.tile([alpha / 2, 1 - alpha / 2], (len(values), 1))),
        "BCa": at_levels(ordered, bca_levels(values, means, alpha)),
    }


def bca_levels(values: Floats, means: Floats, alpha: float) -> Floats:
    """Levels of the BCa interval, shape (rows, 2); as SciPy's, for many rows at once."""
    mean = values.mean(axis=1, keepdims=True)
    deviation = values - mean
    square = (deviation**2).sum(axis=1)
    cube = (deviation**3).sum(axis=1)
    acceleration = cube / np.maximum(6 * square**1.5, 1e-300)
    below = ((means < mean).mean(axis=1) + (means <= mean).mean(axis=1)) / 2
    bias = stats.norm.ppf(np.clip(below, 1e-6, 1 - 1e-6))
    tails = bias[:, None] + stats.norm.ppf([alpha / 2, 1 - alpha / 2])
    levels = stats.norm.cdf(bias[:, None] + tails / (1 - acceleration[:, None] * tails))
    return np.asarray(levels, np.float64)


def at_levels(ordered: Floats, levels: Floats) -> Floats:
    """Quantiles of sorted rows by linear interpolation, each row at its own levels."""
    position = levels * (ordered.shape[1] - 1)
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, ordered.shape[1] - 1)
    low, high = (np.take_along_axis(ordered, index, axis=1) for index in (below, above))
    return np.asarray(low + (high - low) * (position - below), np.float64)


def ends_t(values: Floats, alpha: float = ALPHA) -> Floats:
    """Student t intervals of the means of rows, shape (rows, 2)."""
    n = values.shape[1]
    half = stats.t.ppf(1 - alpha / 2, n - 1) * values.std(axis=1, ddof=1) / math.sqrt(n)
    mean = values.mean(axis=1)
    return np.stack([mean - half, mean + half], axis=1)


def coverage_of_means(sets: int) -> str:
    """Table 1."""
    names = ("ours", "ours, guarded", "percentile", "BCa", "t")
    covered: dict[tuple[int, str], Tally] = {(n, m): Tally() for n in SIZES for m in names}
    flattering = {key: Tally() for key in covered}
    no_interval: dict[int, Tally] = {n: Tally() for n in SIZES}
    alone = {(n, p.name, name): Tally() for n in SIZES for p in POPULATIONS for name in names}
    random = np.random.default_rng(1)
    for n in SIZES:
        for population in POPULATIONS:
            truth = population.mean()
            for batch in batches(sets, 500):
                values = draw([population], n, batch, random)[:, 0]
                key = int(random.integers(2**62))
                found = ends_ours(values, key) | ends_bootstrap(values, key)
                found["t"] = ends_t(values)
                no_interval[n].add(np.isnan(found["ours"][:, 0]))
                for name in names:
                    low, high = found[name].T
                    has = ~np.isnan(low)
                    inside = ((low <= truth) & (truth <= high))[has]
                    covered[n, name].add(inside)
                    alone[n, population.name, name].add(inside)
                    flattering[n, name].add((low > truth)[has])
                    covered[n, name].width += float((high - low)[has].sum())
    rows = []
    for n in SIZES:
        cells = [covered[n, name].text() for name in names]
        rows.append([str(n), *cells, no_interval[n].text()])
    apart = [
        [
            str(n),
            *(
                " / ".join(f"{alone[n, p.name, name].percent():.1f}" for name in names[:3])
                for p in POPULATIONS
            ),
        ]
        for n in SIZES
    ]
    misses = [[str(n), *(flattering[n, name].text() for name in names)] for n in SIZES]
    widths = [
        [str(n), *(f"{covered[n, m].width / covered[n, m].tries:.3f}" for m in names)]
        for n in SIZES
    ]
    title = (
        f"**Coverage of the 95 % interval of a mean**, in %, over {len(POPULATIONS)} populations, "
        f"{sets:,} test sets each (last column: no interval, not estimable)"
    )
    parts = [
        title,
        markdown(["n", *names, "none"], rows),
        "**Of these, intervals that lie entirely above the truth** (they flatter), in %",
        markdown(["n", *names], misses),
        "**Mean width**",
        markdown(["n", *names], widths),
        "**The same coverage by population: ours / ours, guarded / percentile**, in %",
        markdown(["n", *(p.name for p in POPULATIONS)], apart),
    ]
    return "\n\n".join(parts)


def coverage_of_differences(sets: int) -> str:
    """Table 2."""
    names = ("ours (t)", "percentile", "BCa")
    covered = {(n, name): Tally() for n in SIZES for name in names}
    random = np.random.default_rng(2)
    for n in SIZES:
        for population in POPULATIONS:
            rival = population.better_by(0.02)
            truth = rival.mean() - population.mean()
            for batch in batches(sets, 2000):
                both = draw([rival, population], n, batch, random)
                d = both[:, 0] - both[:, 1]
                found = ends_bootstrap(d, int(random.integers(2**62))) | {"ours (t)": ends_t(d)}
                for name in names:
                    low, high = found[name].T
                    covered[n, name].add((low <= truth) & (truth <= high))
    rows = [[str(n), *(covered[n, name].text() for name in names)] for n in SIZES]
    return (
        "**Coverage of the 95 % interval of a paired difference**, in %, the same populations "
        f"against themselves shifted by 0.02, {sets:,} test sets each\n\n"
        + markdown(["n", *names], rows)
    )


# Verdicts -----------------------------------------------------------------------------------------

Rule = Callable[[Floats, int], NDArray[np.int64]]
"""From scores (submissions, n) to +1 (first better), -1 or 0 for every pair."""


class Rules:
    """The rules that decide who is better, each on the same scores."""

    def __init__(self, n: int, random: np.random.Generator) -> None:
        self.n = n
        self.keys = random.integers(2**62, size=10_000)
        self.counts = bootstrap_counts(
            Stream(int(random.integers(2**62))), patients=n, resamples=SEED_RESAMPLES
        ).astype(np.float64)

    def ours(self, scores: Floats, index: int) -> NDArray[np.int64]:
        """The verdicts of the product."""
        a, b = np.array(pairs(len(scores))).T
        sign = np.sign((scores[a] - scores[b]).mean(axis=1)).astype(np.int64)
        codes = flip_codes(
            Stream(int(self.keys[index])), patients=self.n, bits=generators(FEWER_FLIPS)
        )
        (test,) = sign_flip_tests([family(scores)], codes, FEWER_FLIPS)
        return np.where(holm(test.p) <= ALPHA, sign, 0)

    def decide(self, scores: Floats, index: int) -> dict[str, NDArray[np.int64]]:
        """All rules."""
        a, b = np.array(pairs(len(scores))).T
        d = scores[a] - scores[b]
        level = ALPHA / len(a)
        means = d @ self.counts.T / self.n
        ordered = np.sort(means, axis=1)
        plain = np.tile([level / 2, 1 - level / 2], (len(a), 1))
        return {
            "ours": self.ours(scores, index),
            "percentile, Bonferroni (segauge)": leaves_out_0(at_levels(ordered, plain)),
            "BCa, Bonferroni": leaves_out_0(at_levels(ordered, bca_levels(d, means, level))),
            "t, Holm": np.where(holm(t_p(d)) <= ALPHA, np.sign(d.mean(axis=1)), 0).astype(np.int64),
            "Wilcoxon, Holm": wilcoxon(d),
        }


RULES = (
    "ours",
    "percentile, Bonferroni (segauge)",
    "BCa, Bonferroni",
    "t, Holm",
    "Wilcoxon, Holm",
)


def leaves_out_0(ends: Floats) -> NDArray[np.int64]:
    """+1 where an interval lies above 0, -1 where below."""
    return (ends[:, 0] > 0).astype(np.int64) - (ends[:, 1] < 0)


def t_p(d: Floats) -> Floats:
    """Two-sided p-values of paired t tests; 1 without variance."""
    n = d.shape[1]
    error = d.std(axis=1, ddof=1) / math.sqrt(n)
    t = np.divide(d.mean(axis=1), error, out=np.zeros(len(d)), where=error > 0)
    return np.asarray(2 * stats.t.sf(np.abs(t), n - 1), np.float64)


def wilcoxon(d: Floats) -> NDArray[np.int64]:
    """Signed-rank test with Holm, by the normal approximation."""
    ranks = stats.rankdata(np.where(d == 0, np.nan, np.abs(d)), axis=1, nan_policy="omit")
    ranks = np.nan_to_num(ranks)
    signed = (np.sign(d) * ranks).sum(axis=1)
    scale = np.sqrt((ranks**2).sum(axis=1))
    z = np.divide(signed, scale, out=np.zeros(len(d)), where=scale > 0)
    p = np.asarray(2 * stats.norm.sf(np.abs(z)), np.float64)
    return np.where(holm(p) <= ALPHA, np.sign(z), 0).astype(np.int64)


def false_verdicts(
    entries: Sequence[Population], n: int, sets: int, random: np.random.Generator
) -> dict[str, Tally]:
    """How often any pair is decided although all means are equal."""
    rules = Rules(n, random)
    found = {name: Tally() for name in RULES}
    for index, scores in enumerate(draw(entries, n, sets, random)):
        for name, verdicts in rules.decide(scores, index).items():
            found[name].add(np.array([verdicts.any()]))
    return found


def exchangeable_null(sets: int) -> str:
    """Table 3."""
    random = np.random.default_rng(3)
    rows = []
    for submissions in (2, 3, 10, 19):
        for n in SIZES:
            total = {name: Tally() for name in RULES}
            for population in POPULATIONS:
                part = false_verdicts([population] * submissions, n, sets, random)
                for name, tally in part.items():
                    total[name].join(tally)
            rows.append([str(submissions), str(n), *(total[name].text() for name in RULES)])
    return (
        "**Family-wise error: equal submissions, share of test sets with any verdict at all**, in "
        f"% (5 is wanted), the same populations, {sets:,} test sets each\n\n"
        + markdown(["submissions", "n", *RULES], rows)
    )


def failing(rate: float) -> tuple[Population, Population]:
    """Two submissions of equal mean: one never fails, the other fails at this rate."""
    steady = Population("steady", 0.0, 40, 8)
    low, high = 0.0, 0.2
    for _ in range(40):
        middle = (low + high) / 2
        rival = replace(steady, zeros=rate, gain=middle)
        low, high = (middle, high) if rival.mean() < steady.mean() else (low, middle)
    return steady, replace(steady, zeros=rate, gain=low)


def hidden_failures(sets: int) -> str:
    """Table 4."""
    random = np.random.default_rng(4)
    rows = []
    for rate in (0.02, 0.05):
        for n in SIZES:
            found = false_verdicts(failing(rate), n, sets, random)
            unseen = 100 * (1 - rate) ** n
            rows.append(
                [
                    f"{100 * rate:.0f} %",
                    str(n),
                    f"{unseen:.0f}",
                    *(found[name].text() for name in RULES),
                ]
            )
    return (
        "**Equal means, but one of two submissions fails on some patients and is a little better "
        f"on the others: share of test sets with a verdict**, in %, {sets:,} test sets each\n\n"
        + markdown(["fails on", "n", "no failure in the test set", *RULES], rows)
    )


def power(sets: int) -> str:
    """Table 5."""
    random = np.random.default_rng(5)
    rows = []
    for submissions in (2, 10):
        for n in SIZES:
            total = {name: Tally() for name in RULES}
            wrong = Tally()
            for population in POPULATIONS:
                better = population.better_by(0.03)
                entries = [better, *[population] * (submissions - 1)]
                rules = Rules(n, random)
                for index, scores in enumerate(draw(entries, n, sets, random)):
                    for name, verdicts in rules.decide(scores, index).items():
                        found = verdicts[: submissions - 1] > 0
                        total[name].add(np.array([found.mean()]))
                        if name == "ours":
                            wrong.add(np.array([(verdicts[: submissions - 1] < 0).any()]))
            cells = [total[name].text() for name in RULES]
            rows.append([str(submissions), str(n), *cells, wrong.text()])
    return (
        "**Power: one submission is better by 0.03 wherever nobody fails; share of the pairs with "
        f"it that are decided**, in %, the same populations, {sets:,} test sets each. A rule that "
        "breaks its error rate above has no power worth the name. (Last column: ours, any verdict "
        "the wrong way round)\n\n" + markdown(["submissions", "n", *RULES, "wrong"], rows)
    )


def first_places_of_equals(sets: int) -> str:
    """Table 6."""
    random = np.random.default_rng(6)
    rows = []
    for submissions in (2, 10):
        for n in SIZES:
            counts = bootstrap_counts(
                Stream(int(random.integers(2**62))), patients=n, resamples=SEED_RESAMPLES
            ).astype(np.float64)
            sure = Tally()
            for population in POPULATIONS:
                for scores in draw([population] * submissions, n, sets, random):
                    first = np.argmax(counts @ scores.T, axis=1)
                    share = np.bincount(first, minlength=submissions).max() / SEED_RESAMPLES
                    sure.add(np.array([share >= 0.95]))
            rows.append([str(submissions), str(n), sure.text()])
    return (
        "**Equal submissions: share of test sets in which one of them takes 95 % or more of the "
        f"first places of the bootstrap**, in %, the same populations, {sets:,} test sets each\n\n"
        + markdown(["submissions", "n", "one looks sure to be first"], rows)
    )


def equal_but_for_the_margin(sets: int) -> str:
    """Table 7."""
    random = np.random.default_rng(7)
    steady = Population("steady", 0.0, 40, 8)
    margin = SETTINGS.margins["dice"]
    rate = margin / steady.mean()
    rows = []
    for n in (20, 50, 100, 200, 400, 800):
        cells = []
        for rival in (steady, replace(steady, zeros=rate)):
            # Close where nobody fails: the two differ by a little noise.
            found = Tally()
            for scores in draw([steady], n, sets, random):
                noise = random.normal(0, 0.01, (2, n))
                both = np.clip(scores + noise, 0, 1)
                if rival.zeros:
                    both[1] = np.where(random.random(n) < rate, 0.0, both[1])
                else:
                    both[1] -= margin
                p = equivalence_p(differences(family(both)), n=n, margin=margin)
                found.add(p <= ALPHA)
            cells.append(found.text())
        rows.append([str(n), *cells, f"{100 * (1 - rate) ** n:.0f}"])
    return (
        "**Verdict “equivalent” although the true difference is the margin of 0.01**, in % (5 or "
        f"less is wanted), two submissions, {sets:,} test sets each\n\n"
        + markdown(
            [
                "n",
                "the same on every patient",
                f"one fails on {100 * rate:.1f} % of patients",
                "no failure in the test set",
            ],
            rows,
        )
    )


def rank_intervals_cover(sets: int) -> str:
    """Table 8."""
    random = np.random.default_rng(8)
    rows = []
    for n in SIZES:
        missed, wrong, width = Tally(), Tally(), Tally()
        for population in POPULATIONS:
            gains = (0.04, 0.03, 0.03, 0.015, 0.0, 0.0)
            entries = [population.better_by(gain) for gain in gains]
            rules = Rules(n, random)
            for index, scores in enumerate(draw(entries, n, sets, random)):
                better = [
                    (a, b) if verdict > 0 else (b, a)
                    for (a, b), verdict in zip(
                        pairs(len(gains)), rules.ours(scores, index), strict=True
                    )
                    if verdict
                ]
                wrong.add(np.array([any(gains[a] <= gains[b] for a, b in better)]))
                found = rank_intervals(len(gains), better)
                out = [
                    one.low > 1 + sum(g >= gain for g in gains) - 1
                    or one.high < 1 + sum(g > gain for g in gains)
                    for gain, one in zip(gains, found, strict=True)
                ]
                missed.add(np.array([any(out)]))
                width.add(np.array([float(np.mean([one.high - one.low + 1 for one in found]))]))
        mean_width = width.hits / width.tries
        rows.append([str(n), missed.text(), wrong.text(), f"{mean_width:.1f}"])
    return (
        "**Rank intervals of six submissions (two pairs of equals), all of them at once**, in % (5 "
        f"or less is wanted), the same populations, {sets:,} test sets each\n\n"
        + markdown(
            ["n", "any interval without the true rank", "any false verdict", "mean ranks in one"],
            rows,
        )
    )


def slices_of_chance(sets: int) -> str:
    """Table 9."""
    random = np.random.default_rng(9)
    settings = AnalysisSettings(permutations=999)
    designs = (
        ("levels alike", (50, 50), (0.03, 0.03)),
        ("levels alike", (20, 180), (0.03, 0.03)),
        ("the small level scatters 5 times as widely", (10, 90), (0.1, 0.02)),
        ("the small level scatters 5 times as widely", (20, 180), (0.1, 0.02)),
        ("the small level scatters 5 times as widely", (50, 450), (0.1, 0.02)),
        ("the large level scatters 5 times as widely", (10, 90), (0.02, 0.1)),
    )
    rows = []
    for name, sizes, spreads in designs:
        n = sum(sizes)
        labels = np.repeat(np.array(["a", "b"]), sizes)
        spread = np.repeat(spreads, sizes)
        ours, pooled = Tally(), Tally()
        for _ in range(sets):
            scores = 0.7 + random.normal(0, 0.05, n) + spread * random.normal(size=(2, n))
            key = int(random.integers(2**62))
            orders = permutations(Stream(key), patients=n, count=settings.permutations)
            p, _ = slice_tests(family(scores), labels, orders, settings)
            ours.add(np.array([p is not None and p <= ALPHA]))
            d = scores[0] - scores[1]
            pooled.add(np.array([stats.f_oneway(d[: sizes[0]], d[sizes[0] :]).pvalue <= ALPHA]))
        rows.append([name, " and ".join(map(str, sizes)), ours.text(), pooled.text()])
    return (
        "**Interaction test: share of slices highlighted although the comparison is the same on "
        f"both levels**, in % (5 is wanted), two submissions, {sets:,} test sets each\n\n"
        + markdown(["spread", "patients", "ours", "F test (one pooled error)"], rows)
    )


# Output -------------------------------------------------------------------------------------------


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the test sets")
    parser.add_argument("--write", type=Path, help="put the tables between this file's markers")
    parser.add_argument("--only", type=int, help="one table, 1 to 9")
    chosen = parser.parse_args()
    scale = 10 if chosen.quick else 1
    tables: list[tuple[Callable[[int], str], int]] = [
        (coverage_of_means, 4000),
        (coverage_of_differences, 20_000),
        (exchangeable_null, 500),
        (hidden_failures, 2000),
        (power, 500),
        (first_places_of_equals, 1000),
        (equal_but_for_the_margin, 1000),
        (rank_intervals_cover, 100),
        (slices_of_chance, 200),
    ]
    blocks = []
    for number, (table, sets) in enumerate(tables, start=1):
        if chosen.only in {None, number}:
            start = time.perf_counter()
            blocks.append(table(sets // scale))
            print(blocks[-1])
            print(f"\n({time.perf_counter() - start:.0f} s)\n", flush=True)
    if chosen.write:
        before, rest = chosen.write.read_text().split(BEGIN)
        inside, after = rest.split(END)
        if chosen.only:
            blocks = put(blocks[0], chosen.only, inside.strip())
        text = "\n\n".join(blocks)
        chosen.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def put(block: str, number: int, inside: str) -> list[str]:
    """The tables of a file, that one renewed; tables stand in order, each under its title."""
    starts = sorted(
        (inside.index(title), place)
        for place, title in enumerate(TITLES, start=1)
        if title in inside
    )
    stops = [start for start, _ in starts[1:]] + [len(inside)]
    found = {
        place: inside[start:stop].strip()
        for (start, place), stop in zip(starts, stops, strict=True)
    }
    found[number] = block
    return [found[place] for place in sorted(found)]


if __name__ == "__main__":
    main()
