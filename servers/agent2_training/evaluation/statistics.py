"""Summaries of the returns of one evaluation."""

import statistics
from collections.abc import Sequence


def summarise(original_returns: Sequence[float]) -> dict[str, object]:
    """Summarise returns under the names of `Evaluation`.

    Args:
        original_returns: one per episode, at least one.
    """
    return {
        "original_returns": tuple(original_returns),
        "mean_original_return": statistics.fmean(original_returns),
        "interquartile_mean": interquartile_mean(original_returns),
        "std_original_return": statistics.stdev(original_returns) if len(original_returns) > 1 else 0.0,
        "min_original_return": min(original_returns),
        "max_original_return": max(original_returns),
    }


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half: a quarter of the values, rounded down, is left out at either end."""
    cut = len(values) // 4
    return statistics.fmean(sorted(values)[cut : len(values) - cut])
