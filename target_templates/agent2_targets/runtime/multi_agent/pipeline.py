"""From joint observations to policy inputs, and from policy actions to the environment's, group by group.

Each agent of each environment is a row of the pipelines of a single agent, so that history, previous action, time left,
normaliser, flattening and scaling are the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..failures import TransformError
from ..normaliser import Normaliser
from ..pipeline import ActionPipeline, ObservationPipeline
from ..spaces import SpaceDict, box_bounds, make_flattener
from .interface import Grouped, JointObservation
from .transforms import GroupTransforms

Rows = Sequence[int] | NDArray[Any]


class PolicyInputs(NamedTuple):
    """What the policies, and in training the central critic, get."""

    observations: Grouped
    """By group (n, agents, *shape) float32; zeros for agents that have left, but for their identity."""
    action_masks: Grouped
    """By group with masks (n, agents, choices of the designed space) bool, at least one True."""
    alive: Grouped
    """By group (n, agents) bool."""
    state: NDArray[np.float32]
    """Global state after `observe_state`, (n, state size); no entries where there is no state, as in evaluation."""


class GroupObservationPipeline:
    """The observation pipelines of all groups, with masks, agent identity and state.

    Args:
        design: the `mdp` part of a design as JSON, or the whole design.
        transforms: by group, from `load_group_transforms`.
        count: environments.
        normalisers: by group, statistics to use; a group without one gets fresh ones where the design asks for them.

    Attributes:
        spaces: by group, the space of one agent's policy input, a float32 box.
        shapes: by group, its shape.
        normalisers: by group that is normalised: statistics; the caller updates them.

    Raises:
        ValueError: the design asks for parts that do not fit together.
    """

    def __init__(
        self,
        design: Mapping[str, Any],
        transforms: Mapping[str, GroupTransforms],
        count: int,
        normalisers: Mapping[str, Normaliser] | None = None,
    ) -> None:
        """Make one pipeline for each group, with a row for each agent of each environment."""
        mdp: dict[str, Any] = dict(design.get("mdp", design))
        stateful: dict[str, Any] = mdp.get("stateful") or {}
        if int(stateful.get("action_repeat", 1)) != 1:
            raise ValueError("action_repeat is for single agents: an action that is held may become illegal")
        self._has_identity = bool(stateful.get("agent_identity", False))
        self._transforms, self.count = transforms, count
        self._groups: dict[str, dict[str, Any]] = {group["name"]: group for group in mdp["groups"]}
        self._pipelines = {
            name: ObservationPipeline(
                group_mdp(mdp, group), transforms[name], count * len(group["agents"]), (normalisers or {}).get(name)
            )
            for name, group in self._groups.items()
        }
        pairs = ((name, pipeline.normaliser) for name, pipeline in self._pipelines.items())
        self.normalisers = {name: normaliser for name, normaliser in pairs if normaliser is not None}
        self.spaces = {name: self._space(name) for name in self._groups}
        self.shapes = {name: tuple(space["shape"]) for name, space in self.spaces.items()}
        self._choices = {name: _choices(group, transforms[name]) for name, group in self._groups.items()}

    def reset(self, indices: Rows | None, joint: JointObservation) -> PolicyInputs:
        """Start episodes in some environments.

        Args:
            indices: the environments; None means all.
            joint: their first observations, in their order.
        """
        inputs: dict[str, NDArray[np.float32]] = {}
        for name in self._groups:
            raw, rows = self._enter(name, joint), self._rows(name, indices)
            inputs[name] = self._pipelines[name].reset(rows, raw)
        return self._finish(inputs, joint)

    def step(self, joint: JointObservation, designed_actions: Grouped, indices: Rows | None = None) -> PolicyInputs:
        """Go on in some environments.

        Args:
            joint: their observations after the actions; of a finished episode the last ones.
            designed_actions: by group, what the policies chose before: (n, agents) choices or (n, agents, *shape).
            indices: the environments; None means all.
        """
        inputs: dict[str, NDArray[np.float32]] = {}
        for name in self._groups:
            raw, rows = self._enter(name, joint), self._rows(name, indices)
            inputs[name] = self._pipelines[name].step(raw, _as_rows(designed_actions[name]), rows)
        return self._finish(inputs, joint)

    def unnormalised(self, group: str) -> NDArray[np.float32]:
        """Give a group's latest inputs before the normaliser, (environments * agents, size) float32.

        Update a normaliser with the rows of agents that had not left: `unnormalised(g)[alive[g].ravel()]`.
        """
        return self._pipelines[group].unnormalised

    def _enter(self, name: str, joint: JointObservation) -> NDArray[Any]:
        self._transforms[name].alive = joint.alive[name]
        return _as_rows(joint.observations[name])

    def _rows(self, name: str, indices: Rows | None) -> NDArray[np.int64] | None:
        if indices is None:
            return None
        agents = len(self._groups[name]["agents"])
        return (np.asarray(indices, dtype=np.int64)[:, None] * agents + np.arange(agents)).reshape(-1)

    def _finish(self, inputs: Mapping[str, NDArray[np.float32]], joint: JointObservation) -> PolicyInputs:
        observations: dict[str, NDArray[np.float32]] = {}
        for name, rows in inputs.items():
            alive = joint.alive[name]
            shown = rows.reshape(*alive.shape, *rows.shape[1:])
            shown[~alive] = 0.0
            if self._has_identity:
                agents = alive.shape[1]
                identity = np.broadcast_to(np.eye(agents, dtype=np.float32), (len(alive), agents, agents))
                shown = np.concatenate([shown, identity], axis=2)
            observations[name] = shown
        masks = {name: self._mask(name, joint) for name in self._groups if name in joint.action_masks}
        return PolicyInputs(observations, masks, dict(joint.alive), self._state(joint.state))

    def _mask(self, name: str, joint: JointObservation) -> NDArray[np.bool_]:
        alive = joint.alive[name]
        mask = self._transforms[name].action_mask(_as_rows(joint.action_masks[name]))
        if mask.shape[1:] != (self._choices[name],):
            message = f"the masks of group {name!r} have {mask.shape[1:]} choices, the policy {self._choices[name]}"
            raise TransformError(f"{message}; define action_mask whenever act changes the choices", "action_mask")
        folded = mask.reshape(*alive.shape, -1).copy()
        folded[~alive] = folded[~alive] | (np.arange(folded.shape[2]) == 0)  # the choice of who has left does not count
        if not folded.any(axis=2).all():
            raise TransformError(f"it leaves an agent of group {name!r} without a legal choice", "action_mask")
        return folded

    def _state(self, state: NDArray[np.float32]) -> NDArray[np.float32]:
        if not state.shape[1]:
            return state
        return flatten_state(next(iter(self._transforms.values())), state)

    def _space(self, name: str) -> SpaceDict:
        space = dict(self._pipelines[name].space)
        if not self._has_identity:
            return space
        if len(space["shape"]) != 1:
            raise ValueError("agent_identity needs flat observations: an image cannot be appended to")
        return {**space, "shape": [space["shape"][0] + len(self._groups[name]["agents"])]}


class GroupActionPipeline:
    """From what the policies chose to what the environment takes, group by group; who has left gets the no-op.

    Args:
        design: the `mdp` part of a design as JSON, or the whole design.
        transforms: by group, from `load_group_transforms`.
        count: environments.

    Attributes:
        spaces: by group, the space one agent's policy acts in: `{"kind": "discrete", "n": …}` or a box in [-1, 1].
        clipped: by group (n, agents) bool: whose latest action lay outside of its bounds and was clipped.

    Raises:
        ValueError: an action space cannot be served by a policy.
    """

    def __init__(self, design: Mapping[str, Any], transforms: Mapping[str, GroupTransforms], count: int) -> None:
        """Make one pipeline for each group."""
        mdp: dict[str, Any] = dict(design.get("mdp", design))
        self._transforms, self.count = transforms, count
        self._groups: dict[str, dict[str, Any]] = {group["name"]: group for group in mdp["groups"]}
        self._pipelines = {
            name: ActionPipeline(group_mdp(mdp, group), transforms[name], count * len(group["agents"]))
            for name, group in self._groups.items()
        }
        self.spaces = {name: pipeline.space for name, pipeline in self._pipelines.items()}
        self.clipped: dict[str, NDArray[np.bool_]] = {}

    def __call__(self, policy_actions: Grouped, joint: JointObservation) -> dict[str, NDArray[Any]]:
        """Turn policy actions into environment actions.

        Args:
            policy_actions: by group (n, agents) choices, or (n, agents, *shape) in [-1, 1].
            joint: the raw observations, masks and alive that the policies acted on.

        Returns:
            By group (n, agents) int64 choices or (n, agents, *shape) within bounds.

        Raises:
            TransformError: `act` chose what is not legal.
        """
        taken: dict[str, NDArray[Any]] = {}
        for name, pipeline in self._pipelines.items():
            transforms, alive = self._transforms[name], joint.alive[name]
            transforms.alive = alive
            rows = pipeline(_as_rows(policy_actions[name]), _as_rows(joint.observations[name]))
            actions = rows.reshape(*alive.shape, *rows.shape[1:])
            mask = joint.action_masks.get(name)
            actions[~alive] = self._no_op(name, mask, alive, actions)
            if mask is not None and "act" in transforms.parts:
                _check_legal(name, actions, mask)
            taken[name] = actions
            self.clipped[name] = pipeline.clipped.reshape(alive.shape) & alive
        return taken

    def _no_op(
        self, name: str, mask: NDArray[Any] | None, alive: NDArray[np.bool_], actions: NDArray[Any]
    ) -> NDArray[Any]:
        """What agents that have left do: their only legal choice, else the first one, else what is nearest to zero."""
        if mask is not None:
            return mask.argmax(axis=2)[~alive]
        space: SpaceDict = self._groups[name]["environment_action_space"]
        if space["kind"] == "box":
            low, high = box_bounds(space)
            return np.broadcast_to(np.clip(0.0, low, high), actions[~alive].shape)
        return np.full(actions[~alive].shape, int(space.get("start", 0)))


def group_mdp(mdp: Mapping[str, Any], group: Mapping[str, Any]) -> dict[str, Any]:
    """Give the `mdp` part of a design as one agent of a group has it: with the group's spaces in the single fields."""
    names = ("environment_observation_space", "environment_action_space", "observation_space", "action_space")
    return {**mdp, **{name: group[name] for name in names if name in group}}


def flatten_state(transforms: GroupTransforms, state: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give what a central critic sees of states (n, state size): `observe_state`, flat, float32."""
    transforms.alive = None
    return make_flattener({"kind": "box", "shape": [], "dtype": "float32"})(transforms.observe_state(state))


def _choices(group: Mapping[str, Any], transforms: GroupTransforms) -> int | None:
    space = transforms.action_space or group["environment_action_space"]
    return int(space["n"]) if space["kind"] == "discrete" else None


def _as_rows(values: NDArray[Any]) -> NDArray[Any]:
    """Lay (n, agents, …) out as rows (n * agents, …)."""
    return values.reshape(-1, *values.shape[2:])


def _check_legal(name: str, actions: NDArray[Any], mask: NDArray[Any]) -> None:
    legal = np.take_along_axis(mask, actions[..., None].astype(np.int64), axis=2)[..., 0]
    if not legal.all():
        row, agent = (int(place) for place in np.argwhere(~legal)[0])
        message = f"it chose action {actions[row, agent]} for agent {agent} of group {name!r}, which is not legal"
        raise TransformError(message, "act")
