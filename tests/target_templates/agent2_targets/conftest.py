"""Designs and packed agents for the tests of agent2_targets."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agent2_schemas import (
    A2CHyperparameters,
    Design,
    DQNHyperparameters,
    EnvironmentReference,
    Evaluation,
    MdpDesign,
    NetworkDesign,
    PPOHyperparameters,
    SACHyperparameters,
    TD3Hyperparameters,
)
from agent2_targets import TargetContent, render_policy
from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.normaliser import Normaliser
from agent2_targets.runtime.pipeline import policy_action_space, policy_observation_space
from agent2_targets.runtime.transforms import Transforms

SHARED: dict[str, Any] = {"learning_rate": 1e-3, "gamma": 0.98, "num_envs": 2}
ON_POLICY: dict[str, Any] = {
    "rollout_steps": 32,
    "gae_lambda": 0.9,
    "entropy_coefficient": 0.0,
    "value_coefficient": 0.5,
    "max_gradient_norm": 0.5,
}
OFF_POLICY: dict[str, Any] = {
    "batch_size": 32,
    "buffer_size": 2000,
    "warmup_env_steps": 64,
    "updates_per_env_step": 0.25,
    "collect_steps": 4,
}
HYPERPARAMETERS: dict[str, Any] = {
    "PPO": PPOHyperparameters(**SHARED, **ON_POLICY, minibatch_size=32, epochs=2, clip_range=0.2),
    "A2C": A2CHyperparameters(**SHARED, **ON_POLICY),
    "SAC": SACHyperparameters(**SHARED, **OFF_POLICY, tau=0.005),
    "TD3": TD3Hyperparameters(
        **SHARED,
        **OFF_POLICY,
        tau=0.005,
        exploration_noise=0.1,
        policy_noise=0.2,
        policy_noise_clip=0.5,
        actor_update_interval=2,
    ),
    "DQN": DQNHyperparameters(
        **SHARED,
        **OFF_POLICY,
        target_update_interval=100,
        exploration_initial=1.0,
        exploration_final=0.05,
        exploration_fraction=0.2,
    ),
}

SHOULDER = '''"""A designed observation, a coarse action and a shaped reward for Pendulum-v1."""

import numpy as np

OBSERVATION_SPACE = {"shape": [2], "dtype": "float32", "low": -1.0, "high": 1.0}
ACTION_SPACE = {"n": 3}
REWARD_WEIGHTS = {"upright": 0.5}


def observe(observation):
    """The angle and the scaled speed."""
    angle = np.arctan2(observation[:, 1], observation[:, 0])
    return np.stack([angle / np.pi, observation[:, 2] / 8.0], axis=1)


def act(action, observation):
    """Left, nothing, right."""
    return (action[:, None] - 1.0) * 2.0


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    """How upright it is, beside the original reward."""
    return {"original": original_reward, "upright": observation[:, 0]}


def potential(observation):
    """Height of the tip."""
    return observation[:, 0]
'''


@pytest.fixture
def shoulder() -> str:
    """An mdp.py with every part that a single agent can have, for Pendulum-v1."""
    return SHOULDER


@pytest.fixture
def make_design(tmp_path: Path) -> Callable[..., tuple[Design, str]]:
    """Make a design and its mdp.py for a real environment."""

    def make(
        algorithm: str,
        environment: str = "CartPole-v1",
        code: str = '"""Nothing is changed."""\n',
        stateful: dict[str, Any] | None = None,
        network: dict[str, Any] | None = None,
        hyperparameters: dict[str, Any] | None = None,
        **mdp: Any,
    ) -> tuple[Design, str]:
        adapted = build_environment({"name": environment}, root=str(tmp_path))
        adapted.env.close()
        file = tmp_path / "mdp.py"
        file.write_text(code)
        parts: dict[str, Any] = {
            "environment_observation_space": adapted.observation_space,
            "environment_action_space": adapted.action_space,
            "max_episode_steps": adapted.max_episode_steps,
            "stateful": stateful or {},
            **mdp,
        }
        transforms = Transforms.load(file, parts)
        parts |= {
            "parts": transforms.parts,
            "reward_weights": transforms.reward_weights,
            "observation_space": policy_observation_space(parts, transforms),
            "action_space": policy_action_space(parts, transforms),
        }
        design = Design(
            candidate_id="c1",
            mdp=MdpDesign.model_validate(parts),
            algorithm=algorithm,  # pyright: ignore[reportArgumentType] - names come from the parametrisation
            network=NetworkDesign(**(network or {"hidden_sizes": (16,)})),
            hyperparameters=HYPERPARAMETERS[algorithm].model_copy(update=hyperparameters or {}),
            budget_env_steps=1000,
        )
        return design, code

    return make


@pytest.fixture
def make_content(make_design: Callable[..., tuple[Design, str]]) -> Callable[..., TargetContent]:
    """Make all that goes into a Target Agent, with untrained weights."""

    def make(algorithm: str, environment: str = "CartPole-v1", **options: Any) -> TargetContent:
        snapshot: Path | None = options.pop("snapshot", None)
        packing: dict[str, Any] = {"card": None} | {
            key: options.pop(key) for key in ("card", "extra_files", "notes") if key in options
        }
        design, code = make_design(algorithm, environment, **options)
        text = render_policy(design)
        policy: dict[str, Any] = {}
        exec(text, policy)
        torch.manual_seed(3)
        weights = {name: value.numpy() for name, value in policy["Actor"]().state_dict().items()}
        statistics = None
        if design.mdp.stateful.normalise_observation != "none":
            shape = design.mdp.observation_space.shape  # pyright: ignore[reportAttributeAccessIssue]
            normaliser = Normaliser(int(np.prod(shape)), design.mdp.stateful.observation_clip)
            normaliser.update(np.random.default_rng(0).normal(0.5, 2.0, (100, *shape)))
            statistics = normaliser.to_dict()
        return TargetContent(
            name="demo",
            task="keep it up",
            environment=EnvironmentReference(name=environment),
            snapshot=snapshot,
            environment_sha256="0" * 64,
            design=design,
            mdp_code=code,
            policy_code=text,
            weights=weights,
            normaliser=statistics,
            run_id="r1",
            checkpoint_env_steps=500,
            **packing,
        )

    return make


@pytest.fixture
def card() -> Evaluation:
    """A score over four episodes."""
    return Evaluation(
        evaluation_id="e1",
        state="finished",
        project="demo",
        run_id="r1",
        candidate_id="c1",
        checkpoint_env_steps=500,
        purpose="card",
        mode="deterministic",
        episodes=4,
        original_returns=(10.0, 20.0, 30.0, 40.0),
        lengths=(10, 20, 30, 40),
        mean_original_return=25.0,
    )


@pytest.fixture
def greenhouse(tmp_path: Path) -> Path:
    """A folder with the example environment in it, as a project's snapshot would be."""
    folder = tmp_path / "snapshot"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[3] / "examples" / "greenhouse.py", folder)
    return folder


@pytest.fixture(autouse=True)
def own_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what building an environment from a file does to the process: working directory and sys.path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
