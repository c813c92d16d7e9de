"""Several environments side by side in one process, stepped as a batch of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .failures import NonFinite, StepFault
from .spaces import Array, Raw, as_parts, as_raw, describe_space, empty_batch, leaf_values, leaves, nested

Info = dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]
"""Per declared key: values (n,) float64, 0 where absent, and whether the key was present (n,)."""


class BatchStep(NamedTuple):
    """What one batch step gave."""

    observations: Raw
    """True next observations (n, …): of a finished episode its last one, never the first of the next."""
    original_rewards: NDArray[np.float64]
    """The environments' own rewards (n,), summed over the repeated steps."""
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    info: Info
    env_steps: NDArray[np.int64]
    """Environment steps that each row took (n,): `action_repeat`, fewer where an episode ended."""


class EnvironmentBatch:
    """Environments of one kind, stepped one after another, returned as arrays.

    Nothing is reset on its own: after a step the caller resets the finished rows with `reset(indices=…)`.

    Args:
        build: makes one environment that obeys the current interface; called `count` times.
        count: number of environments.
        info_keys: numeric keys of info to collect.
        action_repeat: environment steps that each action is held.
    """

    def __init__(
        self, build: Callable[[], Any], count: int, info_keys: Sequence[str] = (), action_repeat: int = 1
    ) -> None:
        """Build the environments and read their spaces."""
        self.environments: list[gymnasium.Env[Any, Any]] = [build() for _ in range(count)]
        self.count, self.info_keys, self.action_repeat = count, tuple(info_keys), action_repeat
        self.observation_space = describe_space(self.environments[0].observation_space)
        self.action_space = describe_space(self.environments[0].action_space)
        self.steps = np.zeros(count, dtype=np.int64)
        self._keys = tuple(leaves(self.observation_space))
        self._layout = empty_batch(self.observation_space, 1)

    def reset(
        self, seeds: Sequence[int | None] | None = None, indices: Sequence[int] | NDArray[Any] | None = None
    ) -> Raw:
        """Start new episodes.

        Args:
            seeds: one seed per row; None goes on with each environment's own generator.
            indices: rows to reset; None resets all.

        Returns:
            First observations of these rows, in their order.

        Raises:
            StepFault: an observation does not fit its space, or is not finite.
        """
        rows = range(self.count) if indices is None else [int(index) for index in indices]
        parts = self._allocate(len(rows))
        for slot, row in enumerate(rows):
            seed = None if seeds is None else seeds[slot]
            observation, _ = self.environments[row].reset(seed=seed)
            self._store(parts, slot, row, observation)
        self._check_finite(parts, list(rows))
        return as_raw(parts)

    def step(self, actions: Any) -> BatchStep:
        """Step every environment once, or `action_repeat` times.

        Args:
            actions: environment actions, (n, …) or `{key: (n, …)}`.

        Raises:
            NonFinite: an observation or a reward is NaN or infinite.
            StepFault: an observation does not fit its space.
        """
        count = self.count
        parts = self._allocate(count)
        original_rewards = np.zeros(count)
        terminated, truncated = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        env_steps = np.zeros(count, dtype=np.int64)
        info: Info = {key: (np.zeros(count), np.zeros(count, dtype=bool)) for key in self.info_keys}
        for row, action in enumerate(split_actions(actions, self.action_space)):
            environment, total, taken = self.environments[row], 0.0, 0
            observation: Any = None
            details: dict[str, Any] = {}
            ended = stopped = False
            try:
                while taken < self.action_repeat and not (ended or stopped):
                    observation, original_reward, ended, stopped, details = environment.step(action)
                    total += float(original_reward)
                    taken += 1
            except Exception as error:
                error.add_note(f"at step {self.steps[row] + taken + 1} of environment {row}")
                raise
            self._store(parts, row, row, observation)
            original_rewards[row], terminated[row], truncated[row], env_steps[row] = total, ended, stopped, taken
            for key, (values, present) in info.items():
                if key in details:
                    values[row], present[row] = number_or_nan(details[key]), True
        self.steps += env_steps
        self._check_finite(parts, None)
        if not np.isfinite(original_rewards).all():
            row = int(np.flatnonzero(~np.isfinite(original_rewards))[0])
            raise NonFinite(f"the reward is {original_rewards[row]}", int(self.steps[row]), row)
        return BatchStep(as_raw(parts), original_rewards, terminated, truncated, info, env_steps)

    def close(self) -> None:
        """Close every environment."""
        for environment in self.environments:
            environment.close()

    def _allocate(self, count: int) -> dict[str, Array]:
        return {key: np.empty((count, *one.shape[1:]), one.dtype) for key, one in self._layout.items()}

    def _store(self, parts: dict[str, Array], slot: int, row: int, observation: Any) -> None:
        """Copy one observation into its slot, checking shapes: NumPy would broadcast a wrong one in silence."""
        values = {"": observation} if self._keys == ("",) else leaf_values(observation, self.observation_space)
        for key, part in parts.items():
            value = values[key]
            if np.shape(value) != part.shape[1:]:
                name = f" {key!r}" if key else ""
                message = f"the observation{name} has shape {np.shape(value)}, its space says {part.shape[1:]}"
                raise StepFault(message, int(self.steps[row]) + 1, row)
            part[slot] = value

    def _check_finite(self, parts: dict[str, Array], rows: list[int] | None) -> None:
        for key, part in parts.items():
            if part.dtype.kind == "f" and not np.isfinite(part).all():
                slot = int(np.argwhere(~np.isfinite(part))[0][0])
                row = slot if rows is None else rows[slot]
                raise NonFinite(f"the observation {key!r} is not finite: {part[slot]}", int(self.steps[row]), row)


def number_or_nan(value: Any) -> float:
    """Read a numeric info value; anything else is NaN."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def split_actions(actions: Any, space: dict[str, Any]) -> list[Any]:
    """Take a batch of environment actions apart into what each environment's `step` gets."""
    parts = nested(space)
    if parts is None:
        return actions.tolist() if space["kind"] == "discrete" else list(actions)
    flat = as_parts(actions)
    children: dict[str, list[Any]] = {}
    for key, part in parts.items():
        inner = {name[len(key) + 1 :]: value for name, value in flat.items() if name.startswith(f"{key}.")}
        children[key] = split_actions(inner or flat[key], part)
    rows = list(zip(*children.values(), strict=True))
    return rows if space["kind"] == "tuple" else [dict(zip(children, row, strict=True)) for row in rows]
