"""The delivered agent acts as its parts say: parity with the module, state per row, action repeat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agent2_targets import TargetContent, pack_target
from agent2_targets.runtime.agent import Agent
from agent2_targets.runtime.batch import EnvironmentBatch
from agent2_targets.runtime.delivered import build_delivered
from agent2_targets.runtime.normaliser import Normaliser
from agent2_targets.runtime.pipeline import ActionPipeline, ObservationPipeline
from agent2_targets.runtime.transforms import Transforms

CASES = [
    ("PPO", "CartPole-v1", {}),
    ("A2C", "Pendulum-v1", {"previous_action": True}),
    ("SAC", "Pendulum-v1", {"history": 2, "normalise_observation": "running"}),
    ("TD3", "Pendulum-v1", {"time_left": True}),
    ("DQN", "CartPole-v1", {"normalise_observation": "warmup"}),
]


@pytest.mark.parametrize(("algorithm", "environment", "stateful"), CASES)
def test_saved_weights_act_exactly_as_the_module_in_training(
    tmp_path: Path,
    make_content: Callable[..., TargetContent],
    algorithm: str,
    environment: str,
    stateful: dict[str, Any],
) -> None:
    content = make_content(algorithm, environment, stateful=stateful)
    pack_target(tmp_path / "agent", content)
    agent = Agent.load(tmp_path / "agent")
    policy: dict[str, Any] = {}
    exec(content.policy_code, policy)
    actor = policy["Actor"]()
    actor.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in content.weights.items()})
    mdp = content.design.model_dump(mode="json")["mdp"]
    transforms = Transforms.load(tmp_path / "agent" / "mdp.py", mdp)
    normaliser = Normaliser.from_dict(content.normaliser) if content.normaliser else None
    observations = ObservationPipeline(mdp, transforms, 3, normaliser)
    actions = ActionPipeline(mdp, transforms, 3)
    batch = EnvironmentBatch(lambda: build_delivered(tmp_path / "agent").env, 3)
    raw = batch.reset([1, 2, 3])
    inputs, mask = observations.reset(None, raw), np.ones(3, bool)
    for _ in range(40):
        with torch.no_grad():
            chosen = policy["select_action"](actor(torch.from_numpy(inputs)), True).numpy()
        expected = actions(chosen, raw)
        taken = agent.act(raw, mask)
        assert np.array_equal(taken, expected)
        assert taken.dtype == expected.dtype
        step = batch.step(taken)
        raw, inputs = step.observations, observations.step(step.observations, chosen)
        mask = step.terminated | step.truncated
        if mask.any():
            rows = np.flatnonzero(mask)
            first = batch.reset(None, rows)
            raw[rows] = first  # pyright: ignore[reportArgumentType]
            inputs[rows] = observations.reset(rows, first)


def test_an_action_is_held_as_long_as_the_design_says(
    tmp_path: Path, make_content: Callable[..., TargetContent]
) -> None:
    pack_target(tmp_path / "agent", make_content("SAC", "Pendulum-v1", stateful={"action_repeat": 3}))
    agent = Agent.load(tmp_path / "agent")
    generator = np.random.default_rng(0)
    masks = np.zeros((7, 2), bool)
    masks[0], masks[4, 1] = True, True
    taken = np.stack([agent.act(generator.normal(size=(2, 3)).astype(np.float32), mask) for mask in masks])[..., 0]
    changes = (np.diff(taken, axis=0) != 0).T.tolist()
    assert changes[0] == [False, False, True, False, False, True]
    assert changes[1] == [False, False, True, True, False, False], "a new episode chooses at once"


def test_sampled_actions_follow_the_seed(tmp_path: Path, make_content: Callable[..., TargetContent]) -> None:
    pack_target(tmp_path / "agent", make_content("PPO", "Pendulum-v1"))
    raw, mask = np.zeros((4, 3), np.float32), np.ones(4, bool)
    first, second, third = (
        Agent.load(tmp_path / "agent", seed).act(raw, mask, deterministic=False) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)
    assert len(np.unique(first)) == 4
