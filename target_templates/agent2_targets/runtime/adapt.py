"""One wrapper that makes any single-agent environment obey Gymnasium's current interface, naming what it adapts."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from .failures import StepFault
from .spaces import SpaceDict, describe_space, leaf_layout, nested

FOUR_VALUES = "four-value-step: done counts as terminated unless info['TimeLimit.truncated'] says otherwise"
NO_INFO = "reset-without-info: an empty info is added"
NO_OPTIONS = "reset-without-options: options are not passed on"
NO_SEED = "reset-without-seed: Python's and NumPy's global generators are seeded instead"
OLD_SEED = "seed-method: env.seed(seed) is called before reset()"
CAST = "observation-dtype: {found} is cast to the declared {declared}"
REWARD_ARRAY = "reward-array: a reward of one entry is taken as a number"
REUSED = "observation-reused: the same array object is returned each step, so each is copied"
OFFSET = "discrete-start: choice 0 of the policy is the environment's action {start}"
DEFAULT_LIMIT = (
    "default-time-limit: the environment declares none, so episodes are truncated after {limit} steps at the latest"
)


class CurrentApi(gymnasium.Env[Any, Any]):
    """An environment that returns five values, info, the declared dtype, a float reward and fresh arrays.

    Args:
        environment: the environment as it was built; it may follow an older interface.
        observation_space: its observation space, as a Gymnasium space.
        action_space: its action space, likewise.
        limit: truncate after this many steps; None leaves endings to the environment.
        adaptations: list to which the names of the adaptations are appended when they are first needed.
    """

    def __init__(
        self,
        environment: Any,
        observation_space: gymnasium.Space[Any],
        action_space: gymnasium.Space[Any],
        limit: int | None,
        adaptations: list[str],
    ) -> None:
        """Look at the signatures once, so that a step need not."""
        self.environment, self.adaptations = environment, adaptations
        self.observation_space, self.action_space = observation_space, action_space
        self.metadata = dict(getattr(environment, "metadata", None) or {})
        self.render_mode = getattr(environment, "render_mode", None)
        self.spec = getattr(environment, "spec", None)
        self._limit, self._elapsed, self._steps = limit, 0, 0
        self._is_discrete = isinstance(action_space, gymnasium.spaces.Discrete)
        self._conform = make_conformer(describe_space(observation_space), self._note)
        self._last: Any = None
        self._reset = choose_reset(environment, self._note)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; `info` is always there."""
        self._elapsed = 0
        result = self._reset(seed, options)
        if has_info(result):
            observation, info = result
        else:
            observation, info = result, dict[str, Any]()
            self._note(NO_INFO)
        self._last = observation
        return self._conform(observation), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take one step; always five values."""
        self._steps += 1
        result = self.environment.step(int(action) if self._is_discrete else action)
        if len(result) == 5:
            observation, original_reward, terminated, truncated, info = result
        else:
            observation, original_reward, terminated, truncated, info = self._from_four(result)
        if type(original_reward) is not float:
            original_reward = self._number(original_reward)
        self._elapsed += 1
        if self._limit is not None and self._elapsed >= self._limit and not terminated:
            truncated = True
        if observation is self._last and isinstance(observation, np.ndarray):
            self._note(REUSED)
        self._last = observation
        try:
            observation = self._conform(observation)
        except StepFault as fault:
            raise StepFault(fault.message, self._steps) from None
        return observation, original_reward, bool(terminated), bool(truncated), info

    def render(self) -> Any:
        """Draw what the environment draws."""
        return self.environment.render()

    def close(self) -> None:
        """Close the environment, where it can be closed."""
        close = getattr(self.environment, "close", None)
        if close is not None:
            close()

    @property
    def unwrapped(self) -> Any:
        """The user's own environment object."""
        return getattr(self.environment, "unwrapped", self.environment)

    def _from_four(self, result: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if len(result) != 4:
            raise StepFault(f"step returned {len(result)} values, expected 5", self._steps)
        observation, original_reward, done, info = result
        truncated = bool(info.get("TimeLimit.truncated", False))
        self._note(FOUR_VALUES)
        return observation, original_reward, bool(done) and not truncated, bool(done) and truncated, info

    def _number(self, original_reward: Any) -> float:
        if np.ndim(original_reward):
            if np.size(original_reward) != 1:
                raise StepFault(f"the reward has shape {np.shape(original_reward)}, expected one number", self._steps)
            self._note(REWARD_ARRAY)
        try:
            return float(np.squeeze(original_reward))
        except (TypeError, ValueError) as error:
            raise StepFault(f"the reward is {original_reward!r}, expected a number", self._steps) from error

    def _note(self, adaptation: str) -> None:
        if adaptation not in self.adaptations:
            self.adaptations.append(adaptation)


def has_info(result: Any) -> bool:
    """Tell whether what `reset` gave is an observation and an info."""
    return isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)  # pyright: ignore[reportUnknownArgumentType]


def choose_reset(environment: Any, note: Callable[[str], None]) -> Callable[[Any, Any], Any]:
    """Find out which arguments an environment's `reset` takes, and give a function `(seed, options)` that calls it."""
    try:
        parameters = inspect.signature(environment.reset).parameters
    except (TypeError, ValueError):
        return lambda seed, options: environment.reset(seed=seed, options=options)
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    has_seed, has_options = takes_any or "seed" in parameters, takes_any or "options" in parameters
    if has_seed and has_options:
        return lambda seed, options: environment.reset(seed=seed, options=options)
    note(NO_OPTIONS if has_seed else NO_SEED)
    if has_seed:
        return lambda seed, options: environment.reset(seed=seed)
    seed_method = getattr(environment, "seed", None)
    if callable(seed_method):
        note(OLD_SEED)

    def reset(seed: int | None, options: Any) -> Any:
        if seed is not None:
            random.seed(seed)
            np.random.seed(seed % 2**32)
            if callable(seed_method):
                seed_method(seed)
        return environment.reset(options=options) if has_options else environment.reset()

    return reset


def make_conformer(space: SpaceDict, note: Callable[[str], None]) -> Callable[[Any], Any]:
    """Make the function that copies an observation into its declared layout, checking its shape.

    The function raises `StepFault` where the shape is another one or the value is no array.
    """
    parts = nested(space)
    if parts is not None:
        return make_nested_conformer(space, note)
    if space["kind"] == "discrete":
        return as_choice
    if space["kind"] == "other":
        return lambda observation: observation
    shape, dtype = leaf_layout(space)

    def conform(observation: Any) -> Any:
        if type(observation) is not np.ndarray:
            observation = as_array(observation, shape)
        if observation.shape != shape:
            raise StepFault(f"the observation has shape {observation.shape}, its space says {shape}")
        if observation.dtype != dtype:
            note(CAST.format(found=observation.dtype, declared=dtype))
        return observation.astype(dtype)

    return conform


def as_choice(observation: Any) -> int:
    """Read a discrete observation.

    Raises:
        StepFault: it is no whole number.
    """
    if np.size(observation) != 1 or np.asarray(observation).dtype.kind not in "iub":
        raise StepFault(f"the observation is {observation!r}, its space says a whole number")
    return int(np.squeeze(observation))


def as_array(observation: Any, shape: tuple[int, ...]) -> Any:
    """Read a list, a number or array-like as an array.

    Raises:
        StepFault: it is none of these.
    """
    array = np.asarray(observation)
    if array.dtype.kind not in "fiub":
        raise StepFault(f"the observation is a {type(observation).__name__}, its space says an array of shape {shape}")
    return array


def make_nested_conformer(space: SpaceDict, note: Callable[[str], None]) -> Callable[[Any], Any]:
    """Make the conformer of a Dict or Tuple space."""
    parts = {key: make_conformer(part, note) for key, part in (nested(space) or {}).items()}
    if space["kind"] == "tuple":

        def conform_tuple(observation: Any) -> Any:
            if len(observation) != len(parts):
                raise StepFault(f"the observation has {len(observation)} parts, its space says {len(parts)}")
            return tuple(conform(value) for conform, value in zip(parts.values(), observation, strict=True))

        return conform_tuple

    def conform_dict(observation: Any) -> Any:
        keys = dict.fromkeys(observation) if hasattr(observation, "keys") else None
        if keys is None or parts.keys() - keys.keys():
            found = type(observation).__name__ if keys is None else sorted(keys)
            raise StepFault(f"the observation has {found}, its space says the keys {sorted(parts)}")
        return {key: conform(observation[key]) for key, conform in parts.items()}

    return conform_dict
