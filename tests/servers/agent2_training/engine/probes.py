"""Probe environments: each adds one ability, so that the first that fails says what is broken (Jones 2021)."""

from typing import Any

import gymnasium
import numpy as np


class Probe(gymnasium.Env[np.ndarray, Any]):
    """One observation entry, one or two steps, one choice among two or a number in [-1, 1]."""

    steps = 1
    is_truncated = False

    def __init__(self, is_continuous: bool = False) -> None:
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.is_continuous = is_continuous
        box = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.action_space = box if is_continuous else gymnasium.spaces.Discrete(2)
        self.time, self.value = 0, 0.0

    def observe(self) -> float:
        return 0.0

    def original_reward(self, action: Any) -> float:
        return 1.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.time = 0
        self.value = self.observe()
        return np.array([self.value], np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        original_reward = self.original_reward(action)
        self.time += 1
        done = self.time >= self.steps
        self.value = self.observe()
        following = np.array([self.value], np.float32)
        return (
            following,
            original_reward,
            done and not self.is_truncated,
            done and self.is_truncated,
            {"time": self.time},
        )

    def direction(self, action: Any) -> float:
        """What the action says: -1 or 1, or the number itself."""
        return float(np.clip(action[0], -1, 1)) if self.is_continuous else 2.0 * float(action) - 1.0


class ConstantReward(Probe):
    """1: the value of the only state is 1."""


class SeenReward(Probe):
    """2: the reward is the observation."""

    def observe(self) -> float:
        return float(self.np_random.choice([-1.0, 1.0]))

    def original_reward(self, action: Any) -> float:
        return self.value


class DelayedReward(Probe):
    """3: the reward comes with the second step."""

    steps = 2

    def observe(self) -> float:
        return float(self.time)

    def original_reward(self, action: Any) -> float:
        return float(self.time == 1)


class ActionReward(Probe):
    """4: one action is better."""

    def original_reward(self, action: Any) -> float:
        return self.direction(action)


class SeenActionReward(SeenReward):
    """5: the better action depends on the observation."""

    def original_reward(self, action: Any) -> float:
        return self.direction(action) * self.value


class EndlessReward(Probe):
    """6: reward 1 for ever, cut by a time limit: the value is 1 / (1 - gamma), not that of two steps."""

    steps = 2
    is_truncated = True


class BadNumbers(Probe):
    """Gives NaN at the tenth step."""

    steps = 50

    def original_reward(self, action: Any) -> float:
        return float("nan") if self.time == 9 else 1.0


class Slow(Probe):
    """Episodes of ten steps whose rewards tell the step."""

    steps = 10

    def observe(self) -> float:
        return self.time / 10

    def original_reward(self, action: Any) -> float:
        return float(self.time)
