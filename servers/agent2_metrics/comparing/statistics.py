"""Interquartile means, stratified bootstrap intervals and the probability of improvement, by SciPy."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false, reportMissingTypeStubs=false
# SciPy ships no types.

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

RESAMPLES = 20_000
BOOTSTRAP_SEED = 20_240_601
CONFIDENCE = 0.95
TRIMMED = 0.25

Floats = NDArray[np.float64]


def interquartile_mean(values: Floats, axis: int = -1) -> Floats:
    """Mean of the middle half (Agarwal et al. 2021): the lowest and highest quarter, rounded down, are left out."""
    return np.asarray(stats.trim_mean(values, TRIMMED, axis=axis), dtype=np.float64)


def interval_of_iqm(scores: Sequence[float], *, resamples: int = RESAMPLES) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the interquartile mean over runs.

    Args:
        scores: (n,) one score a run; their order does not matter.
        resamples: how many.
    """
    values = np.sort(np.asarray(scores, dtype=np.float64))
    if float(np.ptp(values)) == 0:
        return float(values[0]), float(values[0])
    found = stats.bootstrap(
        (values,), interquartile_mean, n_resamples=resamples, confidence_level=CONFIDENCE, method="percentile",
        vectorized=True, rng=np.random.default_rng(BOOTSTRAP_SEED),
    )  # fmt: skip
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def interval_of_difference(
    first: Sequence[float], other: Sequence[float], *, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95 % stratified percentile bootstrap interval of the difference of interquartile means.

    Runs are resampled within each arm. The seed is fixed and the scores are sorted, so that equal runs in any order give
    equal intervals.
    """
    a, b = (np.sort(np.asarray(values, dtype=np.float64)) for values in (first, other))
    if float(np.ptp(a)) == 0 and float(np.ptp(b)) == 0:
        return float(a[0] - b[0]), float(a[0] - b[0])

    def difference(x: Floats, y: Floats, axis: int = -1) -> Floats:
        return interquartile_mean(x, axis) - interquartile_mean(y, axis)

    found = stats.bootstrap(
        (a, b), difference, n_resamples=resamples, confidence_level=CONFIDENCE, method="percentile",
        vectorized=True, rng=np.random.default_rng(BOOTSTRAP_SEED),
    )  # fmt: skip
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def probability_of_improvement(first: Sequence[float], other: Sequence[float]) -> float:
    """P(first > other) + P(equal) / 2 over pairs of runs: Mann-Whitney U / (n m)."""
    u = stats.mannwhitneyu(first, other, alternative="two-sided", method="asymptotic").statistic
    return float(u) / (len(first) * len(other))
