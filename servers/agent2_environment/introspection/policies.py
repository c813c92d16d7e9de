"""The two fixed policies of an inspection: uniform random actions, and the action nearest to zero."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

Policy = Callable[[], Any]
"""Gives the next action; it looks at nothing."""


def make_policy(name: str, space: gymnasium.Space[Any], seed: int) -> Policy:
    """Make one of the fixed policies.

    Args:
        name: `random` or `zero`.
        space: the action space; it is seeded here.
        seed: seed of the random policy.
    """
    if name == "zero":
        action = zero_action(space)
        return lambda: action
    space.seed(seed)
    return space.sample


def zero_action(space: gymnasium.Space[Any]) -> Any:
    """Give the action nearest to zero: zero clipped into a Box, the first choice of a Discrete space."""
    spaces = gymnasium.spaces
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape), space.low, space.high).astype(space.dtype)
    if isinstance(space, spaces.Discrete):
        return space.start
    if isinstance(space, spaces.MultiDiscrete):
        return space.start.copy()
    if isinstance(space, spaces.Dict):
        return {key: zero_action(part) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(zero_action(part) for part in space.spaces)
    if isinstance(space, spaces.MultiBinary):
        return np.zeros(space.shape, np.int8)
    space.seed(0)
    return space.sample()
