"""Returns and lengths of training episodes: the original return beside that of the learning reward."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

REPORTED_EPISODES = 20


class EpisodeRecorder:
    """Adds up rewards per environment and keeps what finished episodes gave.

    Args:
        count: number of environments.

    Attributes:
        finished: episodes finished since the start of the run.
    """

    def __init__(self, count: int) -> None:
        """Start with no episode."""
        self._count = count
        self.finished = 0
        self._latest: deque[tuple[float, float]] = deque(maxlen=REPORTED_EPISODES)
        self._interval: list[tuple[float, float, int, bool]] = []
        self._components: dict[str, float] = {}
        self._clipped, self._rows = 0, 0
        self.restart()

    def restart(self) -> None:
        """Forget unfinished episodes: all environments were reset."""
        self._original, self._shaped = np.zeros(self._count), np.zeros(self._count)
        self._length = np.zeros(self._count, dtype=np.int64)

    def add(
        self,
        original: NDArray[np.float64],
        shaped: NDArray[np.float64],
        env_steps: NDArray[np.int64],
        components: dict[str, NDArray[np.float64]],
        clipped: NDArray[np.bool_],
    ) -> None:
        """Add one step of every environment."""
        self._original += original
        self._shaped += shaped
        self._length += env_steps
        self._rows += self._count
        self._clipped += int(np.count_nonzero(clipped))
        for name, values in components.items():
            self._components[name] = self._components.get(name, 0.0) + float(values.sum())

    def finish(self, rows: NDArray[Any], terminated: NDArray[np.bool_]) -> None:
        """Close the episodes of some environments."""
        for row in rows:
            original, shaped = float(self._original[row]), float(self._shaped[row])
            self._latest.append((original, shaped))
            self._interval.append((original, shaped, int(self._length[row]), bool(terminated[row])))
        self.finished += len(rows)
        for values in (self._original, self._shaped, self._length):
            values[rows] = 0

    def reported(self) -> tuple[float | None, float | None]:
        """Mean original and shaped return of the latest 20 episodes; None before the first."""
        if not self._latest:
            return None, None
        original, shaped = np.mean(self._latest, axis=0)
        return float(original), float(shaped)

    def take_interval(self) -> dict[str, float]:
        """Give the means since the last call under their TensorBoard tags, and start a new interval."""
        values: dict[str, float] = {}
        if self._interval:
            original, shaped, length, terminated = np.mean(np.array(self._interval, dtype=float), axis=0)
            values["rollout/original_return"] = float(original)
            values["rollout/shaped_return"] = float(shaped)
            values["rollout/episode_length"] = float(length)
            values["rollout/terminated_fraction"] = float(terminated)
        if self._rows:
            values["rollout/action_clipped_fraction"] = self._clipped / self._rows
            for name, total in self._components.items():
                values[f"rollout/reward_component/{name}"] = total / self._rows
        self._interval, self._components, self._clipped, self._rows = [], {}, 0, 0
        return values

    def to_dict(self) -> dict[str, Any]:
        """Give what a checkpoint keeps."""
        return {"finished": self.finished, "latest": [list(pair) for pair in self._latest]}

    def load_dict(self, values: dict[str, Any]) -> None:
        """Take over what a checkpoint kept."""
        self.finished = int(values["finished"])
        self._latest.extend((float(original), float(shaped)) for original, shaped in values["latest"])
