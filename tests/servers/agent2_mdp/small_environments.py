"""Small environments with what the classics lack: an angle, hidden speed, a rare goal, Dict, image, several choices."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Small(gymnasium.Env[Any, Any]):
    """A point on a line with speed; subclasses choose what is seen and paid."""

    action_space: spaces.Space[Any] = spaces.Box(-1.0, 1.0, (1,), np.float32)
    limit = 100

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.position, self.speed = self.np_random.uniform(-1, 1, 2)
        self.steps = 0
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.speed = 0.95 * self.speed + 0.2 * float(np.ravel(action)[0])
        self.position += 0.3 * self.speed
        self.steps += 1
        original_reward, terminated = self.paid()
        return self.seen(), original_reward, terminated, self.steps >= self.limit, {"speed": float(self.speed)}

    def seen(self) -> Any:
        return np.array([self.position, self.speed], np.float32)

    def paid(self) -> tuple[float, bool]:
        return -abs(self.position), False


class AngleWithoutSpeed(Small):
    """Sees an angle in [-pi, pi] that jumps, and no speed."""

    observation_space = spaces.Box(-np.pi, np.pi, (1,), np.float32)

    def seen(self) -> Any:
        angle = (self.position + np.pi) % (2 * np.pi) - np.pi
        return np.array([angle], np.float32).clip(-3.1415, 3.1415)


class RareGoal(Small):
    """Pays only where it ends: beyond 3."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def paid(self) -> tuple[float, bool]:
        is_there = abs(self.position - 3.0) < 0.2
        return float(is_there), is_there


class NestedDict(Small):
    """Sees a dict in a dict, an integer among its leaves."""

    observation_space = spaces.Dict(
        {
            "arm": spaces.Dict({"position": spaces.Box(-np.inf, np.inf, (1,), np.float32)}),
            "speed": spaces.Box(-np.inf, np.inf, (2,), np.float64),
            "gear": spaces.Discrete(3),
        }
    )

    def seen(self) -> Any:
        position = np.array([self.position], np.float32)
        speed = np.array([self.speed, -self.speed])
        return {"arm": {"position": position}, "speed": speed, "gear": np.int64(self.steps % 3)}


class Picture(Small):
    """Sees an image of bytes and presses two buttons."""

    observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)
    action_space = spaces.MultiDiscrete([3, 2])

    def seen(self) -> Any:
        image = np.zeros((8, 8, 3), np.uint8)
        image[int(abs(self.position) * 3) % 8, :, 0] = 200
        return image


for made in (AngleWithoutSpeed, RareGoal, NestedDict, Picture):
    made_by: Any = made  # any callable will do, though the stub says a protocol
    gymnasium.register(id=f"{made.__name__}-v0", entry_point=made_by, max_episode_steps=Small.limit)
