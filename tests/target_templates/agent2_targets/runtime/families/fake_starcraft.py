"""A class with the methods of smacv2's wrapper, oddities included, and no StarCraft II behind it."""

from __future__ import annotations

from typing import Any

import numpy as np

AGENTS, ACTIONS, LIMIT = 2, 7, 6


class FakeStarCraft:
    """Agent 1 dies at step 2; the battle is won, lost, cut off or runs into its limit, as `fate` says."""

    def __init__(self, fate: str = "limit") -> None:
        self.fate, self.steps, self.resets, self.is_closed = fate, 0, 0, False

    def get_env_info(self) -> dict[str, int]:
        return {"state_shape": 5, "obs_shape": 4, "n_actions": ACTIONS, "n_agents": AGENTS, "episode_limit": LIMIT}

    def reset(self) -> Any:
        self.steps, self.resets = 0, self.resets + 1
        self.is_connected = True
        return None if self.resets == 1 else (self.get_obs(), self.get_state())

    def get_obs(self) -> list[Any]:
        assert self.is_connected
        return [np.full(4, self.steps + index + 1.0) for index in range(AGENTS)]

    def get_state(self) -> Any:
        assert self.is_connected
        return np.full(5, float(self.steps))

    def get_avail_actions(self) -> Any:
        raise ValueError("too many values to unpack (expected 2)")

    def get_avail_agent_actions(self, index: int) -> list[int]:
        is_dead = (index == 1 and self.steps >= 2) or (self.fate == "lost" and self.steps >= 3)
        return [1, 0, 0, 0, 0, 0, 0] if is_dead else [0, 1, 1, 1, 0, 0, 1]

    def step(self, actions: list[int]) -> tuple[float, bool, dict[str, Any]]:
        for index, action in enumerate(actions):
            assert isinstance(action, int)
            assert self.get_avail_agent_actions(index)[action] == 1, "agent cannot perform this action"
        self.steps += 1
        if self.fate == "cut" and self.steps == 3:
            self.is_connected = False
            return 0, True, {}
        is_over = self.steps >= LIMIT or (self.fate in ("won", "lost") and self.steps >= 3)
        dead = AGENTS if self.fate == "lost" and self.steps >= 3 else int(self.steps >= 2)
        info = {"battle_won": self.fate == "won" and self.steps >= 3, "dead_allies": dead, "dead_enemies": 0}
        return 1.5, is_over, info

    def get_stats(self) -> Any:
        raise ZeroDivisionError("division by zero")

    def close(self) -> None:
        self.is_closed = True
