"""The shorter way through a step of mpe2 gives exactly what mpe2's own parallel environment gives."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from mpe2.all_modules import mpe_environments

from agent2_targets.runtime.families.mpe import Mpe, shortened

SCENARIOS = [name.removeprefix("mpe/") for name in mpe_environments]
STEPS = 60


def draw(environment: Any, generator: np.random.Generator) -> dict[str, Any]:
    """Draw actions for all agents; box actions a little outside of their bounds too."""
    actions: dict[str, Any] = {}
    for agent in environment.possible_agents:
        space = environment.action_space(agent)
        is_box = hasattr(space, "low")
        actions[agent] = (
            generator.uniform(-0.1, 1.1, space.shape).astype(np.float32) if is_box else int(generator.integers(space.n))
        )
    return actions


@pytest.mark.parametrize("is_continuous", [False, True], ids=["discrete", "box"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_both_ways_are_equal_over_whole_episodes(scenario: str, is_continuous: bool) -> None:
    module = importlib.import_module(f"mpe2.{scenario}")
    arguments = {"continuous_actions": is_continuous}
    short, long = shortened(module.raw_env(**arguments), module, arguments), module.parallel_env(**arguments)
    assert isinstance(short, Mpe)
    generator = np.random.default_rng(0)
    check(short.reset(seed=3)[0], long.reset(seed=3)[0])
    for _ in range(STEPS):
        actions = draw(long, generator)
        ours, theirs = short.step(actions), long.step(actions)
        check(ours[0], theirs[0])
        assert [dict(part) for part in ours[1:4]] == [dict(part) for part in theirs[1:4]]
        assert short.agents == long.agents
        if not long.agents:
            check(short.reset()[0], long.reset()[0])


def check(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert list(ours) == list(theirs)
    for agent, observation in theirs.items():
        np.testing.assert_array_equal(ours[agent], observation)
        assert ours[agent].dtype == observation.dtype


def test_a_solved_scenario_ends_for_all_in_both_ways() -> None:
    module = importlib.import_module("mpe2.simple_spread_v3")
    short = Mpe(module.raw_env(terminate_on_success=True))
    short.reset(seed=0)
    world = short.unwrapped.world
    for agent, landmark in zip(world.agents, world.landmarks, strict=True):
        agent.state.p_pos = landmark.state.p_pos.copy()
    _, _, endings, stops, _ = short.step(dict.fromkeys(short.possible_agents, 0))
    assert set(endings.values()) == {True}
    assert set(stops.values()) == {False}
    assert short.agents == []
