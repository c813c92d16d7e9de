"""One episode for each seed, whatever the number of environments side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.rollout import run_episodes


def build() -> Any:
    return build_environment({"name": "CartPole-v1"}, root=None).env


def lean(observation: Any, reset_mask: Any) -> Any:
    return (observation[:, 2] > 0).astype(int)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_returns_come_in_the_order_of_the_seeds(count: int) -> None:
    seeds = [11, 12, 13, 14, 15]
    rollout = run_episodes(build, lean, seeds, count)
    alone = [run_episodes(build, lean, [seed], 1).original_returns[0] for seed in seeds]
    assert list(rollout.original_returns) == alone
    assert rollout.lengths == tuple(int(value) for value in alone)
    assert rollout.mean_original_return == np.mean(alone)
    assert all(rollout.terminated)


def test_the_reset_mask_names_each_first_observation() -> None:
    starts: list[Any] = []

    def act(observation: Any, reset_mask: Any) -> Any:
        starts.extend(observation[reset_mask])
        return lean(observation, reset_mask)

    run_episodes(build, act, [1, 2, 3], 2)
    first = [build().reset(seed=seed)[0].tolist() for seed in (1, 2, 3)]
    assert [start.tolist() for start in starts] == first
