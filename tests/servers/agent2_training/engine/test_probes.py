"""Every algorithm learns what each probe environment asks for, and a sabotaged one does not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from agent2_training.engine.training import Training

BUDGETS = {"PPO": 4000, "A2C": 4000, "SAC": 900, "TD3": 900, "DQN": 900}
CASES = [(name, is_continuous) for name in ("PPO", "A2C") for is_continuous in (False, True)] + [
    ("DQN", False),
    ("SAC", True),
    ("TD3", True),
]
GAMMA = 0.5
SEEN = np.array([[-1.0], [1.0]], np.float32)

MakeTraining = Callable[..., Training]


def train(make: MakeTraining, probe: str, algorithm: str, is_continuous: bool, **changed: Any) -> Training:
    arguments = {"is_continuous": is_continuous}
    training = make(
        f"probes.py:{probe}", algorithm, BUDGETS[algorithm], keyword_arguments=arguments, gamma=GAMMA, **changed
    )
    training.run()
    return training


def values(training: Training, observations: np.ndarray) -> np.ndarray:
    """What the learner expects of these states under its own policy (n,)."""
    modules, inputs = training.learner.modules, torch.from_numpy(observations)
    with torch.no_grad():
        if training.learner.name == "DQN":
            return modules["actor"](inputs).max(dim=1).values.numpy()
        if training.learner.is_on_policy:
            return modules["critic"](inputs)[:, 0].numpy()
        return modules["critic"](inputs, torch.from_numpy(actions(training, observations)))[:, 0].numpy()


def actions(training: Training, observations: np.ndarray) -> np.ndarray:
    """The best actions: (n, 1) in [-1, 1], or choices (n,)."""
    with torch.no_grad():
        output = training.learner.actor(torch.from_numpy(observations))
    if training.simulation.is_discrete:
        return output.argmax(dim=1).numpy()
    if training.learner.name == "SAC":
        return torch.tanh(output[0]).numpy()
    return output[0].clamp(-1, 1).numpy() if isinstance(output, tuple) else output.numpy()


def directions(training: Training, observations: np.ndarray) -> np.ndarray:
    chosen = actions(training, observations)
    return chosen * 2.0 - 1.0 if training.simulation.is_discrete else chosen[:, 0]


@pytest.mark.parametrize(("algorithm", "is_continuous"), CASES)
def test_value_of_a_constant_reward_is_that_reward(
    make_training: MakeTraining, algorithm: str, is_continuous: bool
) -> None:
    training = train(make_training, "ConstantReward", algorithm, is_continuous)
    assert values(training, np.zeros((1, 1), np.float32)) == pytest.approx([1.0], abs=0.15)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "is_continuous"), CASES)
def test_value_depends_on_what_is_seen(make_training: MakeTraining, algorithm: str, is_continuous: bool) -> None:
    training = train(make_training, "SeenReward", algorithm, is_continuous)
    assert values(training, SEEN) == pytest.approx([-1.0, 1.0], abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "is_continuous"), CASES)
def test_a_later_reward_is_discounted(make_training: MakeTraining, algorithm: str, is_continuous: bool) -> None:
    training = train(make_training, "DelayedReward", algorithm, is_continuous)
    assert values(training, np.array([[0.0], [1.0]], np.float32)) == pytest.approx([GAMMA, 1.0], abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "is_continuous"), CASES)
def test_the_better_action_is_found(make_training: MakeTraining, algorithm: str, is_continuous: bool) -> None:
    training = train(make_training, "ActionReward", algorithm, is_continuous)
    assert directions(training, np.zeros((1, 1), np.float32))[0] > 0.7


@pytest.mark.parametrize(("algorithm", "is_continuous"), CASES)
def test_the_better_action_depends_on_what_is_seen(
    make_training: MakeTraining, algorithm: str, is_continuous: bool
) -> None:
    training = train(make_training, "SeenActionReward", algorithm, is_continuous)
    left, right = directions(training, SEEN)
    assert left < -0.6
    assert right > 0.6


@pytest.mark.parametrize(("algorithm", "is_continuous"), [("PPO", False), ("DQN", False), ("TD3", True)])
def test_a_time_limit_bootstraps(make_training: MakeTraining, algorithm: str, is_continuous: bool) -> None:
    training = train(make_training, "EndlessReward", algorithm, is_continuous)
    assert values(training, np.zeros((1, 1), np.float32)) == pytest.approx([1 / (1 - GAMMA)], abs=0.25)


def test_a_learner_that_cannot_move_fails_the_probe(make_training: MakeTraining) -> None:
    training = train(make_training, "ConstantReward", "PPO", False, learning_rate=1e-9)
    assert values(training, np.zeros((1, 1), np.float32)) != pytest.approx([1.0], abs=0.15)
