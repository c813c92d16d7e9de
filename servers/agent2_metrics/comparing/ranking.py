"""Ranking a search by shrunken means with pooled noise: it orders candidates and tests nothing.

Candidate i has n_i run scores with mean m_i. The noise of one run is pooled over all candidates,
    s^2 = sum_i sum_j (x_ij - m_i)^2 / sum_i (n_i - 1),
the spread between candidates is the method-of-moments estimate of DerSimonian and Laird,
    t^2 = max(0, (Q - (k - 1)) / (W - sum w_i^2 / W)),   w_i = n_i / s^2,  W = sum w_i,  Q = sum w_i (m_i - m_w)^2,
and each mean is drawn towards the weighted grand mean g (weights 1 / (t^2 + s^2 / n_i)),
    shrunken_i = g + (m_i - g) * t^2 / (t^2 + s^2 / n_i),
which is empirical Bayes; for equal n it is the positive-part James-Stein estimator but for its factor (k - 3) / (k - 1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Shrunken:
    """Result of the shrinking."""

    means: dict[str, float]
    """Plain mean of each candidate."""
    shrunken: dict[str, float]
    """Shrunken mean of each candidate."""
    order: tuple[str, ...]
    """Best first; ties (no spread between candidates beyond the noise) go by the plain mean, then by more runs."""
    noise: float | None
    """Pooled standard deviation of one run's score; None where no candidate has two runs."""


def shrink(scores: Mapping[str, Sequence[float]]) -> Shrunken:
    """Shrink the means of candidates.

    Args:
        scores: by candidate, its run scores; each at least one. Failed runs already count as the worst score.

    Returns:
        Means and order; without replicates the noise is unknown and nothing is shrunken.
    """
    means = {name: sum(sorted(values)) / len(values) for name, values in scores.items()}
    noise = pooled_noise(scores)
    shrunken = means if noise is None or noise == 0 or len(means) < 2 else _shrunken(scores, means, noise)
    order = tuple(sorted(means, key=lambda name: (-shrunken[name], -means[name], -len(scores[name]), name)))
    return Shrunken(means, dict(shrunken), order, noise)


def pooled_noise(scores: Mapping[str, Sequence[float]]) -> float | None:
    """Pooled standard deviation of a candidate's run scores; None where no candidate has two runs."""
    squares, freedom = 0.0, 0
    for values in scores.values():
        mean = sum(sorted(values)) / len(values)
        squares += sum(sorted((value - mean) ** 2 for value in values))
        freedom += len(values) - 1
    return sqrt(squares / freedom) if freedom else None


def _shrunken(scores: Mapping[str, Sequence[float]], means: Mapping[str, float], noise: float) -> dict[str, float]:
    names = sorted(means)
    weights = {name: len(scores[name]) / noise**2 for name in names}
    total = sum(weights.values())
    centre = sum(weights[name] * means[name] for name in names) / total
    q = sum(weights[name] * (means[name] - centre) ** 2 for name in names)
    spread = max(0.0, (q - (len(names) - 1)) / (total - sum(w**2 for w in weights.values()) / total))
    precisions = {name: 1 / (spread + noise**2 / len(scores[name])) for name in names}
    grand = sum(precisions[name] * means[name] for name in names) / sum(precisions.values())
    return {name: grand + (means[name] - grand) * spread * precisions[name] for name in names}
