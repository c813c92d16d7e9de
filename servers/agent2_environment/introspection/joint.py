"""An environment of several agents as one Gymnasium environment: dicts by group, the reward the mean over the agents.

So it is stepped, recorded and repeated by the same code as any other. Sampled actions know no masks; an action that is
not legal is exchanged for one that is, always in the same way.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from agent2_targets.runtime.environment import Adapted, build_environment
from agent2_targets.runtime.multi_agent.building import build_multi_agent, is_multi_agent
from agent2_targets.runtime.multi_agent.interface import Group, Grouped, JointObservation, JointStep, MultiAgentBatch
from agent2_targets.runtime.spaces import box_bounds, describe_space, to_gymnasium

Array = NDArray[Any]
FRAMES_PER_SECOND = 10


class JointEnvironment(gymnasium.Env[dict[str, Array], dict[str, Array]]):
    """A batch of one environment of several agents behind Gymnasium's interface.

    Attributes:
        batch: the batch.
        groups: its groups.
        scramble: called before each reset; the test of seeding uses it to unseed the process's generators.
        seen: what the agents see now.
        before: what they saw before the last step.
        taken: the legal actions of the last step, by group (agents, …).
        last: what the last step gave.
    """

    seen: JointObservation
    before: JointObservation
    last: JointStep

    def __init__(self, batch: MultiAgentBatch) -> None:
        """Put the agents of each group into one space."""
        self.batch, self.groups = batch, batch.layout.groups
        self.observation_space: Any = in_order({group.name: observations_of(group) for group in self.groups})
        self.action_space: Any = in_order({group.name: actions_of(group) for group in self.groups})
        self.metadata = {"render_fps": FRAMES_PER_SECOND}
        self.scramble: Callable[[], None] = _nothing
        self.taken: dict[str, Array] = {}
        self._agents = sum(len(group.agents) for group in self.groups)

    @property
    def unwrapped(self) -> Any:
        """The user's own environment object, where the batch has one; else the batch."""
        return getattr(self.batch, "raw", self.batch)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Array], dict[str, Any]]:
        """Start an episode for all agents."""
        self.scramble()
        self.seen = self.batch.reset([seed])
        return first_row(self.seen.observations), {}

    def step(self, action: Mapping[str, Array]) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        """Step all agents; the reward is the mean over all of them, those that have left counting zero."""
        self.before = self.seen
        self.taken = {group.name: legal_actions(group, action[group.name], self.before) for group in self.groups}
        self.last = self.batch.step({name: part[None] for name, part in self.taken.items()})
        self.seen = self.last.following
        total = sum(float(part.sum()) for part in self.last.original_rewards.values())
        info = {key: float(values[0]) for key, (values, present) in self.last.info.items() if present[0]}
        ended = bool(self.last.terminated[0]), bool(self.last.truncated[0])
        return first_row(self.seen.observations), total / self._agents, *ended, info

    def render(self) -> Any:
        """Draw it.

        Raises:
            RuntimeError: it cannot be drawn.
        """
        frame = self.batch.render(0)
        if frame is None:
            raise RuntimeError("this environment of several agents cannot be drawn")
        return frame

    def close(self) -> None:
        """Close the batch."""
        self.batch.close()


def build_any(reference: dict[str, Any], *, root: str | None, render_mode: str | None = None) -> Adapted:
    """Build an environment of one agent or of several, as one that is stepped like the other.

    Args:
        reference: JSON of an environment reference.
        root: folder against which `file.py` names resolve.
        render_mode: Gymnasium render mode; None draws nothing.

    Returns:
        The environment; of several agents a `JointEnvironment`.

    Raises:
        BuildError: it cannot be built; says why and what to do.
    """
    if not is_multi_agent(reference, root=root):
        return build_environment(reference, root=root, render_mode=render_mode)
    batch = build_multi_agent(reference, 1, root=root, render_mode=render_mode)
    environment = JointEnvironment(batch)
    return Adapted(
        env=environment,
        adaptations=getattr(batch, "adaptations", []),
        max_episode_steps=batch.layout.max_episode_steps,
        observation_space=describe_space(environment.observation_space),
        action_space=describe_space(environment.action_space),
    )


def in_order(spaces: dict[str, gymnasium.Space[Any]]) -> gymnasium.Space[Any]:
    """Make a Dict space that keeps the order of its parts: Gymnasium sorts those of a plain dict."""
    return gymnasium.spaces.Dict(OrderedDict(spaces))


def observations_of(group: Group) -> gymnasium.Space[Any]:
    """Give the space of all observations of a group, a box (agents, …)."""
    space, agents = group.observation_space, len(group.agents)
    low, high = (np.broadcast_to(bound, (agents, *bound.shape)).ravel() for bound in box_bounds(space))
    shape = [agents, *space["shape"]]
    return to_gymnasium({"kind": "box", "shape": shape, "dtype": space["dtype"], "low": low, "high": high})


def actions_of(group: Group) -> gymnasium.Space[Any]:
    """Give the space of all actions of a group: a choice for each agent, or a box (agents, …)."""
    space, agents = group.action_space, len(group.agents)
    if space["kind"] == "discrete":
        return to_gymnasium({"kind": "multi_discrete", "nvec": [space["n"]] * agents})
    low, high = (np.broadcast_to(bound, (agents, *bound.shape)).ravel() for bound in box_bounds(space))
    shape = [agents, *space["shape"]]
    return to_gymnasium({"kind": "box", "shape": shape, "dtype": space["dtype"], "low": low, "high": high})


def legal_actions(group: Group, actions: Array, seen: JointObservation) -> Array:
    """Exchange what is not legal: choice a becomes the legal choice number a, counted round and round.

    Args:
        group: the group.
        actions: (agents, …) environment actions.
        seen: what the agents see, masks included.
    """
    if not group.has_action_mask:
        return actions
    chosen = np.array(actions)
    for index, mask in enumerate(seen.action_masks[group.name][0]):
        if not mask[chosen[index]]:
            legal = np.flatnonzero(mask)
            chosen[index] = legal[chosen[index] % len(legal)]
    return chosen


def first_row(grouped: Grouped) -> dict[str, Array]:
    """Take the only environment out of a batch of one."""
    return {name: part[0] for name, part in grouped.items()}


def _nothing() -> None:
    """Scramble nothing."""
