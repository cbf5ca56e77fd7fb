"""The analysis of a track: everything in ``results.json`` that follows from its records.

A pure function of the records and the settings. Rows are sorted by what they rank, equals by who
failed less, then by name, so the order of the input does not matter; numbers have 8 significant
digits.

Shape
-----
``analysis[structure][metric]``, the structures being those of the track and ``macro_average``::

    n                   patients (the unit of every statistic)
    cases               their scans on this endpoint
    endpoint            "present" or "absent": whether the reference holds the structure
    role                "primary" (verdicts are claims) or "exploratory"
    estimand            "mean", or "median" for distances
    higher_is_better    direction
    unit                "1", "mm" or "ml"
    low_n               fewer patients than settings.low_n
    smallest_visible_failure_rate   3/n: rarer failures cannot be seen
    detectable_difference   smallest true difference of a typical pair that n patients find with
                        the power in the settings; left out where there is no pair or no spread
    decidable           whether any pair could be decided: false for few patients and many pairs
    resamples           bootstrap resamples used, and how many drew no patient of this family:
        used, empty
    structures          macro-average only: what it averages
    ranking             list, best first:
        submission
        mean            failures at their worst value            (estimand "mean")
        median, p90, p90_interval, mean_capped                   (estimand "median")
        interval        of mean or median: [low, high]
        guarded_interval   of the mean, also against failures nobody has seen; left out for metrics
                        without a fixed range
        rank_interval   [low, high]: ranks the verdicts leave open
        tied_for_first  nobody is better by verdict
        rank_frequency  list: share of resamples with rank 1, 2, ...
        failure_rate, failure_interval, failed     of patients
        failed_cases    of scans
        near_zero       true for a mean overlap below 0.1 (label ids, side or orientation may be
                        wrong; ranked all the same); left out otherwise
    unranked            list, by name:
        submission, reason ("incomplete", "unsupported" or a contamination verdict), scored,
        mean            over what is scored; left out without any
        bounds          [low, high] of the mean if what is missing were the worst and the best
    pairs               list, all pairs of ranked submissions, a before b in the ranking:
        a, b
        difference      mean of a minus mean of b (distances: failures at the scan's diagonal)
        deviation       standard deviation of the paired differences
        interval, simultaneous_interval    Student t; Bonferroni-t for all pairs at once
        p, p_adjusted   sign-flip test; Holm over all pairs of this family
        p_equivalent    two one-sided tests, Holm; only where a margin is declared
        verdict         "better" (a is better than b), "equivalent" or "inconclusive"
        effect_size     difference / deviation; left out without variance
        win_rate        share of patients on whom a is better, ties half
        patients_needed for the power in the settings; left out where no number is enough
    slices              by name; left out without any:
        levels          list: level, n, low_n, and estimates (submission, mean or median,
                        interval) in ranking order, empty below settings.minimum_n
        unknown         patients without a level
        interaction     p, p_adjusted, highlighted: does the comparison differ between levels?
        difficulty      the same: do the patients differ? (both for primary metrics only)
        leave_one_out   the order by means with one level left out: levels, changing_order,
                        changing_first (lists of levels); ranks: submission, low, high; left out
                        for one level or one submission
    stability           left out, with the two after it, for more than settings.descriptions_up_to:
        ordered_by      "mean" or "mean_capped": what the order of this part is made from
        kendall_tau     of resampled orders with the observed one: mean, low (95 % exceed it)
        leave_one_out   patients, changing_order, changing_first; ranks: submission, low, high
        near_duplicates list: a, b, correlation
    schemes             by name (rank_then_mean, median_then_rank or by_mean, by_verdicts):
                        order, kendall_tau with the ranking, same_first
    wilcoxon_disagreements   list: a, b, favours, p_adjusted, opposite

Whatever cannot be had is an object that says so, never null, NaN or an interval of width zero:
``{"state": "unbounded"}`` for a distance, ``{"state": "not_estimable", "reason": ...}`` for a
number or an interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.contracts.reading import validate
from segtrial.contracts.result import CaseRow, Results, ScoreRecord, SubmissionRow
from segtrial.errors import ResultsError
from segtrial.statistics.description import disagreements, schemes, slices, stability
from segtrial.statistics.estimates import BOOTSTRAP_T, Estimate, estimates
from segtrial.statistics.families import families
from segtrial.statistics.guard import guarded_intervals
from segtrial.statistics.macro import macro_average, without_each
from segtrial.statistics.ranking import RankTally, rank_intervals
from segtrial.statistics.records import track_scores
from segtrial.statistics.report import heading, pair_row, ranking_row, unranked_row
from segtrial.statistics.resampling import Average, bootstrap
from segtrial.statistics.scores import Family, TrackScores
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.signflip import generators, sign_flip_tests
from segtrial.statistics.stability import sums_without_each
from segtrial.statistics.subgroups import Resampling, slices_of
from segtrial.statistics.table import TABLE_CONTRACT
from segtrial.statistics.verdicts import Comparison, compare
from segtrial.statistics.weights import (
    Stream,
    bootstrap_counts,
    flip_codes,
    permutations,
    spacings,
    stream_for,
)
from segtrial.statistics.writing import Object


def analyse(
    *,
    track: str,
    structures: Sequence[str],
    cases: Sequence[CaseRow],
    submissions: Sequence[SubmissionRow],
    records: Sequence[ScoreRecord],
    settings: AnalysisSettings,
    metrics: Sequence[str] = (),
) -> Object:
    """Analyse the records of one track.

    Parameters
    ----------
    track : str
        Full name, dataset and version included; `track_name` makes it.
    structures, cases, submissions, records : sequences
        As in ``results.json``, in any order.
    settings : AnalysisSettings
        Everything else that decides a number.
    metrics : sequence of str
        Metrics that were to be computed, as far as they are known.

    Returns
    -------
    dict
        JSON-able; see the module docstring.

    Raises
    ------
    ResultsError
        For records that do not fit the track; see `segtrial.statistics.records`.
    """
    scores = track_scores(
        track=track,
        structures=structures,
        cases=cases,
        submissions=submissions,
        records=records,
        settings=settings,
        metrics=metrics,
    )
    return analyse_scores(scores, settings)


def track_name(*, dataset: str, version: str, track: str) -> str:
    """Full name of a track, the key of its random numbers."""
    return f"{dataset}@{version}/{track}"


def analyse_results(results: Results) -> Results:
    """Results with their analysis computed from their own records and settings.

    Parameters
    ----------
    results : Results
        Its ``analysis`` is not looked at; empty or partial ``settings`` get the defaults.

    Returns
    -------
    Results
        A copy with ``settings`` in full and ``analysis`` anew.

    Raises
    ------
    ResultsError
        For records that do not fit the track, or settings that are not ours.
    """
    settings = validate(
        results.settings, AnalysisSettings, source="results.settings", error=ResultsError
    )
    track = track_name(
        dataset=results.dataset.id, version=results.dataset.version, track=results.track.id
    )
    analysis = analyse(
        # A table is called after its file: another name for it must not draw other numbers.
        track=TABLE_CONTRACT if results.protocol.contract == TABLE_CONTRACT else track,
        structures=results.track.structures,
        cases=results.cases,
        submissions=results.submissions,
        records=results.records,
        settings=settings,
        # A signature that differs between structures is kept as structure.metric.
        metrics=[
            key.removeprefix(f"{structure}.")
            for key in results.protocol.signatures
            for structure in results.track.structures
        ],
    )
    # Not Record.replace: validating every record again would take longer than the analysis.
    return results.model_copy(
        update={"settings": settings.model_dump(mode="json"), "analysis": analysis}
    )


@dataclass(frozen=True, slots=True)
class Draws:
    """The random numbers of a track, shared by everything that is computed on it.

    Attributes
    ----------
    counts : uint8 array, shape (B, P)
        Bootstrap counts of the track's patients.
    shares : uint16 array, shape (B, P + 1)
        Random shares of the patients and of one who was not there.
    codes : uint32 array, shape (P,)
        Of the sign flips.
    orders : uint32 array, shape (K, P)
        Random orders, for the tests between slices; none on a track without slices.
    """

    counts: NDArray[np.uint8]
    shares: NDArray[np.uint16]
    codes: NDArray[np.uint32]
    orders: NDArray[np.uint32]

    @property
    def resampling(self) -> Resampling:
        """What estimates are made from."""
        return Resampling(self.counts, self.shares)

    @classmethod
    def of(cls, scores: TrackScores, settings: AnalysisSettings) -> Draws:
        """Draw for a track."""
        patients = len(scores.patients)
        has_slices = bool(scores.slices) or bool((scores.reference_ml > 0).any())

        def stream(purpose: str) -> Stream:
            return stream_for(
                purpose=purpose, seed=settings.seed, track=scores.track, patients=scores.patients
            )

        return cls(
            bootstrap_counts(stream("bootstrap"), patients=patients, resamples=settings.resamples),
            spacings(stream("spacings"), patients=patients, resamples=settings.resamples),
            flip_codes(stream("sign-flip"), patients=patients, bits=generators(settings)),
            permutations(
                stream("permutation"),
                patients=patients,
                count=settings.permutations if has_slices else 0,
            ),
        )


def analyse_scores(scores: TrackScores, settings: AnalysisSettings) -> Object:
    """Analyse arrays of scores; see `analyse`."""
    draws = Draws.of(scores, settings)
    analysis: Object = {structure: {} for structure in scores.structures}
    for metric in sorted(scores.values):
        for family, written in _metric(scores, metric, draws, settings):
            analysis.setdefault(family.structure, {})[metric] = written
    return analysis


def _metric(
    scores: TrackScores, metric: str, draws: Draws, settings: AnalysisSettings
) -> Iterator[tuple[Family, Object]]:
    """All families of one metric and their average: one pass over resamples, one over flips."""
    members = families(scores, metric)
    average = macro_average(scores, members)
    everyone = [*members, average.family] if average else members
    resampled = bootstrap(
        members,
        draws.counts,
        average=average,
        keep_shifts=settings.interval != BOOTSTRAP_T,
    )
    guarded = guarded_intervals(members, draws.shares, alpha=settings.alpha, average=average)
    rows = [
        estimates(family, resampled[k], guarded[k] if guarded else None, settings)
        for k, family in enumerate(everyone)
    ]
    orders = [_order(family, row) for family, row in zip(everyone, rows, strict=True)]
    ordered = [family.ordered(order) for family, order in zip(everyone, orders, strict=True)]
    tests = sign_flip_tests(ordered, draws.codes, settings)
    for index, family in enumerate(ordered):
        order = orders[index]
        without = _without(everyone[index], average, members)
        yield (
            family,
            _written(
                _Found(
                    family=family,
                    rows=[rows[index][m] for m in order],
                    order=order,
                    tally=resampled[index].tally,
                    pairs=compare(family, tests[index], settings),
                    without=without[order],
                    members=members if family.influence is not None else [],
                ),
                scores,
                draws,
                settings,
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Everything that was found on one family, in ranking order."""

    family: Family
    rows: list[Estimate]
    order: list[int]
    tally: RankTally
    pairs: list[Comparison]
    without: NDArray[np.float64]
    members: list[Family]


def _written(
    found: _Found, scores: TrackScores, draws: Draws, settings: AnalysisSettings
) -> Object:
    family = found.family
    ranks = rank_intervals(
        len(found.rows), [(pair.a, pair.b) for pair in found.pairs if pair.verdict == "better"]
    )
    frequency = found.tally.frequency()[found.order]
    written = heading(family, found.pairs, found.tally, settings) | {
        "ranking": [
            ranking_row(family, row, ranks[place], frequency[place])
            for place, row in enumerate(found.rows)
        ],
        "unranked": [unranked_row(one) for one in family.unranked],
        "pairs": [pair_row(family, pair) for pair in found.pairs],
    }
    if found.members:
        written["structures"] = [member.structure for member in found.members]
    primary = family.rule.key in settings.primary_metrics
    sliced = slices_of(
        scores,
        family,
        found.members,
        draws.resampling,
        draws.orders if primary else None,
        settings,
    )
    if sliced:
        written["slices"] = slices(family, sliced, settings)
    if len(found.rows) <= settings.descriptions_up_to:
        written |= {
            "stability": stability(family, found.tally, found.without),
            "schemes": schemes(family, found.pairs),
            "wilcoxon_disagreements": disagreements(family, found.pairs, settings),
        }
    return written


def _without(
    family: Family, average: Average | None, members: Sequence[Family]
) -> NDArray[np.float64]:
    """Goodness without each patient, in the family's own order."""
    if average is None or family is not average.family:
        return sums_without_each(family)
    values, exists = without_each(average, members)
    return values[:, exists] if family.rule.higher_is_better else -values[:, exists]


def _order(family: Family, rows: list[Estimate]) -> list[int]:
    """Indices of the submissions, best first; of equals, who failed less, then by name."""
    sums = family.goodness.sum(axis=1)

    def key(m: int) -> tuple[float, ...]:
        total = -float(sums[m]) if family.comparable[m] else np.inf
        if family.rule.reported_by_quantiles:
            return (rows[m].median, rows[m].p90, total)
        return (total,)

    def place(m: int) -> tuple[tuple[float, ...], int, str]:
        return key(m), int(family.failed_cases[m]), rows[m].submission

    return sorted(range(len(rows)), key=place)
