"""A PettingZoo environment with one fault, chosen by name; never imported by a test, only inspected."""

import sys
from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)


class Odd(ParallelEnv[str, Any, Any]):
    """Three agents in two groups, 40 steps an episode."""

    metadata = {"name": "odd"}  # noqa: RUF012 — as PettingZoo declares it

    def __init__(self, fault: str = ""):
        self.fault = fault
        self.possible_agents, self.agents = ["north_0", "north_1", "south_0"], []
        self.choices = spaces.MultiDiscrete([2, 2]) if fault == "several choices" else spaces.Discrete(2)

    def observation_space(self, agent: str):
        return BOX

    def action_space(self, agent: str):
        return self.choices

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None):
        self.agents, self.steps = list(self.possible_agents), 0
        self.generator = np.random if self.fault == "global generator" else np.random.default_rng(seed)
        return self.observe(), {agent: {} for agent in self.agents}

    def observe(self):
        shown = {agent: self.generator.uniform(-1, 1, 2).astype(np.float32) for agent in self.agents}
        if self.fault == "out of bounds":
            shown = {agent: 3 * value for agent, value in shown.items()}
        if self.fault == "float64":
            shown = {agent: value.astype(float) for agent, value in shown.items()}
        if self.steps == 20:
            odd = {"shape": np.zeros(3, np.float32), "nan observation": np.full(2, np.nan, np.float32)}
            if self.fault in odd:
                shown["north_0"] = odd[self.fault]
            if self.fault == "stranger":
                shown["west_9"] = np.zeros(2, np.float32)
        return shown

    def step(self, actions: dict[str, Any]):
        self.steps += 1
        if self.steps == 20 and self.fault == "exit":
            sys.exit(0)
        if self.steps == 20 and self.fault == "exception":
            raise RuntimeError("the north wall is gone")
        if self.fault == "print":
            print("stepping")
        agents, is_over = self.agents, self.steps >= 40
        original_rewards = {agent: float(actions[agent] == 1) for agent in agents}
        if self.steps == 37 and self.fault == "nan reward":
            original_rewards["north_1"] = float("nan")
        shown = self.observe()
        if is_over:
            self.agents = []
        return (
            shown,
            original_rewards,
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, is_over),
            {a: {} for a in agents},
        )


def parallel_env(**arguments: str):
    """Make one."""
    return Odd(**arguments)
