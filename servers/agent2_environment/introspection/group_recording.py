"""Recorded transitions of several agents: besides what any recording holds, who was there, what was legal, the state.

Arrays of the .npz file, one row a step: `observation/GROUP`, `next_observation/GROUP` (steps, agents, …),
`action/GROUP` (steps, agents, …), `original_reward/GROUP` (steps, agents) float64, `alive/GROUP`, `next_alive/GROUP`
(steps, agents) bool, `action_mask/GROUP`, `next_action_mask/GROUP` (steps, agents, choices) bool where there are masks,
`state`, `next_state` (steps, size) float32; and as ever `original_reward` (the mean over the agents), `terminated`,
`truncated`, `episode`, `info/KEY`, `info_present/KEY`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_environment.introspection.joint import JointEnvironment
from agent2_environment.introspection.recording import Recorder
from agent2_environment.introspection.statistics import observation_entries
from agent2_targets.runtime.environment import Adapted
from agent2_targets.runtime.multi_agent.interface import JointObservation
from agent2_targets.runtime.spaces import SpaceDict, box_bounds, describe_space

Array = NDArray[Any]


class GroupRecorder(Recorder):
    """Keeps transitions of one rollout of several agents.

    Args:
        environment: the environment that is rolled; what is not in a transition is read from it.
    """

    def __init__(self, environment: JointEnvironment) -> None:
        """Prepare for the environment's groups."""
        spaces = describe_space(environment.observation_space), describe_space(environment.action_space)
        super().__init__(*spaces)
        self._environment = environment
        entries = environment.batch.layout.state_space["shape"][0]
        self._step_bytes += 2 * 4 * entries
        self.group_returns: dict[str, list[float]] = {group.name: [] for group in environment.groups}
        self._group_return = dict.fromkeys(self.group_returns, 0.0)

    def add(
        self,
        observation: Any,
        action: Any,
        original_reward: float,
        next_observation: Any,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Take in one transition, with the actions that were taken instead of those asked for."""
        known, environment = len(self.infos), self._environment
        for group in environment.groups:
            part = environment.last.original_rewards[group.name][0]
            self._group_return[group.name] += float(part.mean())
        if terminated or truncated:
            for name, value in self._group_return.items():
                self.group_returns[name].append(value)
        super().add(observation, environment.taken, original_reward, next_observation, terminated, truncated, info)
        if len(self.infos) == known:
            return
        self._keep_joint("", environment.before)
        self._keep_joint("next_", environment.last.following)
        for name, part in environment.last.original_rewards.items():
            self._columns.setdefault(f"original_reward/{name}", []).append(part[0].copy())

    def begin_episode(self) -> None:
        """Count the next episode from zero."""
        super().begin_episode()
        self._group_return = dict.fromkeys(self.group_returns, 0.0)

    def _keep_joint(self, prefix: str, joint: JointObservation) -> None:
        for column, grouped in (("alive", joint.alive), ("action_mask", joint.action_masks)):
            for name, part in grouped.items():
                self._columns.setdefault(f"{prefix}{column}/{name}", []).append(part[0].copy())
        self._columns.setdefault(f"{prefix}state", []).append(joint.state[0].copy())


def new_recorder(adapted: Adapted) -> Recorder:
    """Make the recorder that fits an environment of one agent or of several."""
    if isinstance(adapted.env, JointEnvironment):
        return GroupRecorder(adapted.env)
    return Recorder(adapted.observation_space, adapted.action_space)


def describe_groups(environment: JointEnvironment, recorder: GroupRecorder, arrays: dict[str, Array]) -> dict[str, Any]:
    """Give the fields of `EnvironmentReport` that only environments of several agents have.

    Args:
        environment: the environment.
        recorder: the rollout of the random policy.
        arrays: its recording.
    """
    layout = environment.batch.layout
    groups: list[dict[str, Any]] = []
    for group in layout.groups:
        returns = recorder.group_returns[group.name]
        groups.append(
            {
                "name": group.name,
                "agents": list(group.agents),
                "observation_space": group.observation_space,
                "action_space": group.action_space,
                "has_action_mask": group.has_action_mask,
                "observation_entries": observation_entries(observations_of_agents(arrays, group.name)),
                "mean_original_return": float(np.mean(returns)) if returns else None,
            }
        )
    return {
        "groups": groups,
        "state_size": layout.state_space["shape"][0],
        "is_cooperative": layout.is_cooperative,
        "backend": layout.backend,
    }


def observations_of_agents(arrays: dict[str, Array], group: str) -> NDArray[np.float64] | None:
    """Flatten the recorded observations of a group to (agent steps, entries), without agents that had left."""
    observations = arrays.get(f"observation/{group}")
    if observations is None or not len(observations):
        return None
    present = observations[arrays[f"alive/{group}"]]
    return present.reshape(len(present), -1).astype(np.float64)


def without_the_gone(arrays: dict[str, Array], space: SpaceDict) -> dict[str, Array]:
    """Copy a recording's next observations with the zeros of agents that have left moved into the declared bounds."""
    kept = dict(arrays)
    for name, leaf in space["spaces"].items():
        column = f"next_observation/{name}"
        if column in kept:
            kept[column] = _within(kept[column], arrays[f"next_alive/{name}"], leaf)
    return kept


def _within(values: Array, alive: Array, leaf: SpaceDict) -> Array:
    from_bounds = np.clip(np.zeros(values.shape[1:]), *box_bounds(leaf)).astype(values.dtype)
    shape = (*alive.shape, *(1,) * (values.ndim - alive.ndim))
    return np.where(alive.reshape(shape), values, from_bounds)
