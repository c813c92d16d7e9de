"""Arrays of joint observations: allocating them, and the global state where an environment has none of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..failures import NonFinite
from .interface import Group, Grouped, JointObservation


@dataclass(frozen=True, kw_only=True)
class Slate:
    """Fresh arrays that one joint observation is written into.

    Attributes:
        observations: by group (n, agents, *shape), zeros.
        masks: by group with masks (n, agents, choices) bool; only choice 0 is legal, as for agents that have left.
        alive: by group (n, agents) bool, False.
    """

    observations: dict[str, NDArray[Any]]
    masks: dict[str, NDArray[np.bool_]]
    alive: dict[str, NDArray[np.bool_]]


def new_slate(groups: Sequence[Group], count: int) -> Slate:
    """Allocate the arrays of `count` environments in which every agent has left."""
    observations: dict[str, NDArray[Any]] = {}
    masks: dict[str, NDArray[np.bool_]] = {}
    alive: dict[str, NDArray[np.bool_]] = {}
    for group in groups:
        agents, space = len(group.agents), group.observation_space
        observations[group.name] = np.zeros((count, agents, *space["shape"]), np.dtype(space["dtype"]))
        alive[group.name] = np.zeros((count, agents), dtype=bool)
        if group.has_action_mask:
            masks[group.name] = np.zeros((count, agents, group.action_space["n"]), dtype=bool)
            masks[group.name][..., 0] = True
    return Slate(observations=observations, masks=masks, alive=alive)


def concatenated(observations: Grouped) -> NDArray[np.float32]:
    """Concatenate all agents' observations, group by group, into one state (n, size) float32."""
    return np.concatenate([part.reshape(len(part), -1) for part in observations.values()], axis=1, dtype=np.float32)


def check_finite(joint: JointObservation, steps: Sequence[int], rows: Sequence[int]) -> None:
    """Check all observations and the state.

    Args:
        joint: the observations of some environments.
        steps: steps taken by each of these environments.
        rows: which environments of the batch these are.

    Raises:
        NonFinite: one is NaN or infinite; says where.
    """
    whole: list[tuple[str, NDArray[Any]]] = [("the global state", joint.state)]
    for what, part in whole + [
        (f"an observation of the group {name}", part) for name, part in joint.observations.items()
    ]:
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            slot = int(np.argwhere(~np.isfinite(part))[0][0])
            raise NonFinite(f"{what} is not finite", int(steps[slot]), int(rows[slot]))
