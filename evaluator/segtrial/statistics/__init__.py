"""Rankings with the uncertainty they deserve: pure functions on arrays and records.

======================= ==========================================================================
module                  what it holds
======================= ==========================================================================
`analysis`              the whole analysis of a track, and the shape of what it returns
`settings`              everything that decides a number besides the records
`records`, `scores`     records to arrays: the case list, outcomes, presence
`families`              worst values, patients as the unit
`weights`               resampling weights, signs and permutations from a counter-based hash
`exact`                 quantisation, so that sums are exact on every machine
`resampling`            one weight matrix for all structures, metrics and submissions
`guard`                 intervals that failures nobody has seen cannot break
`intervals`             bootstrap-t, Student t, order statistics, Clopper-Pearson, percentile, BCa
`signflip`              the test behind the verdicts
`comparison`            Holm, equivalence, effect sizes
`ranking`               rank intervals, tied first places, rank frequencies
`stability`             leave-one-patient-out, near duplicates, other ranking schemes
`macro`                 the average over structures
`subgroups`             slices, minimum sizes
`interaction`           the test that may highlight a slice
`planning`, `outlook`   how many patients separate two submissions
`table`, `cells`        a table of per-case scores as results
`difference`            where two results differ
`seed_rule`             percentile bootstrap with Bonferroni, as an earlier benchmark did it
======================= ==========================================================================

Nothing here reads a file, a clock or a random generator: the same records and settings give the
same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segtrial.contracts.result import Results


def analyse_results(results: Results) -> Results:
    """Results with their analysis computed from their own records and settings.

    See `segtrial.statistics.analysis`, which documents the shape; NumPy is loaded by the call.
    """
    from segtrial.statistics import analysis  # noqa: PLC0415 - importing the package stays cheap

    return analysis.analyse_results(results)
