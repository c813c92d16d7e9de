"""Running mean and variance of what the policy sees, saved with its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Normaliser:
    """Shift and scale each entry to mean 0 and variance 1, then clip.

    Statistics change only in `update`, never in a call, so that training and evaluation agree on one checkpoint.
    Until the first update it changes nothing but the clip.

    Args:
        size: entries of one flat observation.
        clip: bound of a normalised entry, standard deviations.
    """

    def __init__(self, size: int, clip: float = 10.0) -> None:
        """Start with mean 0, variance 1 and no samples."""
        self.mean, self.variance = np.zeros(size), np.ones(size)
        self.count, self.clip = 0.0, float(clip)
        self._freeze()

    def update(self, batch: NDArray[Any]) -> None:
        """Add rows to the statistics by the parallel formula of Chan et al. (1979).

        Args:
            batch: flat observations before normalisation, (n, size) or (size,).
        """
        rows = np.asarray(batch, dtype=np.float64).reshape(-1, self.mean.size)
        if not len(rows):
            return
        added, total = len(rows), self.count + len(rows)
        delta = rows.mean(axis=0) - self.mean
        squares = self.variance * self.count + rows.var(axis=0) * added + delta**2 * self.count * added / total
        self.mean = self.mean + delta * added / total
        self.variance, self.count = squares / total, total
        self._freeze()

    def __call__(self, batch: NDArray[Any]) -> NDArray[np.float32]:
        """Normalise rows (n, size) or of any shape with `size` entries; a new float32 array of the same shape."""
        flat = np.asarray(batch, dtype=np.float32).reshape(len(batch), -1)
        scaled = (flat - self._shift) * self._factor
        return np.clip(scaled, -self.clip, self.clip, out=scaled).reshape(np.shape(batch))

    def to_dict(self) -> dict[str, Any]:
        """Give the statistics as JSON: `{"mean": [...], "variance": [...], "count": ..., "clip": ...}`."""
        statistics = {"mean": self.mean.tolist(), "variance": self.variance.tolist()}
        return {**statistics, "count": self.count, "clip": self.clip}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Normaliser:
        """Read what `to_dict` gave."""
        normaliser = cls(len(values["mean"]), values["clip"])
        normaliser.mean = np.array(values["mean"], dtype=np.float64)
        normaliser.variance = np.array(values["variance"], dtype=np.float64)
        normaliser.count = float(values["count"])
        normaliser._freeze()
        return normaliser

    def _freeze(self) -> None:
        """Precompute what a call needs. An entry that never changed is only shifted."""
        spread = np.sqrt(np.where(self.variance > 1e-12, self.variance, 1.0))
        self._shift, self._factor = self.mean.astype(np.float32), (1.0 / spread).astype(np.float32)
