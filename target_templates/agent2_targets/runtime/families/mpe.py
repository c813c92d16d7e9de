"""The MPE environments of mpe2: what they want, their exact time limit and state, and a shorter way through a step."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ..environment import call_factory
from ..failures import BuildError
from ..multi_agent.interface import MultiAgentBatch
from ..multi_agent.parallel import ParallelBatch
from ..multi_agent.spread_twin import SCENARIO, build_spread_twin

BACKEND = "mpe2"
COMPETITIVE = ("simple_adversary", "simple_crypto", "simple_push", "simple_tag", "simple_world_comm")
"""Scenarios whose groups want opposite things; in all others everybody works together."""

SHORT_WAY = ("_execute_world_step", "current_actions", "scenario", "world", "steps", "max_cycles")
"""What the shorter way needs of mpe2's class; none of it is promised to stay."""
BATCHED = "batched"
"""Keyword argument by which a reference asks for the NumPy twin; mpe2 itself never sees it."""


def build(
    module: ModuleType,
    arguments: dict[str, Any],
    count: int,
    limit: int | None,
    *,
    render_mode: str | None = None,
    can_be_twin: bool = False,
) -> MultiAgentBatch:
    """Build a batch of one scenario: mpe2 itself, or its twin in NumPy.

    Args:
        module: module of the scenario, e.g. `mpe2.simple_spread_v3`.
        arguments: keyword arguments of its `parallel_env`.
        count: number of environments.
        limit: time limit in environment steps, the scenario's `max_cycles`; None keeps its own (25).
        render_mode: `rgb_array` where frames are wanted.
        can_be_twin: whether the twin may stand in where the reference asks for it.

    Raises:
        BuildError: the arguments do not fit.
    """
    scenario = module.__name__.rpartition(".")[2]
    is_batched = arguments.pop(BATCHED, False)
    if is_batched and scenario != SCENARIO:
        message = f"{scenario} has no batched twin; only {SCENARIO} has."
        raise BuildError("unknown-arguments", message, f"Leave {BATCHED!r} out.")
    if limit is not None:
        arguments = {**arguments, "max_cycles": limit}
    if is_batched and can_be_twin:
        return build_spread_twin(arguments, count)
    return ParallelBatch(
        lambda: shortened(call_factory(module.raw_env, arguments, render_mode, scenario, None), module, arguments),
        count,
        backend=BACKEND,
        is_cooperative=not scenario.startswith(COMPETITIVE),
        joins_observations=True,  # `state()` is just that, and computes every observation again
    )


def shortened(raw: Any, module: ModuleType, arguments: dict[str, Any]) -> Any:
    """Step the raw environment directly; where it is not built as expected, through PettingZoo's conversion."""
    if all(hasattr(raw, name) for name in SHORT_WAY):
        return Mpe(raw)
    return module.parallel_env(**{**arguments, "render_mode": raw.render_mode})


class Mpe:
    """An environment of mpe2 with all agents acting at once, as a PettingZoo parallel environment.

    mpe2's own `parallel_env` hands each action through three wrappers and the turn-based bookkeeping, which takes as
    long as the physics. This calls the same physics, rewards and observations, once a step; a test holds both equal.

    Args:
        raw: mpe2's `raw_env`.
    """

    def __init__(self, raw: Any) -> None:
        """Read who takes part."""
        self.unwrapped, self.render_mode, self.metadata = raw, raw.render_mode, raw.metadata
        self.possible_agents: list[str] = list(raw.possible_agents)
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        """Give an agent's observation space."""
        return self.unwrapped.observation_space(agent)

    def action_space(self, agent: str) -> Any:
        """Give an agent's action space."""
        return self.unwrapped.action_space(agent)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start an episode."""
        self.unwrapped.reset(seed=seed, options=options)
        self.agents = list(self.possible_agents)
        return self._observe(), dict(self.unwrapped.infos)

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Let all agents act; they all leave together, at the time limit or where the scenario is solved."""
        raw = self.unwrapped
        raw.current_actions = [self._kept(agent, actions[agent]) for agent in self.possible_agents]
        raw._execute_world_step()
        raw.steps += 1
        is_stopped = raw.steps >= raw.max_cycles
        has_ended = not is_stopped and bool(raw.scenario.is_terminal(raw.world))
        if is_stopped or has_ended:
            self.agents = []
        agents = self.possible_agents
        endings, stops = dict.fromkeys(agents, has_ended), dict.fromkeys(agents, is_stopped)
        return self._observe(), dict(raw.rewards), endings, stops, dict(raw.infos)

    def state(self) -> Any:
        """Give all observations as one vector."""
        return self.unwrapped.state()

    def render(self) -> Any:
        """Draw it."""
        return self.unwrapped.render()

    def close(self) -> None:
        """Close it."""
        self.unwrapped.close()

    def _observe(self) -> dict[str, Any]:
        world, scenario = self.unwrapped.world, self.unwrapped.scenario
        return {agent.name: scenario.observation(agent, world).astype(np.float32) for agent in world.agents}

    def _kept(self, agent: str, action: Any) -> Any:
        """Keep a box action within its bounds, as mpe2's wrapper does."""
        if not self.unwrapped.continuous_actions:
            return action
        space = self.unwrapped.action_spaces[agent]
        return np.clip(action, space.low, space.high)
