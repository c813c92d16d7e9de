"""What a PettingZoo environment says of itself: its agents and their spaces, its state, its time limit, its measures."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batch import Info, number_or_nan
from ..failures import BuildError
from ..spaces import describe_space
from .grouping import ACTION_MASK, AgentSpaces, read_spaces
from .interface import Group

ALL = "__all__"
"""Key that environments in RLlib's manner put beside their agents."""
LIMIT_NAMES = ("max_cycles", "max_episode_steps", "_max_episode_steps", "max_steps")


def read_members(environment: Any, infos: dict[Any, Any]) -> list[AgentSpaces]:
    """Read the spaces of all agents of a parallel environment that was reset.

    Raises:
        BuildError: it names no agents, or an agent's space cannot be used.
    """
    agents = list(getattr(environment, "possible_agents", None) or getattr(environment, "agents", ()))
    if not agents:
        message = "The environment names no agents: neither possible_agents nor agents."
        raise BuildError("no-agents", message, "Set self.possible_agents to the list of all agents' ids.")
    return [
        read_spaces(
            agent,
            environment.observation_space(agent),
            environment.action_space(agent),
            has_mask=ACTION_MASK in (infos.get(agent) or {}),
        )
        for agent in agents
    ]


def read_state(environment: Any) -> NDArray[np.float32] | None:
    """Give the environment's global state as a vector, or None where it has none of a fixed size."""
    state_method = getattr(environment, "state", None)
    if not callable(state_method):
        return None
    with contextlib.suppress(Exception):  # PettingZoo's own default raises NotImplementedError, others what they like
        described = describe_space(getattr(environment, "state_space", None))
        state = np.asarray(state_method())
        if state.dtype.kind in "fiub" and (described["kind"] != "box" or tuple(described["shape"]) == state.shape):
            return np.ravel(state).astype(np.float32)
    return None


def own_limit(environment: Any) -> int | None:
    """Find the time limit that an environment names itself, environment steps."""
    unwrapped = getattr(environment, "unwrapped", environment)
    for owner in (environment, unwrapped, getattr(unwrapped, "aec_env", None)):
        for name in LIMIT_NAMES:
            value = getattr(getattr(owner, "unwrapped", owner), name, None)
            if isinstance(value, int) and value > 0:
                return value
    return None


def numeric_keys(infos: dict[Any, Any]) -> list[str]:
    """List the keys of the agents' infos whose values are numbers."""
    items: list[tuple[Any, Any]] = [item for info in infos.values() if info for item in info.items()]
    found = {
        str(key): None
        for key, value in items
        if key != ACTION_MASK and isinstance(value, bool | int | float | np.number | np.bool_)
    }
    return list(found)


def collect(info: Info, infos: dict[Any, Any], row: int) -> None:
    """Write one environment's measures: the mean over the agents that have the key."""
    for key, (values, present) in info.items():
        found = [number_or_nan(one[key]) for one in infos.values() if one and key in one]
        if found:
            values[row], present[row] = sum(found) / len(found), True


def makes_new_spaces(environment: Any, agent: Any) -> bool:
    """Tell whether an environment makes a new space object at each call, so that seeding one has no effect."""
    calls = (environment.observation_space, environment.action_space)
    return any(call(agent) is not call(agent) for call in calls)


def wants_the_same(environment: Any, groups: Sequence[Group]) -> bool:
    """Tell whether all agents want the same: as the environment says, else whether they are one group and no game."""
    metadata: dict[str, Any] = dict(getattr(environment, "metadata", None) or {})
    takes_turns = not metadata.get("is_parallelizable", True)
    return bool(metadata.get("is_cooperative", len(groups) == 1 and not takes_turns))
