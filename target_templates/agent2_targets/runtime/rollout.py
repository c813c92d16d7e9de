"""Run an act function on an environment, one episode for each seed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import EnvironmentBatch
from .spaces import Raw, as_parts, as_raw, take

Act = Callable[[Raw, NDArray[np.bool_]], Any]
"""From raw observations (n, …) and the reset mask (n,) to environment actions (n, …)."""


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """What the episodes gave, in the order of their seeds.

    Attributes:
        original_returns: undiscounted sum of the environment's own rewards per episode.
        lengths: environment steps per episode.
        terminated: whether each episode ended by termination.
    """

    original_returns: tuple[float, ...]
    lengths: tuple[int, ...]
    terminated: tuple[bool, ...]

    @property
    def mean_original_return(self) -> float:
        """Mean of the returns."""
        return float(np.mean(self.original_returns))


def run_episodes(build: Callable[[], Any], act: Act, seeds: Sequence[int], count: int = 8) -> Rollout:
    """Run the episode of each seed once to its end.

    Args:
        build: makes one environment that obeys the current interface.
        act: gives the environment actions; it keeps its own state and learns of new episodes by the reset mask. A row
            that has no seed left goes on being asked, and its answer is dropped.
        seeds: one episode each.
        count: environments side by side, at most.

    Raises:
        StepFault: an environment broke the interface.
    """
    count = max(1, min(count, len(seeds)))
    batches = [EnvironmentBatch(build, 1) for _ in range(count)]
    waiting = deque(enumerate(seeds))
    episode = [-1] * count
    returns, lengths, terminated = (
        np.zeros(len(seeds)),
        np.zeros(len(seeds), dtype=int),
        np.zeros(len(seeds), dtype=bool),
    )
    rows: list[Any] = [None] * count
    mask = np.ones(count, dtype=bool)
    for row in range(count):
        episode[row], seed = waiting.popleft()
        rows[row] = batches[row].reset([seed])
    while any(number >= 0 for number in episode):
        actions = act(join(rows), mask.copy())
        mask[:] = False
        for row, batch in enumerate(batches):
            number = episode[row]
            if number < 0:
                continue
            step = batch.step(row_of(actions, row))
            returns[number] += step.original_rewards[0]
            lengths[number] += 1
            rows[row] = step.observations
            if step.terminated[0] or step.truncated[0]:
                terminated[number] = step.terminated[0]
                episode[row] = -1
                if waiting:
                    episode[row], seed = waiting.popleft()
                    rows[row], mask[row] = batch.reset([seed]), True
    for batch in batches:
        batch.close()
    return Rollout(
        original_returns=tuple(returns.tolist()), lengths=tuple(lengths.tolist()), terminated=tuple(terminated.tolist())
    )


def join(rows: list[Raw]) -> Raw:
    """Put raw batches of one row together."""
    return as_raw({key: np.concatenate([as_parts(row)[key] for row in rows]) for key in as_parts(rows[0])})


def row_of(actions: Raw, row: int) -> Raw:
    """Take one row out of a batch of environment actions, as a batch of one."""
    return take(actions, slice(row, row + 1))
