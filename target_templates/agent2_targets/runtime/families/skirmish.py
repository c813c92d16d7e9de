"""A battle of two small teams in NumPy, all rows at once: the double of SMAC for tests and for work without a network.

It is not SMAC: its rules are the few below, and its scores compare with nobody else's. Units move one length a step on a
square field, shoot what is in range, and die at no health. The agents' side is steered; each enemy walks to the nearest
of them and shoots it. All chance lies in where the units stand at first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..failures import BuildError, StepFault
from ..multi_agent.grouping import flat_box
from ..multi_agent.interface import Group, Grouped, JointObservation, JointStep, Layout
from .battle_frames import battle_frame

BACKEND, GROUP, LIMIT_STEPS = "skirmish", "ally", 60
TEAM_AT_MOST = 32
HALF_SIZE, SIGHT, WEAPON_RANGE, STRIDE = 8.0, 9.0, 5.0, 1.0
"""Half the field's side, how far units see, shoot and walk a step: lengths."""
DAMAGE, COOLDOWN_STEPS = 0.2, 2
"""Share of full health that a shot takes, and steps until the next one."""
NO_OP, STOP, FIRST_MOVE, FIRST_ATTACK = 0, 1, 2, 6
MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]], dtype=np.float32)
"""Up, down, right, left."""
OWN_ENTRIES, ALLY_ENTRIES, ENEMY_ENTRIES, STATE_ENTRIES = 4, 5, 5, 4


def build(scenario: str, arguments: dict[str, Any], count: int, limit: int | None) -> SkirmishBatch:
    """Build a batch of battles.

    Args:
        scenario: sizes of both teams, e.g. `3v3` or `5v6`.
        arguments: `enemy_damage`: share of full health that an enemy's shot takes (default 0.2).
        count: number of battles.
        limit: time limit in steps; None is 60.

    Raises:
        BuildError: the scenario or an argument is not known.
    """
    sizes = re.fullmatch(r"(\d{1,2})v(\d{1,2})", scenario)
    teams = [int(size) for size in sizes.groups()] if sizes else []
    if not teams or not all(1 <= size <= TEAM_AT_MOST for size in teams):
        message = f"There is no scenario {scenario!r} of skirmish."
        raise BuildError("unknown-id", message, f"Write skirmish:3v3, or other sizes up to {TEAM_AT_MOST}.")
    unknown = [key for key in arguments if key != "enemy_damage"]
    if unknown:
        message = f"skirmish takes no argument {unknown[0]!r}."
        raise BuildError("unknown-arguments", message, "It takes: enemy_damage.")
    return SkirmishBatch(
        teams[0],
        teams[1],
        count,
        enemy_damage=float(arguments.get("enemy_damage", DAMAGE)),
        limit_steps=LIMIT_STEPS if limit is None else limit,
    )


class SkirmishBatch:
    """Battles of one size, as `MultiAgentBatch`.

    Observation of an agent: own health, cooldown and place; of each fellow and of each enemy in sight: 1, place relative
    to it, health, cooldown (all in -1…1, else zeros). State: health, cooldown and place of every unit, and the share of
    the time limit that has passed. Reward, the same for all agents: damage done as a share of the enemies' full health,
    and 1 for a win (all enemies dead, an agent alive).

    Args:
        agents: number of agents.
        enemies: number of enemies.
        count: number of battles.
        enemy_damage: share of full health that an enemy's shot takes.
        limit_steps: time limit, steps.
    """

    def __init__(self, agents: int, enemies: int, count: int, *, enemy_damage: float, limit_steps: int) -> None:
        """Allocate the units; `reset` places them."""
        self.count, self.agents, self.enemies = count, agents, enemies
        self.adaptations: list[str] = []
        units = agents + enemies
        entries = OWN_ENTRIES + ALLY_ENTRIES * (agents - 1) + ENEMY_ENTRIES * enemies
        group = Group(
            name=GROUP,
            agents=tuple(f"{GROUP}_{index}" for index in range(agents)),
            observation_space=flat_box(entries, -1.0, 1.0),
            action_space={"kind": "discrete", "n": FIRST_ATTACK + enemies, "start": 0},
            has_action_mask=True,
        )
        self.layout = Layout(
            groups=(group,),
            state_space=flat_box(STATE_ENTRIES * units + 1, -1.0, 1.0),
            max_episode_steps=limit_steps,
            info_keys=("battle_won",),
            backend=BACKEND,
        )
        self._enemy_damage, self._limit = enemy_damage, limit_steps
        self._positions = np.zeros((count, units, 2), np.float32)
        self._health, self._cooldown = np.zeros((count, units), np.float32), np.zeros((count, units), np.int64)
        self._elapsed, self._steps = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._generators = [np.random.default_rng() for _ in range(count)]
        self._masks = np.zeros((count, agents, FIRST_ATTACK + enemies), dtype=bool)
        self._fellows = np.array([[i for i in range(agents) if i != own] for own in range(agents)], dtype=np.int64)

    def reset(
        self, seeds: Sequence[int | None] | None = None, indices: Sequence[int] | NDArray[Any] | None = None
    ) -> JointObservation:
        """Place both teams anew in these rows, the agents on the left; as `MultiAgentBatch.reset`."""
        rows = np.arange(self.count) if indices is None else np.asarray(indices, dtype=np.int64)
        for slot, row in enumerate(rows):
            seed = None if seeds is None else seeds[slot]
            if seed is not None:
                self._generators[row] = np.random.default_rng(seed)
            spread = self._generators[row].uniform(-1.0, 1.0, self._positions.shape[1:])
            sides = np.repeat([-1.0, 1.0], [self.agents, self.enemies])
            self._positions[row, :, 0] = sides * 0.5 * HALF_SIZE + spread[:, 0]
            self._positions[row, :, 1] = spread[:, 1] * 0.4 * HALF_SIZE
        self._health[rows], self._cooldown[rows], self._elapsed[rows] = 1.0, 0, 0
        return self._show(rows)

    def step(self, actions: Grouped) -> JointStep:
        """Let both sides act at once in every battle; as `MultiAgentBatch.step`.

        Raises:
            StepFault: an action is not legal.
        """
        chosen = np.asarray(actions[GROUP], dtype=np.int64)
        self._check_legal(chosen)
        self._steps += 1
        self._elapsed += 1
        was_alive = self._health > 0
        shots, strides = np.zeros((self.count, *[self.agents + self.enemies] * 2)), np.zeros_like(self._positions)
        self._order_agents(chosen, shots, strides)
        self._order_enemies(was_alive, shots, strides)
        is_ready = (self._cooldown == 0) & was_alive
        shots *= is_ready[:, :, None]
        damage = np.full(self.agents + self.enemies, self._enemy_damage)
        damage[: self.agents] = DAMAGE
        taken = np.minimum(np.einsum("nij,i->nj", shots, damage), self._health)
        has_shot = shots.any(axis=2)
        self._cooldown = np.where(has_shot, COOLDOWN_STEPS, np.maximum(self._cooldown - 1, 0))
        self._health = np.where(self._health - taken > 1e-6, self._health - taken, 0.0).astype(np.float32)
        self._positions = np.clip(self._positions + strides, -HALF_SIZE, HALF_SIZE).astype(np.float32)
        return self._judge(taken[:, self.agents :].sum(axis=1) / self.enemies, was_alive[:, : self.agents])

    def render(self, row: int = 0) -> NDArray[np.uint8]:
        """Draw one battle, (320, 320, 3): agents blue, enemies red."""
        is_ally = np.arange(self.agents + self.enemies) < self.agents
        return battle_frame(self._positions[row], self._health[row], is_ally, -HALF_SIZE, HALF_SIZE)

    def close(self) -> None:
        """Nothing is open."""

    def _check_legal(self, chosen: NDArray[np.int64]) -> None:
        legal = np.take_along_axis(self._masks, chosen[..., None], axis=2)[..., 0]
        if not legal.all():
            row, index = (int(place) for place in np.argwhere(~legal)[0])
            message = f"action {chosen[row, index]} of {GROUP}_{index} is not legal"
            raise StepFault(message, int(self._steps[row]) + 1, row)

    def _order_agents(
        self, chosen: NDArray[np.int64], shots: NDArray[np.float64], strides: NDArray[np.float32]
    ) -> None:
        """Write what the agents do into shots (n, units, units) and strides (n, units, 2)."""
        is_move = (chosen >= FIRST_MOVE) & (chosen < FIRST_ATTACK)
        strides[:, : self.agents][is_move] = STRIDE * MOVES[chosen[is_move] - FIRST_MOVE]
        rows, shooters = np.nonzero(chosen >= FIRST_ATTACK)
        shots[rows, shooters, self.agents + chosen[rows, shooters] - FIRST_ATTACK] = 1.0

    def _order_enemies(
        self, was_alive: NDArray[np.bool_], shots: NDArray[np.float64], strides: NDArray[np.float32]
    ) -> None:
        """Let each enemy shoot the nearest agent, or walk to it where it is out of range."""
        apart = self._positions[:, None, : self.agents] - self._positions[:, self.agents :, None]
        distances = np.where(was_alive[:, None, : self.agents], np.linalg.norm(apart, axis=3), np.inf)
        nearest = distances.argmin(axis=2)
        distance = np.take_along_axis(distances, nearest[..., None], axis=2)[..., 0]
        can_act = was_alive[:, self.agents :] & np.isfinite(distance)
        rows, enemies = np.nonzero(can_act & (distance <= WEAPON_RANGE))
        shots[rows, self.agents + enemies, nearest[rows, enemies]] = 1.0
        rows, enemies = np.nonzero(can_act & (distance > WEAPON_RANGE))
        towards = apart[rows, enemies, nearest[rows, enemies]] / distance[rows, enemies, None]
        strides[rows, self.agents + enemies] = STRIDE * towards

    def _judge(self, damage_share: NDArray[np.float64], was_alive: NDArray[np.bool_]) -> JointStep:
        """Say who has won, and what it is worth."""
        allies_left: NDArray[np.bool_] = np.any(self._health[:, : self.agents] > 0, axis=1)
        enemies_left: NDArray[np.bool_] = np.any(self._health[:, self.agents :] > 0, axis=1)
        is_won = allies_left & ~enemies_left
        terminated = ~(allies_left & enemies_left)
        truncated = ~terminated & (self._elapsed >= self._limit)
        original_rewards = np.where(was_alive, (damage_share + is_won)[:, None], 0.0)
        info = {"battle_won": (is_won.astype(np.float64), np.ones(self.count, dtype=bool))}
        following = self._show(np.arange(self.count))
        return JointStep(following, {GROUP: original_rewards}, terminated, truncated, info)

    def _show(self, rows: NDArray[np.int64]) -> JointObservation:
        """Give observations, masks and state of these rows; the masks are kept for the next step."""
        positions, health = self._positions[rows], self._health[rows]
        cooldown = (self._cooldown[rows] / COOLDOWN_STEPS).astype(np.float32)
        alive = health > 0
        apart = positions[:, None, :] - positions[:, : self.agents, None]
        distances = np.linalg.norm(apart, axis=3)
        self._masks[rows] = self._legal(positions, alive, distances)
        seen = (distances <= SIGHT) & alive[:, None, :]
        others = np.concatenate(
            [
                seen[..., None],
                apart / SIGHT,
                np.broadcast_to(health[:, None, :, None], (*seen.shape, 1)),
                np.broadcast_to(cooldown[:, None, :, None], (*seen.shape, 1)),
            ],
            axis=3,
            dtype=np.float32,
        )
        others *= seen[..., None]
        units = np.concatenate([health[..., None], cooldown[..., None], positions / HALF_SIZE], axis=2)
        units = (units * alive[..., None]).astype(np.float32)
        own, flat = units[:, : self.agents], (len(rows), self.agents, -1)
        fellows = others[:, np.arange(self.agents)[:, None], self._fellows].reshape(flat)
        observations = np.concatenate([own, fellows, others[:, :, self.agents :].reshape(flat)], axis=2)
        observations *= alive[:, : self.agents, None]
        passed = (self._elapsed[rows, None] / self._limit).astype(np.float32)
        state = np.concatenate([units.reshape(len(rows), -1), passed], axis=1)
        masks = {GROUP: self._masks[rows].copy()}
        return JointObservation({GROUP: observations}, masks, {GROUP: alive[:, : self.agents]}, state)

    def _legal(
        self, positions: NDArray[np.float32], alive: NDArray[np.bool_], distances: NDArray[np.float32]
    ) -> NDArray[np.bool_]:
        """Say which actions are legal (rows, agents, choices): no-op for the dead only, no step off the field."""
        lives = alive[:, : self.agents]
        masks = np.zeros((*lives.shape, FIRST_ATTACK + self.enemies), dtype=bool)
        masks[..., NO_OP], masks[..., STOP] = ~lives, lives
        after = positions[:, : self.agents, None] + STRIDE * MOVES
        masks[..., FIRST_MOVE:FIRST_ATTACK] = (np.abs(after) <= HALF_SIZE).all(axis=3)
        in_range = (distances[:, :, self.agents :] <= WEAPON_RANGE) & alive[:, None, self.agents :]
        masks[..., FIRST_ATTACK:] = in_range
        masks[..., STOP:] &= lives[..., None]
        return masks
