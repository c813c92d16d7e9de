"""The replay buffer: flat float32 arrays, written row by row, sampled without a look at the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agent2_targets.runtime.normaliser import Normaliser


@dataclass
class ReplayBatch:
    """Sampled transitions as tensors (B, …); `returns` is filled in by the algorithm."""

    observations: Tensor
    actions: Tensor
    shaped_rewards: Tensor
    following: Tensor
    continues: Tensor
    """1 where the episode may go on (not terminated), else 0: a time limit bootstraps."""
    returns: Tensor | None = None


class ReplayBuffer:
    """A ring of transitions before the normaliser, so that rows of any age are normalised by today's statistics.

    Memory is taken page by page as rows are written; cost of a sample does not depend on the number of rows.

    Args:
        capacity: rows.
        shape: shape of one policy input.
        action_shape: shape of one policy action; () for choices.
        is_discrete: whether actions are choices.
        seed: seed of sampling.

    Attributes:
        size: rows that hold a transition.
        normaliser: applied to sampled observations; None for none.
    """

    def __init__(
        self, capacity: int, shape: tuple[int, ...], action_shape: tuple[int, ...], is_discrete: bool, seed: int
    ) -> None:
        """Reserve the arrays."""
        entries = int(np.prod(shape, dtype=int))
        self.capacity, self._shape = capacity, shape
        self._observations = np.zeros((capacity, entries), np.float32)
        self._following = np.zeros((capacity, entries), np.float32)
        self._actions = np.zeros((capacity, *action_shape), np.int64 if is_discrete else np.float32)
        self._shaped_rewards = np.zeros(capacity, np.float32)
        self._continues = np.zeros(capacity, np.float32)
        self.size, self._next = 0, 0
        self._generator = np.random.default_rng(seed)
        self.normaliser: Normaliser | None = None

    def add(
        self,
        observations: NDArray[np.float32],
        actions: NDArray[Any],
        shaped_rewards: NDArray[np.float64],
        following: NDArray[np.float32],
        terminated: NDArray[np.bool_],
    ) -> None:
        """Write one row per environment (n, …); observations before the normaliser."""
        count = len(shaped_rewards)
        rows: Any = slice(self._next, self._next + count)
        if self._next + count > self.capacity:
            rows = np.arange(self._next, self._next + count) % self.capacity
        self._observations[rows], self._following[rows] = observations, following
        self._actions[rows], self._shaped_rewards[rows], self._continues[rows] = actions, shaped_rewards, ~terminated
        self._next = (self._next + count) % self.capacity
        self.size = min(self.size + count, self.capacity)

    def sample(self, size: int | None) -> tuple[ReplayBatch, NDArray[Any]]:
        """Draw rows uniformly with replacement.

        Returns:
            The transitions, and their row numbers.
        """
        rows = self._generator.integers(0, self.size, size or self.size)
        batch = ReplayBatch(
            observations=self._inputs(self._observations, rows),
            actions=torch.from_numpy(self._actions[rows]),
            shaped_rewards=torch.from_numpy(self._shaped_rewards[rows]),
            following=self._inputs(self._following, rows),
            continues=torch.from_numpy(self._continues[rows]),
        )
        return batch, rows

    def recent_observations(self, count: int) -> NDArray[np.float32]:
        """Give the newest observations before the normaliser, (count, size), in no particular order."""
        count = min(count, self.size)
        return self._observations[np.arange(self._next - count, self._next) % self.capacity]

    def _inputs(self, values: NDArray[np.float32], rows: NDArray[Any]) -> Tensor:
        chosen = values[rows]
        if self.normaliser is not None:
            chosen = self.normaliser(chosen)
        return torch.from_numpy(chosen.reshape(len(rows), *self._shape))
