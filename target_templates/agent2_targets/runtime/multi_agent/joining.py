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


def check_finite(groups: Sequence[Group], joint: JointObservation, steps: Sequence[int], rows: Sequence[int]) -> None:
    """Check all observations and the state.

    Args:
        groups: the groups.
        joint: the observations of some environments.
        steps: steps taken by each of these environments.
        rows: which environments of the batch these are.

    Raises:
        NonFinite: one is NaN or infinite; says where.
    """
    for group in groups:
        part = joint.observations[group.name]
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            slot, index = (int(place) for place in np.argwhere(~np.isfinite(part))[0][:2])
            message = f"the observation of agent {group.agents[index]} is not finite"
            raise NonFinite(message, int(steps[slot]), int(rows[slot]))
    if not np.isfinite(joint.state).all():
        slot = int(np.argwhere(~np.isfinite(joint.state))[0][0])
        raise NonFinite("the global state is not finite", int(steps[slot]), int(rows[slot]))
