"""Joint observations and actions as raw batches of one space, so that the frames of a single agent carry them.

The state stays behind: only training may see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..spaces import Array, Raw, SpaceDict, as_parts, box_bounds, describe_bound
from .interface import Group, Grouped, JointObservation

OBSERVATION, ALIVE, MASK = "observation", "alive", "action_mask"


def joint_observation_space(groups: Sequence[Group]) -> SpaceDict:
    """Describe what the policies of all groups are shown: of each group, its observations, who is alive, and its masks."""
    spaces: dict[str, SpaceDict] = {}
    for group in groups:
        agents = len(group.agents)
        parts = {
            OBSERVATION: _of_all(group.observation_space, agents),
            ALIVE: {"kind": "multi_binary", "shape": [agents]},
        }
        if group.has_action_mask:
            parts[MASK] = {"kind": "multi_binary", "shape": [agents, group.action_space["n"]]}
        spaces[group.name] = {"kind": "dict", "spaces": parts}
    return {"kind": "dict", "spaces": spaces}


def joint_action_space(groups: Sequence[Group]) -> SpaceDict:
    """Describe what the policies of all groups choose: of each group, one action for each agent."""
    spaces: dict[str, SpaceDict] = {}
    for group in groups:
        space, agents = group.action_space, len(group.agents)
        is_discrete = space["kind"] == "discrete"
        spaces[group.name] = (
            {"kind": "multi_discrete", "nvec": [space["n"]] * agents} if is_discrete else _of_all(space, agents)
        )
    return {"kind": "dict", "spaces": spaces}


def to_raw(joint: JointObservation) -> Raw:
    """Lay a joint observation out as a raw batch of `joint_observation_space`, without its state."""
    parts: dict[str, Array] = {}
    for name, observations in joint.observations.items():
        parts[f"{name}.{OBSERVATION}"] = observations
        parts[f"{name}.{ALIVE}"] = joint.alive[name].astype(np.int8)
        if name in joint.action_masks:
            parts[f"{name}.{MASK}"] = joint.action_masks[name].astype(np.int8)
    return parts


def from_raw(raw: Raw, groups: Sequence[str]) -> JointObservation:
    """Undo `to_raw`; the state has no entries."""
    parts = as_parts(raw)
    observations: dict[str, Array] = {name: parts[f"{name}.{OBSERVATION}"] for name in groups}
    alive: dict[str, Any] = {name: parts[f"{name}.{ALIVE}"].astype(bool) for name in groups}
    masks = {name: parts[f"{name}.{MASK}"].astype(bool) for name in groups if f"{name}.{MASK}" in parts}
    count = len(next(iter(observations.values())))
    return JointObservation(observations, masks, alive, np.zeros((count, 0), dtype=np.float32))


def actions_from_raw(raw: Raw) -> Grouped:
    """Look at a raw batch of `joint_action_space` as actions by group."""
    return as_parts(raw)


def _of_all(space: SpaceDict, agents: int) -> SpaceDict:
    """Describe the box that holds one value for each agent."""
    shape = [agents, *space["shape"]]
    low, high = (describe_bound(np.broadcast_to(bound, shape)) for bound in box_bounds(space))
    return {"kind": "box", "shape": shape, "dtype": space["dtype"], "low": low, "high": high}
