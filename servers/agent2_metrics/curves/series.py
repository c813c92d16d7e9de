"""One full series of a log, and how it is thinned for an answer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """All points of one metric.

    Attributes:
        name: canonical name, or the tag.
        tag: tag in the log.
        x_unit: env_steps, updates, epochs or iterations.
        x: (n,) float64, ascending.
        y: (n,) float64 with the sign corrected; NaN and infinities kept.
        hole_count: points that its neighbours in the log have and it lacks: a writer dropped what was not finite.
        is_known: whether the table of canonical names knows the tag.
    """

    name: str
    tag: str
    x_unit: str
    x: Floats
    y: Floats
    hole_count: int
    is_known: bool

    @property
    def nonfinite_count(self) -> int:
        """Values that are NaN or infinite."""
        return int(np.count_nonzero(~np.isfinite(self.y)))

    def finite(self) -> "Series":
        """The series without its non-finite points."""
        keep = np.isfinite(self.y)
        return self if keep.all() else Series(
            name=self.name, tag=self.tag, x_unit=self.x_unit, x=self.x[keep], y=self.y[keep],
            hole_count=self.hole_count, is_known=self.is_known,
        )  # fmt: skip


def thin(x: Floats, y: Floats, max_points: int) -> NDArray[np.intp]:
    """Choose at most `max_points` points that keep the shape: first, last, spikes, and one NaN of each stretch.

    Largest triangle three buckets (Steinarsson 2013): of each bucket the point that spans the largest triangle with the
    point chosen before and the mean of the next bucket.

    Args:
        x: (n,) ascending.
        y: (n,), may hold NaN.
        max_points: at least 2.

    Returns:
        (m,) ascending indices, m <= max_points.
    """
    count = len(x)
    if count <= max_points:
        return np.arange(count)
    if max_points == 2:
        return np.array([0, count - 1])
    level = np.nanmedian(np.where(np.isfinite(y), y, np.nan)) if np.isfinite(y).any() else 0.0
    filled = np.where(np.isfinite(y), y, level)
    edges = np.linspace(1, count - 1, max_points - 1).astype(int)
    chosen = [0]
    for index in range(max_points - 2):
        start, end = edges[index], max(edges[index + 1], edges[index] + 1)
        bad = np.flatnonzero(~np.isfinite(y[start:end]))
        if len(bad):
            chosen.append(int(start + bad[0]))
            continue
        after = slice(end, edges[index + 2] if index + 2 < len(edges) else count)
        next_x, next_y = float(x[after].mean()), float(filled[after].mean())
        before = chosen[-1]
        area = np.abs(
            (x[before] - next_x) * (filled[start:end] - filled[before])
            - (x[before] - x[start:end]) * (next_y - filled[before])
        )
        chosen.append(int(start + int(np.argmax(area))))
    return np.array([*chosen, count - 1])
