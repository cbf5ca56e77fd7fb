"""How long the statistics take, how much memory, and whether the bytes stay the same.

``python benchmarks/statistics.py`` prints every figure; ``--quick`` leaves out the large tracks.
Each part runs in a process of its own, so that peak memory is its own. The scores are synthetic and
seeded. For comparison, on the same scores in the same run: the bootstrap of the earlier benchmark
segauge as it loops (its own function where ``pip install segauge==0.1.0`` has been done), and
`scipy.stats.bootstrap`, vectorised.
"""

from __future__ import annotations

import sys

# A script's own folder comes first in the search path, and there this file would stand in for the
# standard library's module of the same name.
sys.path.pop(0)

import argparse
import hashlib
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from segtrial.statistics.analysis import analyse_scores
from segtrial.statistics.estimates import estimates
from segtrial.statistics.families import families
from segtrial.statistics.guard import guarded_intervals
from segtrial.statistics.resampling import bootstrap
from segtrial.statistics.scores import TrackScores
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.signflip import generators, pairs, sign_flip_tests
from segtrial.statistics.verdicts import compare
from segtrial.statistics.weights import (
    Stream,
    bootstrap_counts,
    flip_codes,
    spacings,
    stream_for,
)
from segtrial.tables import read_score_table

SETTINGS = AnalysisSettings()
REPEATS = 5
MIB = 1 << 20
Floats = NDArray[np.float64]
Found = dict[str, Any]


def track(
    *, submissions: int, structures: int, patients: int, seed: int = 0, sliced: bool = False
) -> TrackScores:
    """Scores with shared difficulty, unequal skill and 2 % failures; everyone has everything.

    Sliced: by sex, by five sites and by the size of the structure.
    """
    random = np.random.default_rng(seed)
    shape = (structures, submissions, patients)
    values = (
        0.88
        + random.normal(0, 0.02, (1, submissions, 1))
        + random.normal(0, 0.08, (structures, 1, patients))
    )
    values = np.clip(values + random.normal(0, 0.04, shape), 0, 1)
    values[random.random(shape) < 0.02] = 0.0
    names = tuple(f"c{k:05d}" for k in range(patients))
    volumes = random.gamma(4, 40, (structures, patients))
    slices: dict[str, tuple[str | None, ...]] = {
        "sex": tuple("fm"[k] for k in random.integers(0, 2, patients)),
        "site": tuple("abcde"[k] for k in random.integers(0, 5, patients)),
    }
    return TrackScores(
        track="synthetic@1/all",
        patients=names,
        cases=names,
        patient_of_case=np.arange(patients),
        slices=slices if sliced else {},
        structures=tuple(f"s{k:02d}" for k in range(structures)),
        diagonal_mm=np.full(patients, 500.0),
        scan_volume_ml=np.full(patients, 4e4),
        reference_ml=volumes if sliced else np.full((structures, patients), np.nan),
        endpoint=np.zeros((structures, patients), np.int8),
        submissions=tuple(f"m{k:03d}" for k in range(submissions)),
        excluded={},
        outcome=np.zeros(shape, np.int8),
        values={"dice": values},
        given={"dice": np.ones(shape, bool)},
    )


def median_s(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median wall time of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def peak_mib() -> float:
    """High-water mark of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(scores: TrackScores, purpose: str) -> Stream:
    """The random numbers an analysis would use."""
    return stream_for(purpose=purpose, seed=0, track=scores.track, patients=scores.patients)


def intervals_and_ranks(scores: TrackScores) -> None:
    """Random numbers, every interval of every mean, every rank distribution."""
    found = families(scores, "dice")
    size = {"patients": len(scores.patients), "resamples": SETTINGS.resamples}
    resampled = bootstrap(found, bootstrap_counts(stream(scores, "bootstrap"), **size))
    shares = spacings(stream(scores, "spacings"), **size)
    guarded = guarded_intervals(found, shares, alpha=SETTINGS.alpha)
    for k, family in enumerate(found):
        estimates(family, resampled[k], guarded[k] if guarded else None, SETTINGS)
        resampled[k].tally.frequency()


def verdicts(scores: TrackScores) -> None:
    """Every pair: sign-flip test with 131,072 flips, Holm, t intervals, equivalence."""
    found = families(scores, "dice")
    codes = flip_codes(
        stream(scores, "sign-flip"), patients=len(scores.patients), bits=generators(SETTINGS)
    )
    tests = sign_flip_tests(found, codes, SETTINGS)
    for family, counts in zip(found, tests, strict=True):
        compare(family, counts, SETTINGS)


def part_speed() -> Found:
    """19 submissions, 9 structures, 743 patients: ours."""
    scores = track(submissions=19, structures=9, patients=743)
    before = peak_mib()
    found = {
        "intervals and rank distributions, s": median_s(lambda: intervals_and_ranks(scores)),
        "1,539 pair tests, s": median_s(lambda: verdicts(scores)),
    }
    found["peak memory of both above the scores, MiB"] = peak_mib() - before
    found["the whole analysis (with all descriptions), s"] = median_s(
        lambda: analyse_scores(scores, SETTINGS)
    )
    found["peak memory of the whole analysis above the scores, MiB"] = peak_mib() - before
    return found


def part_scipy() -> Found:
    """The same intervals of means and of differences by scipy.stats.bootstrap; no ranks."""
    values = track(submissions=19, structures=9, patients=743).values["dice"]
    places = pairs(19)
    start = time.perf_counter()
    for structure in values:
        differences = np.array([structure[a] - structure[b] for a, b in places])
        for rows in (structure, differences):
            stats.bootstrap(
                (rows,), np.mean, n_resamples=10_000, batch=100, axis=1, vectorized=True,
                method="percentile", rng=np.random.default_rng(0),
            )  # fmt: skip
    return {"scipy.stats.bootstrap, percentile, no ranks, s": time.perf_counter() - start}


def loop_interval(values: Floats, resamples: int = 10_000) -> tuple[float, float]:
    """One resample after the other, as segauge does it."""
    random = np.random.default_rng(0)
    means = np.empty(resamples)
    for row in range(resamples):
        means[row] = np.mean(values[random.integers(0, values.size, values.size)])
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def loop_ranks(values: Floats, resamples: int = 10_000) -> Floats:
    """Rank of every submission in every resample, one after the other."""
    random = np.random.default_rng(0)
    ranks = np.empty((resamples, len(values)))
    for row in range(resamples):
        drawn = random.integers(0, values.shape[1], values.shape[1])
        ranks[row] = stats.rankdata(-values[:, drawn].mean(axis=1), method="average")
    return ranks


def part_loop() -> Found:
    """The same by segauge's loops: measured on a sample of rows and pairs, and scaled."""
    values = track(submissions=19, structures=9, patients=743).values["dice"]
    interval: Callable[[Floats], object] = loop_interval
    name = "our transcript of its loop"
    try:
        from segauge.stats import bootstrap_ci  # type: ignore[import-untyped,import-not-found,unused-ignore] # noqa: PLC0415 - optional
    except ImportError:
        pass
    else:
        name = "segauge 0.1.0's bootstrap_ci"

        def interval(row: Floats) -> object:
            return bootstrap_ci(row, n_resamples=10_000)

    per_mean = median_s(lambda: interval(values[0, 0]), 3)
    per_pair = median_s(lambda: interval(values[0, 0] - values[0, 1]), 3)
    per_ranking = median_s(lambda: loop_ranks(values[0]), 3)
    return {
        "loop": name,
        "loop, 171 intervals + 9 rankings + 1,539 pairs, s": 171 * per_mean
        + 9 * per_ranking
        + 1539 * per_pair,
    }


def part_large() -> Found:
    """20 submissions, 25 structures, 7,000 patients: the whole analysis."""
    scores = track(submissions=20, structures=25, patients=7000)
    seconds = median_s(lambda: analyse_scores(scores, SETTINGS), 1)
    return {"whole analysis, s": seconds, "peak memory of the process, MiB": peak_mib()}


def part_sliced() -> Found:
    """19 submissions, 9 structures, 743 patients with three slices: the whole analysis."""
    scores = track(submissions=19, structures=9, patients=743, sliced=True)
    seconds = median_s(lambda: analyse_scores(scores, SETTINGS), 3)
    return {"whole analysis, s": seconds, "peak memory of the process, MiB": peak_mib()}


def part_large_sliced() -> Found:
    """20 submissions, 25 structures, 7,000 patients with three slices: the whole analysis."""
    scores = track(submissions=20, structures=25, patients=7000, sliced=True)
    seconds = median_s(lambda: analyse_scores(scores, SETTINGS), 1)
    return {"whole analysis, s": seconds, "peak memory of the process, MiB": peak_mib()}


def part_many() -> Found:
    """200 submissions, 9 structures, 743 patients: the whole analysis."""
    scores = track(submissions=200, structures=9, patients=743)
    seconds = median_s(lambda: analyse_scores(scores, SETTINGS), 1)
    written = len(json.dumps(analyse_scores(scores, SETTINGS)))
    return {
        "whole analysis, s": seconds,
        "peak memory of the process, MiB": peak_mib(),
        "analysis as JSON, MB": written / 1e6,
    }


def part_table() -> Found:
    """A table of 20 submissions, 25 structures and 350 cases, with two slices: reading it."""
    scores = track(submissions=20, structures=25, patients=350, sliced=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.csv"
        with path.open("w") as file:
            file.write("submission,case,structure,metric,value,sex,site\n")
            for s, structure in enumerate(scores.structures):
                for m, submission in enumerate(scores.submissions):
                    for c, case in enumerate(scores.cases):
                        value = scores.values["dice"][s, m, c]
                        level = f"{scores.slices['sex'][c]},{scores.slices['site'][c]}"
                        file.write(f"{submission},{case},{structure},dice,{value:.4f},{level}\n")
        before = peak_mib()
        start = time.process_time()
        results = read_score_table(path)
        seconds = time.process_time() - start
    return {
        "rows": len(results.records),
        "reading and checking, s of one core": seconds,
        "peak memory above the start, MiB": peak_mib() - before,
    }


def part_hash() -> Found:
    """SHA-256 of the whole analysis of 19 submissions, 9 structures, 743 patients."""
    scores = track(submissions=19, structures=9, patients=743)
    text = json.dumps(analyse_scores(scores, SETTINGS), sort_keys=True)
    return {"sha256": hashlib.sha256(text.encode()).hexdigest()}


PARTS: dict[str, Callable[[], Found]] = {
    "speed": part_speed,
    "scipy": part_scipy,
    "loop": part_loop,
    "large": part_large,
    "sliced": part_sliced,
    "large-sliced": part_large_sliced,
    "many": part_many,
    "table": part_table,
    "hash": part_hash,
}


def run(part: str, **environment: str) -> Found:
    """One part in a process of its own."""
    done = subprocess.run(  # noqa: S603 - this file
        [sys.executable, __file__, "--part", part],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    found: Found = json.loads(done.stdout)
    return found


def show(title: str, found: Found) -> None:
    """Print one part's figures."""
    print(f"\n{title}")
    for name, value in found.items():
        print(f"  {name}: {value:.2f}" if isinstance(value, float) else f"  {name}: {value}")


def main() -> None:
    """Run everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--quick", action="store_true", help="leave out the large tracks")
    chosen = parser.parse_args()
    if chosen.part:
        print(json.dumps(PARTS[chosen.part]()))
        return
    print(f"NumPy {np.__version__}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    ours, scipy_found, loop = run("speed"), run("scipy"), run("loop")
    show("19 submissions x 9 structures x 743 patients, B = 10,000, 131,072 flips", ours)
    show("The same, others", scipy_found | loop)
    intervals = ours["intervals and rank distributions, s"]
    seconds = intervals + ours["1,539 pair tests, s"]
    scipy_s = float(next(iter(scipy_found.values())))
    looped = loop["loop, 171 intervals + 9 rankings + 1,539 pairs, s"]
    show(
        "Ratios: they resample 10,000 times; ours with, and without, 131,072 flips beside it",
        {
            "segauge's loop / ours with all pair tests": looped / seconds,
            "scipy.stats.bootstrap / ours with all pair tests": scipy_s / seconds,
            "segauge's loop / our intervals and ranks": looped / intervals,
            "scipy.stats.bootstrap / our intervals and ranks": scipy_s / intervals,
        },
    )
    hashes = {
        f"{kernel}, {threads} threads": run(
            "hash", OPENBLAS_CORETYPE=kernel, OPENBLAS_NUM_THREADS=str(threads)
        )["sha256"][:16]
        for kernel in ("Haswell", "SkylakeX", "Nehalem")
        for threads in (1, 2)
    }
    show("The whole analysis with slices by sex, site and size", run("sliced"))
    show("A table of scores as CSV", run("table"))
    show("SHA-256 of the whole analysis", hashes | {"different": len(set(hashes.values()))})
    if not chosen.quick:
        show("20 submissions x 25 structures x 7,000 patients", run("large"))
        show("The same with slices by sex, site and size", run("large-sliced"))
        show("200 submissions x 9 structures x 743 patients", run("many"))


if __name__ == "__main__":
    main()
