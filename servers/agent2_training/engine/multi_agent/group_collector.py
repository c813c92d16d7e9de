"""Roll out all groups of an environment at once: one forward pass a group and step, whatever the number of agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from agent2_targets.runtime.multi_agent.interface import Group, JointObservation, MultiAgentBatch
from agent2_training.engine.collectors import sample_choices, sample_gaussian
from agent2_training.engine.multi_agent.group_ppo import GroupRollout, masked


def actor_size(group: Group) -> int:
    """Count the entries that a group's actor sees: its flat observation and its one-hot identity."""
    return int(np.prod(group.observation_space["shape"], dtype=np.int64)) + len(group.agents)


def critic_size(batch: MultiAgentBatch, group: Group, *, is_central: bool) -> int:
    """Count the entries that a group's critic sees."""
    state = int(batch.layout.state_space["shape"][0]) + len(group.agents)
    return state if is_central else actor_size(group)


class GroupCollector:
    """Rolls out T steps of n environments for every group.

    Args:
        batch: the environments.
        actors: by group: what `build_group_ppo` takes.
        is_central: whether critics see the true state (MAPPO), else their own observation (IPPO).
        seed: seed of the environments.
        on_step: called after each step.

    Attributes:
        env_steps: environment steps taken.
        finished: of each finished episode its mean return over agents, in the order of their ends.
    """

    def __init__(
        self,
        batch: MultiAgentBatch,
        actors: Mapping[str, nn.Module],
        *,
        is_central: bool,
        seed: int,
        on_step: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the first episodes."""
        self._batch, self._actors, self._is_central, self._on_step = batch, actors, is_central, on_step
        seeds = np.random.SeedSequence(seed).generate_state(batch.count)
        self._joint = batch.reset([int(one >> 1) for one in seeds])
        self._agents = sum(len(group.agents) for group in batch.layout.groups)
        self._returns = np.zeros(batch.count)
        self.env_steps, self.finished = 0, list[float]()

    def collect(self, steps: int) -> dict[str, GroupRollout]:
        """Take `steps` steps of every environment; give each group's rollout, slots first."""
        layout, columns = (
            self._batch.layout,
            {group.name: list[dict[str, Any]]() for group in self._batch.layout.groups},
        )
        for _ in range(steps):
            before = self._joint
            inputs = {group.name: self._inputs(group, before) for group in layout.groups}
            choices = {group.name: self._choose(group, before, inputs[group.name][0]) for group in layout.groups}
            step = self._batch.step(
                {group.name: environment_actions(group, choices[group.name]) for group in layout.groups}
            )
            self.env_steps += self._batch.count
            shaped = self._shaped_rewards(before, step.original_rewards)
            for group in layout.groups:
                column = self._column(group, before, step, shaped[group.name])
                column["observations"], column["critic_inputs"] = inputs[group.name]
                column["actions"] = choices[group.name].reshape(-1, *choices[group.name].shape[2:])
                columns[group.name].append(column)
            self._go_on(step)
            self._on_step()
        return {name: _joined(parts) for name, parts in columns.items()}

    def _inputs(self, group: Group, joint: JointObservation) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Give what actor and critic see, (slots, size) each."""
        agents, count = len(group.agents), self._batch.count
        identity = np.broadcast_to(np.eye(agents, dtype=np.float32), (count, agents, agents))
        own = joint.observations[group.name].reshape(count, agents, -1)
        seen = np.concatenate([own, identity], axis=2, dtype=np.float32, casting="same_kind").reshape(
            count * agents, -1
        )
        if not self._is_central:
            return seen, seen
        state = np.broadcast_to(joint.state[:, None], (count, agents, joint.state.shape[1]))
        return seen, np.concatenate([state, identity], axis=2).reshape(count * agents, -1)

    def _choose(self, group: Group, joint: JointObservation, seen: NDArray[np.float32]) -> NDArray[Any]:
        with torch.no_grad():
            output = self._actors[group.name](torch.from_numpy(seen))
            if group.action_space["kind"] == "discrete":
                masks = joint.action_masks.get(group.name)
                legal = None if masks is None else torch.from_numpy(masks.reshape(len(seen), -1))
                action = sample_choices(masked(output, legal)).numpy()
            else:
                action = sample_gaussian(output).numpy()
        return action.reshape(self._batch.count, len(group.agents), *action.shape[1:])

    def _shaped_rewards(
        self, before: JointObservation, original: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Give a team its mean over the members still there, (n, agents) by group; rivals each their own."""
        if not self._batch.layout.is_cooperative:
            return dict(original)
        present = np.concatenate([before.alive[name] for name in original], axis=1)
        total = np.concatenate(list(original.values()), axis=1).sum(axis=1)
        mean = total / np.maximum(1, present.sum(axis=1))
        return {name: np.broadcast_to(mean[:, None], part.shape) for name, part in original.items()}

    def _column(self, group: Group, before: JointObservation, step: Any, shaped: NDArray[Any]) -> dict[str, Any]:
        """Give what one step adds to a group's rollout, (slots, …) each."""
        agents, layout = len(group.agents), self._batch.layout
        acting = before.alive[group.name]
        terminated, truncated = np.repeat(step.terminated, agents), np.repeat(step.truncated, agents)
        if not layout.is_cooperative:  # who leaves gets nothing more; a team goes on without its member
            terminated = terminated | ((acting & ~step.following.alive[group.name]).ravel() & ~truncated)
        following, critic_following = self._inputs(group, step.following)
        masks = before.action_masks.get(group.name)
        column = {
            "following": following, "critic_following": critic_following, "shaped_rewards": shaped.ravel(),
            "terminated": terminated, "truncated": truncated, "acting": acting.ravel(),
            "valued": np.ones(acting.size, dtype=bool) if layout.is_cooperative else acting.ravel(),
        }  # fmt: skip
        return column if masks is None else {**column, "masks": masks.reshape(acting.size, -1).copy()}

    def _go_on(self, step: Any) -> None:
        """Count returns and start new episodes where one ended."""
        self._returns += sum(part.sum(axis=1) for part in step.original_rewards.values()) / self._agents
        ended = np.flatnonzero(step.terminated | step.truncated)
        self._joint = step.following
        if not len(ended):
            return
        self.finished.extend(float(one) for one in self._returns[ended])
        self._returns[ended] = 0.0
        self._joint = with_rows(step.following, ended, self._batch.reset(None, ended))


def environment_actions(group: Group, action: NDArray[Any]) -> NDArray[Any]:
    """Stretch policy actions in [-1, 1] to the environment's box; choices stay as they are."""
    space = group.action_space
    if space["kind"] == "discrete":
        return action
    low, high = np.asarray(space["low"], np.float32), np.asarray(space["high"], np.float32)
    return (low + (np.clip(action, -1.0, 1.0) + 1.0) / 2.0 * (high - low)).astype(np.float32)


def with_rows(joint: JointObservation, rows: NDArray[np.int64], first: JointObservation) -> JointObservation:
    """Copy a joint observation with some environments' rows replaced by their first observations."""

    def replaced(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        copy = old.copy()
        copy[rows] = new
        return copy

    observations = {name: replaced(part, first.observations[name]) for name, part in joint.observations.items()}
    masks = {name: replaced(part, first.action_masks[name]) for name, part in joint.action_masks.items()}
    alive = {name: replaced(part, first.alive[name]) for name, part in joint.alive.items()}
    return JointObservation(observations, masks, alive, replaced(joint.state, first.state))


def _joined(parts: list[dict[str, Any]]) -> GroupRollout:
    stacked: dict[str, Any] = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
    stacked.setdefault("masks", None)
    return GroupRollout(**stacked)
