"""Which agents of a PettingZoo environment belong together: equal spaces and a common prefix make a group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..failures import BuildError
from ..spaces import SpaceDict, describe_space, flat_size
from .interface import Group

OBSERVATION, ACTION_MASK = "observation", "action_mask"
"""Keys of an observation that brings its mask along, as PettingZoo's own games write it."""


@dataclass(frozen=True, kw_only=True)
class Seat:
    """One agent's place in the arrays, and how to translate for it.

    Attributes:
        agent: its id as the environment knows it; not always text.
        group: name of its group.
        index: its place within the group.
        own_space: its own observation space, without the mask.
        is_flattened: whether observations become float32 vectors, because its own space is no box.
        has_mask: whether some actions are not always legal.
        is_wrapped: whether its observations are `{"observation": …, "action_mask": …}`.
        start: the environment's number of the policy's choice 0; None for box actions.
    """

    agent: Any
    group: str
    index: int
    own_space: SpaceDict
    is_flattened: bool
    has_mask: bool
    is_wrapped: bool
    start: int | None


@dataclass(frozen=True, kw_only=True)
class AgentSpaces:
    """What one agent sees and does, as the environment declares it.

    Attributes:
        agent: its id as the environment knows it.
        own_space: its observation space, without the mask.
        action_space: its action space.
        has_mask: whether some actions are not always legal.
        is_wrapped: whether its observations are `{"observation": …, "action_mask": …}`.
    """

    agent: Any
    own_space: SpaceDict = field(repr=False)
    action_space: SpaceDict
    has_mask: bool
    is_wrapped: bool


def read_spaces(agent: Any, observation_space: Any, action_space: Any, has_mask: bool) -> AgentSpaces:
    """Read one agent's Gymnasium spaces.

    Args:
        agent: its id.
        observation_space: its observation space; `{"observation": …, "action_mask": …}` is taken apart.
        action_space: its action space.
        has_mask: whether its info brings a mask.

    Raises:
        BuildError: the action space is neither discrete nor a box, or the observations cannot be used.
    """
    own_space, described = describe_space(observation_space), describe_space(action_space)
    is_wrapped = own_space["kind"] == "dict" and set(own_space["spaces"]) == {OBSERVATION, ACTION_MASK}
    if is_wrapped:
        own_space = own_space["spaces"][OBSERVATION]
    if described["kind"] not in ("discrete", "box"):
        message = (
            f"The action space of agent {agent} is a {described['kind']} space; only discrete and box can be used."
        )
        raise BuildError("multi-agent-action-space", message, "Give its agents one discrete choice, or a box.")
    try:
        flat_size(own_space)
    except ValueError as error:
        message = f"The observation space of agent {agent} cannot be used: {error}"
        raise BuildError("multi-agent-observation-space", message, "Observe boxes and discrete values.") from error
    is_discrete = described["kind"] == "discrete"
    return AgentSpaces(
        agent=agent,
        own_space=own_space,
        action_space=described,
        has_mask=is_discrete and (has_mask or is_wrapped),
        is_wrapped=is_wrapped,
    )


def form_groups(members: Sequence[AgentSpaces]) -> tuple[tuple[Group, ...], tuple[Seat, ...]]:
    """Put agents of equal spaces and equal prefix into one group.

    Args:
        members: the agents in the environment's order.

    Returns:
        The groups in the order of their first agents, and the agents' seats in the environment's order.
    """
    gathered: dict[str, list[AgentSpaces]] = {}
    for member in members:
        gathered.setdefault(_group_name(member, gathered), []).append(member)
    groups: list[Group] = []
    seats: dict[int, Seat] = {}
    for name, agents in gathered.items():
        groups.append(_group(name, agents))
        for index, one in enumerate(agents):
            seats[id(one)] = _seat(one, name, index)
    return tuple(groups), tuple(seats[id(member)] for member in members)


def prefix(agent: Any) -> str:
    """Give an agent's name without its number: `adversary` of `adversary_0`; `agent` of a bare number."""
    return re.sub(r"[\W_]*\d+$", "", str(agent)) or "agent"


def _group_name(member: AgentSpaces, gathered: dict[str, list[AgentSpaces]]) -> str:
    """Name the group that fits; agents of one prefix but other spaces get a numbered name of their own."""
    stem, number = prefix(member.agent), 1
    while True:
        name = stem if number == 1 else f"{stem}_{number}"
        present = gathered.get(name)
        if present is None or _are_alike(present[0], member):
            return name
        number += 1


def _are_alike(one: AgentSpaces, other: AgentSpaces) -> bool:
    return (one.own_space, one.action_space, one.has_mask) == (other.own_space, other.action_space, other.has_mask)


def _group(name: str, agents: Sequence[AgentSpaces]) -> Group:
    first = agents[0]
    observation = first.own_space if _is_box(first) else flat_box(flat_size(first.own_space))
    action = first.action_space
    return Group(
        name=name,
        agents=tuple(str(one.agent) for one in agents),
        observation_space=observation,
        action_space={**action, "start": 0} if action["kind"] == "discrete" else action,
        has_action_mask=first.has_mask,
    )


def _seat(member: AgentSpaces, group: str, index: int) -> Seat:
    return Seat(
        agent=member.agent,
        group=group,
        index=index,
        own_space=member.own_space,
        is_flattened=not _is_box(member),
        has_mask=member.has_mask,
        is_wrapped=member.is_wrapped,
        start=member.action_space.get("start", 0) if member.action_space["kind"] == "discrete" else None,
    )


def _is_box(member: AgentSpaces) -> bool:
    return member.own_space["kind"] == "box"


def flat_box(size: int, low: float | None = None, high: float | None = None) -> SpaceDict:
    """Describe a float32 vector; a bound of None is infinite."""
    return {"kind": "box", "shape": [size], "dtype": "float32", "low": low, "high": high}
