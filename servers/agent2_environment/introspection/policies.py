"""The two fixed policies of an inspection: uniform random actions, and the action nearest to zero."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from agent2_targets.runtime.spaces import SpaceDict, box_bounds, describe_space, leaf_layout

Policy = Callable[[], Any]
"""Gives the next action; it looks at nothing."""


def make_policy(name: str, space: gymnasium.Space[Any], seed: int) -> Policy:
    """Make one of the fixed policies.

    Args:
        name: `random` or `zero`.
        space: the action space; it is seeded here.
        seed: seed of the random policy.
    """
    space.seed(seed)
    if name == "random":
        return space.sample
    try:
        action = zero_action(describe_space(space))
    except ValueError:  # a space that has no zero: one fixed action
        action = space.sample()
    return lambda: action


def zero_action(space: SpaceDict) -> Any:
    """Give the action nearest to zero: zero clipped into a box, the first choice of a discrete space.

    Raises:
        ValueError: the space is no array and no Dict or Tuple of arrays.
    """
    kind = space["kind"]
    if kind == "box":
        low, high = box_bounds(space)
        return np.clip(np.zeros(low.shape), low, high).astype(np.dtype(space["dtype"]))
    if kind == "discrete":
        return space.get("start", 0)
    if kind == "dict":
        return {key: zero_action(part) for key, part in space["spaces"].items()}
    if kind == "tuple":
        return tuple(zero_action(part) for part in space["spaces"])
    shape, dtype = leaf_layout(space)
    return np.zeros(shape, dtype)
