"""The NumPy twin of simple_spread equals mpe2: same seeds, same actions, same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agent2_targets.runtime.failures import BuildError
from agent2_targets.runtime.multi_agent.building import build_multi_agent
from agent2_targets.runtime.multi_agent.parallel import ParallelBatch
from agent2_targets.runtime.multi_agent.spread_twin import SpreadTwin

TOLERANCE = 1e-12
"""Absolute, for rewards (float64); observations are float32 and must be equal to one unit in the last place."""


def pair(**arguments: Any) -> tuple[Any, Any]:
    reference = {"name": "mpe2.simple_spread_v3", "keyword_arguments": {**arguments, "batched": True}}
    twin = build_multi_agent(reference, 8, can_be_twin=True)
    real = build_multi_agent(reference, 8)
    assert isinstance(twin, SpreadTwin)
    assert isinstance(real, ParallelBatch), "without leave, the environment itself is built"
    return twin, real


@pytest.mark.parametrize(
    "arguments",
    [{}, {"continuous_actions": True}, {"N": 5, "local_ratio": 0.1, "max_cycles": 40}],
    ids=["discrete", "continuous", "five agents"],
)
def test_the_twin_gives_what_mpe2_gives_over_whole_episodes(arguments: dict[str, Any]) -> None:
    twin, real = pair(**arguments)
    assert twin.layout.groups == real.layout.groups
    generator, agents = np.random.default_rng(0), twin.agents
    for episode in range(4):
        seeds = [100 * episode + row for row in range(8)] if episode < 3 else None  # at last: the generators go on
        np.testing.assert_array_equal(twin.reset(seeds).state, real.reset(seeds).state)
        for _ in range(twin.layout.max_episode_steps):
            actions = generator.integers(5, size=(8, agents))
            if arguments.get("continuous_actions"):
                actions = generator.uniform(0.0, 1.0, (8, agents, 5)).astype(np.float32)
            ours, theirs = twin.step({"agent": actions}), real.step({"agent": actions})
            original_rewards = ours.original_rewards["agent"], theirs.original_rewards["agent"]
            np.testing.assert_allclose(*original_rewards, rtol=0, atol=TOLERANCE)
            left, right = ours.following.observations["agent"], theirs.following.observations["agent"]
            np.testing.assert_array_max_ulp(left, right, maxulp=1)
            assert ours.truncated.tolist() == theirs.truncated.tolist() == [twin._elapsed[0] == twin._limit] * 8


def test_agents_that_touch_are_punished_and_pushed_apart_alike() -> None:
    twin, real = pair()
    twin.reset([0] * 8)
    real.reset([0] * 8)
    places = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.25]])
    twin._positions[:] = places
    for environment in real.environments:
        for agent, place in zip(environment.unwrapped.world.agents, places, strict=True):
            agent.state.p_pos = place.copy()
    for _ in range(10):
        ours, theirs = (batch.step({"agent": np.zeros((8, 3), np.int64)}) for batch in (twin, real))
        original_rewards = ours.original_rewards["agent"], theirs.original_rewards["agent"]
        np.testing.assert_allclose(*original_rewards, rtol=0, atol=TOLERANCE)
        np.testing.assert_allclose(ours.following.state, theirs.following.state, rtol=1e-6)


def test_what_the_twin_does_not_know_is_refused_by_name() -> None:
    with pytest.raises(BuildError, match="knows no argument 'curriculum'"):
        pair(curriculum=True)
    with pytest.raises(BuildError, match="simple_tag_v3 has no batched twin"):
        build_multi_agent({"name": "mpe2.simple_tag_v3", "keyword_arguments": {"batched": True}}, 1)
