"""PettingZoo environments for tests: agents that leave, masks in info, unlike spaces, `__all__`, an AEC twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv
from pettingzoo.utils.conversions import parallel_to_aec


class Leaving(ParallelEnv[str, Any, Any]):
    """Runner i leaves at step i + 2; the watcher stays until the end at step 6 (terminal) or `limit` (truncation).

    Runners observe a vector, the watcher a discrete value; a new space object is made at each call, and every dict
    carries `__all__`.
    """

    metadata: dict[str, Any] = {"name": "leaving"}  # noqa: RUF012 — as PettingZoo declares it
    render_mode = None

    def __init__(self, limit: int = 10, **faults: Any) -> None:
        self.possible_agents = ["runner_0", "runner_1", "watcher"]
        self.limit, self.faults = limit, faults

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(3) if agent == "watcher" else spaces.Box(-1, 1, (2,), np.float32)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(-1, 1, (1,), np.float32) if agent == "watcher" else spaces.Discrete(3, start=1)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.generator = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        return self._observe(self.agents), self._infos(self.agents)

    def step(self, actions: dict[str, Any]) -> Any:
        assert set(actions) == set(self.agents), "only the agents that are left act"
        assert all(actions[agent] in (1, 2, 3) for agent in self.agents if agent != "watcher")
        self.steps += 1
        here = list(self.agents)
        endings = {agent: self.steps >= 6 or agent == f"runner_{self.steps - 2}" for agent in here}
        stops = {agent: self.steps >= self.limit and not endings[agent] for agent in here}
        self.agents = [agent for agent in here if not (endings[agent] or stops[agent])]
        original_rewards: dict[str, float] = dict.fromkeys(here, float(self.steps))
        if self.faults.get("nan") == self.steps:
            original_rewards["runner_0"] = float("nan")
        endings["__all__"] = not self.agents
        observations = self._observe(here)
        if self.faults.get("stranger") == self.steps:
            observations["runner_9"] = np.zeros(2, np.float32)
        return observations, original_rewards, endings, stops, self._infos(here)

    def state(self) -> Any:
        if "state" not in self.faults:
            raise NotImplementedError
        if not self.agents:
            raise AttributeError("'NoneType' object has no attribute 'position'")
        return np.full(3, float(self.steps))

    def _observe(self, agents: list[str]) -> dict[str, Any]:
        values = {agent: self.generator.uniform(0.1, 1, 2).astype(np.float32) for agent in agents if agent != "watcher"}
        return values | {"watcher": self.steps % 3}

    def _infos(self, agents: list[str]) -> dict[str, Any]:
        masks = {agent: {"action_mask": [0, 1, self.steps % 2]} for agent in agents if agent != "watcher"}
        return masks | {"watcher": {"distance": 0.5 * self.steps, "name": "x"}}


def parallel_env(**arguments: Any) -> Leaving:
    """Make the parallel one."""
    return Leaving(**arguments)


def one_after_another(**arguments: Any) -> Any:
    """Make its turn-based twin."""
    return parallel_to_aec(Leaving(**arguments))
