"""simple_spread of mpe2 in NumPy, all rows at once: the same arithmetic in the same order, for training only.

Its physics, rewards and random starts are those of mpe2 1.1.1 (`mpe2/_mpe_utils/core.py`, `simple_spread.py`; MIT), to
the last bit as far as the tests see. Scores are nevertheless always taken on mpe2 itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..failures import BuildError
from .grouping import flat_box
from .interface import Group, Grouped, JointObservation, JointStep, Layout
from .joining import concatenated

BACKEND, GROUP, SCENARIO = "mpe2-twin", "agent", "simple_spread_v3"
STEP_SECONDS, DAMPING, SENSITIVITY = 0.1, 0.25, 5.0
CONTACT_FORCE, CONTACT_MARGIN, CONTACT_DISTANCE = 1e2, 1e-3, 0.3
"""Collisions push with this force from this distance on: twice the agents' radius of 0.15."""
PUSHES = np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]], dtype=np.float64)
"""By discrete action: nothing, left, right, down, up."""
KNOWN = ("N", "local_ratio", "max_cycles", "continuous_actions", "dynamic_rescaling")


def build_spread_twin(arguments: dict[str, Any], count: int) -> SpreadTwin:
    """Build the twin from the keyword arguments of `simple_spread_v3.parallel_env`.

    Raises:
        BuildError: an argument is not known to the twin.
    """
    unknown = [key for key in arguments if key not in KNOWN]
    if unknown:
        message = f"The batched twin of {SCENARIO} knows no argument {unknown[0]!r}."
        raise BuildError("unknown-arguments", message, f"It knows {', '.join(KNOWN)}; leave `batched` out for others.")
    return SpreadTwin(
        count,
        agents=int(arguments.get("N", 3)),
        local_ratio=float(arguments.get("local_ratio", 0.5)),
        limit_steps=int(arguments.get("max_cycles", 25)),
        is_continuous=bool(arguments.get("continuous_actions", False)),
    )


class SpreadTwin:
    """Agents that are to cover as many landmarks without running into each other, as `MultiAgentBatch`.

    Args:
        count: number of environments.
        agents: number of agents, and of landmarks.
        local_ratio: weight of an agent's own collisions; the rest is the weight of the uncovered distances.
        limit_steps: time limit, steps.
        is_continuous: whether actions are boxes (5,) in 0…1 instead of one of five choices.
    """

    def __init__(self, count: int, *, agents: int, local_ratio: float, limit_steps: int, is_continuous: bool) -> None:
        """Allocate; `reset` places agents and landmarks."""
        self.count, self.agents = count, agents
        self.adaptations: list[str] = []
        box = {"kind": "box", "shape": [5], "dtype": "float32", "low": 0.0, "high": 1.0}
        size = 4 + 2 * agents + 4 * (agents - 1)
        group = Group(
            name=GROUP,
            agents=tuple(f"{GROUP}_{index}" for index in range(agents)),
            observation_space=flat_box(size),
            action_space=box if is_continuous else {"kind": "discrete", "n": 5, "start": 0},
        )
        self.layout = Layout(
            groups=(group,), state_space=flat_box(size * agents), max_episode_steps=limit_steps, backend=BACKEND
        )
        self._local_ratio, self._limit, self._is_continuous = local_ratio, limit_steps, is_continuous
        self._positions, self._velocities = np.zeros((count, agents, 2)), np.zeros((count, agents, 2))
        self._landmarks, self._elapsed = np.zeros((count, agents, 2)), np.zeros(count, np.int64)
        self._generators = [np.random.default_rng() for _ in range(count)]
        self._others = np.array([[i for i in range(agents) if i != own] for own in range(agents)], dtype=np.int64)

    def reset(
        self, seeds: Sequence[int | None] | None = None, indices: Sequence[int] | NDArray[Any] | None = None
    ) -> JointObservation:
        """Place agents and landmarks anew in these rows, as mpe2 does from the same seeds."""
        rows = np.arange(self.count) if indices is None else np.asarray(indices, dtype=np.int64)
        for slot, row in enumerate(rows):
            seed = None if seeds is None else seeds[slot]
            if seed is not None:
                self._generators[row] = np.random.default_rng(seed)
            places = self._generators[row].uniform(-1, 1, (2 * self.agents, 2))
            self._positions[row], self._landmarks[row] = places[: self.agents], places[self.agents :]
        self._velocities[rows], self._elapsed[rows] = 0.0, 0
        return self._show(rows)

    def step(self, actions: Grouped) -> JointStep:
        """Push, collide, move, and judge, in mpe2's order; as `MultiAgentBatch.step`."""
        forces = self._forces(actions[GROUP])
        self._positions = self._positions + self._velocities * STEP_SECONDS
        self._velocities = self._velocities * (1 - DAMPING) + forces * STEP_SECONDS
        self._elapsed += 1
        truncated = self._elapsed >= self._limit
        following = self._show(np.arange(self.count))
        return JointStep(following, {GROUP: self._original_rewards()}, np.zeros(self.count, dtype=bool), truncated, {})

    def render(self, row: int = 0) -> None:
        """Draw nothing: frames come from mpe2."""

    def close(self) -> None:
        """Nothing is open."""

    def _forces(self, actions: NDArray[Any]) -> NDArray[np.float64]:
        """Add what agents want and what collisions do, pair after pair: (n, agents, 2)."""
        if self._is_continuous:
            kept = np.clip(actions, 0, 1)
            pushes = np.stack([kept[..., 2] - kept[..., 1], kept[..., 4] - kept[..., 3]], axis=-1)
            forces = pushes.astype(np.float64) * SENSITIVITY  # the difference is float32 in mpe2 too
        else:
            forces = PUSHES[actions] * SENSITIVITY
        for one in range(self.agents):
            for other in range(one + 1, self.agents):
                apart = self._positions[:, one] - self._positions[:, other]
                distance = np.sqrt(np.sum(np.square(apart), axis=1, keepdims=True))
                depth = np.logaddexp(0, -(distance - CONTACT_DISTANCE) / CONTACT_MARGIN) * CONTACT_MARGIN
                push = CONTACT_FORCE * apart / distance * depth
                forces[:, one] += push
                forces[:, other] -= push
        return forces

    def _original_rewards(self) -> NDArray[np.float64]:
        """Weigh uncovered distances against each agent's own collisions: (n, agents)."""
        to_landmarks = self._distances(self._landmarks, self._positions)
        uncovered = np.zeros(self.count)
        for landmark in range(self.agents):
            uncovered -= to_landmarks[:, landmark].min(axis=1)
        touching = self._distances(self._positions, self._positions) < CONTACT_DISTANCE
        collisions = touching.sum(axis=2) - 1  # an agent touches itself
        return uncovered[:, None] * (1 - self._local_ratio) - collisions * self._local_ratio

    @staticmethod
    def _distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(np.sum(np.square(one[:, :, None] - other[:, None]), axis=3))

    def _show(self, rows: NDArray[np.int64]) -> JointObservation:
        positions, count = self._positions[rows], len(rows)
        to_landmarks = self._landmarks[rows][:, None] - positions[:, :, None]
        to_others = positions[:, self._others] - positions[:, :, None]
        silence = np.zeros((count, self.agents, 2 * (self.agents - 1)))
        flat = (count, self.agents, -1)
        parts = [self._velocities[rows], positions, to_landmarks.reshape(flat), to_others.reshape(flat), silence]
        observations = {GROUP: np.concatenate(parts, axis=2, dtype=np.float32, casting="same_kind")}
        alive = {GROUP: np.ones((count, self.agents), dtype=bool)}
        return JointObservation(observations, {}, alive, concatenated(observations))
