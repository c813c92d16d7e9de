"""Small statistics on NumPy alone: ranks, Spearman correlation, sums by episode."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.recording import Recording

Values = NDArray[np.float64]
FLAT = 1e-9
"""Below this share of its size a spread counts as none."""


def ranks(values: Values) -> Values:
    """Rank values from 0, ties at their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts + 1) / 2)[inverse]


def is_flat(values: Values) -> bool:
    """Tell whether values do not vary, but for rounding."""
    return len(values) == 0 or float(np.ptp(values)) <= FLAT * max(1.0, float(np.max(np.abs(values))))


def spearman(first: Values, second: Values) -> float | None:
    """Give the rank correlation of two samples in [-1, 1]; None where either does not vary."""
    if len(first) < 3 or is_flat(first) or is_flat(second):
        return None
    return float(np.corrcoef(ranks(first), ranks(second))[0, 1])


def summary(values: Values) -> dict[str, float]:
    """Give mean, std, min and max."""
    return {
        "mean": float(values.mean()),
        "std": float(values.std()),
        "min": float(values.min()),
        "max": float(values.max()),
    }


def episode_sums(values: Values, recording: Recording, *, finished_only: bool = True) -> tuple[Values, Values, Values]:
    """Sum values by episode.

    Returns:
        Sums, lengths and indices of the recording of each episode, all float64; unfinished episodes left out if asked.
    """
    _, start, inverse = np.unique(recording.episode, return_index=True, return_inverse=True)
    sums = np.bincount(inverse, weights=values).astype(np.float64)
    lengths = np.bincount(inverse).astype(np.float64)
    ended = np.bincount(inverse, weights=(recording.terminated | recording.truncated).astype(float)) > 0
    kept = ended if finished_only else np.ones_like(ended)
    return sums[kept], lengths[kept], recording.source[start][kept].astype(np.float64)


def discounted_returns(step_rewards: Values, recording: Recording, gamma: float) -> Values:
    """Give the discounted return from each row to the end of its episode, as far as it was recorded."""
    result = np.zeros_like(step_rewards)
    following = 0.0
    for row in range(len(step_rewards) - 1, -1, -1):
        is_last = row + 1 == len(step_rewards) or recording.episode[row + 1] != recording.episode[row]
        following = float(step_rewards[row]) + (0.0 if is_last else gamma * following)
        result[row] = following
    return result


def number(value: Any) -> float | None:
    """Turn a number into a float; None where it is not finite."""
    result = float(value)
    return result if math.isfinite(result) else None


def short(value: Any) -> str:
    """Print a number with four significant digits."""
    return "none" if value is None else f"{float(value):.4g}"
