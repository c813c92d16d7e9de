"""Summaries of the returns of one evaluation."""

import random
import statistics
from collections.abc import Sequence

RESAMPLES = 2000
CONFIDENCE = 0.95


def summarise(original_returns: Sequence[float]) -> dict[str, object]:
    """Summarise returns under the names of `Evaluation`.

    Args:
        original_returns: one per episode, at least one.
    """
    low, high = bootstrap_interval(original_returns)
    return {
        "original_returns": tuple(original_returns),
        "mean_original_return": statistics.fmean(original_returns),
        "interquartile_mean": interquartile_mean(original_returns),
        "std_original_return": statistics.stdev(original_returns) if len(original_returns) > 1 else 0.0,
        "interval_low": low,
        "interval_high": high,
        "min_original_return": min(original_returns),
        "max_original_return": max(original_returns),
    }


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half: a quarter of the values, rounded down, is left out at either end."""
    cut = len(values) // 4
    return statistics.fmean(sorted(values)[cut : len(values) - cut])


def bootstrap_interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Percentile bootstrap interval of the mean (Efron 1979), the same each time for the same values.

    Returns:
        Both ends of the 95 % interval; None for a single value, which says nothing about its spread.
    """
    if len(values) < 2:
        return None, None
    generator = random.Random(0)
    means = sorted(statistics.fmean(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1 - CONFIDENCE) / 2)
    return means[tail], means[-1 - tail]
