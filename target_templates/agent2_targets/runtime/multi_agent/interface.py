"""What every environment of several agents looks like to training, evaluation and the delivered agent.

Agents of equal spaces form a *group*; a single agent is a group of one. Everything is an array with the environments on
the first axis and the agents of a group, in their fixed order, on the second. An agent that has left keeps its place:
its observation is zeros, its reward 0, `alive` is False and its action is ignored (where there are masks, exactly one
action is legal for it, the no-op). An episode ends for all agents together: when every agent has terminated or been
truncated. Nothing is reset on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..batch import Info
from ..spaces import SpaceDict

Grouped = Mapping[str, NDArray[Any]]
"""By the name of a group: an array (n, agents of the group, …)."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Agents of equal spaces.

    Attributes:
        name: its name, e.g. `adversary`; the agents' common prefix where they have one.
        agents: its agents' ids as text, in the order of the second axis.
        observation_space: the space of one agent's observation, a box.
        action_space: the space of one agent's action: discrete, or a box.
        has_action_mask: whether some actions are not always legal (discrete actions only).
    """

    name: str
    agents: tuple[str, ...]
    observation_space: SpaceDict
    action_space: SpaceDict
    has_action_mask: bool = False


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Who takes part in an environment.

    Attributes:
        groups: the groups, in the order of their first agents.
        state_space: the true global state, a float32 box (state size,); what only training may see.
        max_episode_steps: time limit, environment steps.
        is_cooperative: whether all agents want the same: every agent's reward belongs to one side.
        info_keys: numeric measures of an episode that `info` holds, e.g. `battle_won`.
        backend: what simulates it, e.g. `mpe2`, `smax`, `skirmish`; stands beside every score.
    """

    groups: tuple[Group, ...]
    state_space: SpaceDict
    max_episode_steps: int
    is_cooperative: bool = True
    info_keys: tuple[str, ...] = ()
    backend: str = ""

    def group(self, name: str) -> Group:
        """Find a group by its name.

        Raises:
            KeyError: there is none of that name.
        """
        return {group.name: group for group in self.groups}[name]


class JointObservation(NamedTuple):
    """What n environments show."""

    observations: Grouped
    """By group: (n, agents, *shape), in the group's dtype; zeros for agents that have left."""
    action_masks: Grouped
    """By group with masks: (n, agents, choices) bool, True is legal, at least one per agent. Groups without: absent."""
    alive: Grouped
    """By group: (n, agents) bool."""
    state: NDArray[np.float32]
    """Global state (n, state size)."""


class JointStep(NamedTuple):
    """What one step of n environments gave."""

    following: JointObservation
    """The true next observations: of a finished episode its last ones, never the first of the next."""
    original_rewards: Grouped
    """By group: the environment's own rewards (n, agents) float64."""
    terminated: NDArray[np.bool_]
    """(n,): the episode ended in a terminal state (for agents that left before, it had ended already)."""
    truncated: NDArray[np.bool_]
    """(n,): the episode ended by its time limit."""
    info: Info
    """Per key of `Layout.info_keys` and of those asked for: values (n,) float64 and whether present (n,)."""


class MultiAgentBatch(Protocol):
    """n environments of several agents, stepped together."""

    layout: Layout
    count: int

    def reset(
        self, seeds: Sequence[int | None] | None = None, indices: Sequence[int] | NDArray[Any] | None = None
    ) -> JointObservation:
        """Start new episodes in these rows (None: all); gives the observations of these rows only, in their order."""
        ...

    def step(self, actions: Grouped) -> JointStep:
        """Step every environment once.

        Args:
            actions: by group: environment actions, (n, agents) int64 choices counted from 0 or (n, agents, *shape).

        Raises:
            NonFinite: an observation or a reward is NaN or infinite.
            StepFault: the environment broke the interface.
        """
        ...

    def render(self, row: int = 0) -> NDArray[np.uint8] | None:
        """Draw one environment as an image (height, width, 3), or None where it cannot be drawn."""
        ...

    def close(self) -> None:
        """Close every environment."""
        ...
