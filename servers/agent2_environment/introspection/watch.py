"""A watch on the unadapted environment: what its own `reset` and `step` take and return, before anything is mended."""

import inspect
import random
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from agent2_environment.introspection.notes import Notes
from agent2_targets.runtime.spaces import SpaceDict, describe_space, leaf_layout, leaf_values, leaves

LOOK_CLOSELY_STEPS = 400
"""Steps whose values are compared with the step before; shapes and types are checked at every step."""


class RawWatch:
    """Stands between the adapter and the environment's own methods, and takes notes of raw values.

    Attributes:
        scramble: called before each raw reset; the test of seeding uses it to unseed the process's generators.
        step_raw: the environment's own `step`, unwatched.
    """

    def __init__(self, raw: Any, notes: Notes) -> None:
        """Put the watch on one instance; where its class forbids that, nothing is watched."""
        self._notes = notes
        self.scramble: Callable[[], None] = _nothing
        self.step_raw: Callable[[Any], Any] = raw.step
        self._reset_raw: Callable[..., Any] = raw.reset
        self._space: SpaceDict = describe_space(raw.observation_space)
        self._known = {key: leaf for key, leaf in leaves(self._space).items() if leaf["kind"] != "other"}
        self._previous: dict[str, tuple[Any, Any]] = {}
        self._steps = 0
        self.step_number = 0
        _signature(notes, self._reset_raw)
        try:
            raw.step, raw.reset = self._step, self._reset
        except AttributeError:
            return

    def _reset(self, *args: Any, **kwargs: Any) -> Any:
        self.scramble()
        self.step_number = 0
        result: Any = self._reset_raw(*args, **kwargs)
        parts = _as_tuple(result)
        if len(parts) == 2 and isinstance(parts[1], dict):
            self._look_at_observation(parts[0])
        elif not _is_value_of(self._space, result):
            self._look_at_observation(parts[0] if parts else result)
        else:
            self._notes.find(
                "reset-without-info",
                "warning",
                "reset returns the observation only: info is missing.",
                advice="Return (observation, info); an empty dict will do.",
                evidence=f"type {type(result).__name__}",
                is_adapted=True,
            )
            self._look_at_observation(result)
        return result

    def _step(self, action: Any) -> Any:
        self.step_number += 1
        self._steps += 1
        result: Any = self.step_raw(action)
        parts = _as_tuple(result)
        if len(parts) == 4:
            self._notes.find(
                "four-value-step",
                "warning",
                "step returns four values, as in old Gym: (observation, reward, done, info).",
                advice="Return (observation, reward, terminated, truncated, info).",
                evidence="done is read as terminated, or as truncated where info['TimeLimit.truncated'] is true",
                is_adapted=True,
                step=self.step_number,
            )
        if len(parts) in (4, 5):
            self._look_at_reward(parts[1])
            self._look_at_flags(parts)
            self._look_at_observation(parts[0])
        return result

    def _look_at_reward(self, original_reward: Any) -> None:
        if isinstance(original_reward, bool | int | float | np.bool_ | np.integer | np.floating):
            return
        shape, is_single = np.shape(original_reward), np.size(original_reward) == 1
        self._notes.find(
            "reward-array",
            "warning" if is_single else "error",
            f"The reward is no number but {type(original_reward).__name__} of shape {shape}.",
            advice="Return a float from step." if is_single else "Return one number; several rewards must be summed.",
            evidence=repr(original_reward)[:120],
            is_adapted=is_single,
            step=self.step_number,
        )

    def _look_at_flags(self, result: tuple[Any, ...]) -> None:
        flags = result[2:-1]
        if all(isinstance(flag, bool | np.bool_) for flag in flags) and isinstance(result[-1], dict):
            return
        self._notes.find(
            "ending-type",
            "note",
            f"Endings and info have the types {', '.join(type(value).__name__ for value in result[2:])}.",
            advice="Return booleans for the endings and a dict for info.",
            step=self.step_number,
        )

    def _look_at_observation(self, observation: Any) -> None:
        try:
            values = leaf_values(observation, self._space)
        except (KeyError, IndexError, TypeError) as error:
            self._notes.find(
                "observation-structure",
                "error",
                f"The observation has not the parts of the declared space: {type(error).__name__} {error}.",
                advice="Return exactly the keys or entries that observation_space declares.",
                evidence=f"type {type(observation).__name__}",
                step=self.step_number,
            )
            return
        for key, leaf in self._known.items():
            self._look_at_leaf(key, values[key], leaf)

    def _look_at_leaf(self, key: str, value: Any, leaf: SpaceDict) -> None:
        name, (shape, dtype) = (f" at {key!r}" if key else ""), leaf_layout(leaf)
        array = np.asarray(value)
        if array.shape != shape:
            self._notes.find(
                "observation-shape",
                "error",
                f"The observation{name} has shape {array.shape}, declared is {shape}.",
                advice="Declare the shape that is returned.",
                step=self.step_number,
            )
            return
        is_array = isinstance(value, np.ndarray | np.generic)
        is_choice = leaf["kind"] == "discrete"
        if (is_choice and array.dtype.kind not in "iu") or (not is_choice and (array.dtype != dtype or not is_array)):
            given = str(array.dtype) if is_array else f"{type(value).__name__} of {array.dtype}"
            if not self._is_same_kind(leaf, array, is_array):
                self._notes.find(
                    "observation-dtype",
                    "warning",
                    f"The observation{name} is {given} where {dtype} is declared.",
                    advice=f"Return .astype(np.{dtype}), or declare the other dtype.",
                    is_adapted=True,
                    step=self.step_number,
                )
        if isinstance(value, np.ndarray) and self._steps <= LOOK_CLOSELY_STEPS:
            self._look_at_memory(key, value)

    def _is_same_kind(self, leaf: SpaceDict, array: Any, is_array: bool) -> bool:
        """Integers of another width in a space of choices are no fault: Gymnasium takes them as well."""
        return is_array and leaf["kind"].startswith("multi") and array.dtype.kind in "iub"

    def _look_at_memory(self, key: str, value: Any) -> None:
        known = self._previous.get(key)
        if known is not None:
            before, copy = known
            if np.may_share_memory(before, value) and not np.array_equal(
                before, copy, equal_nan=before.dtype.kind == "f"
            ):
                self._notes.find(
                    "observation-reused",
                    "warning",
                    "Observations share memory: the array of one step is changed in place by the next.",
                    advice="Return a copy.",
                    evidence=f"shape {value.shape}, address {value.__array_interface__['data'][0]:#x} at both steps",
                    is_adapted=True,
                    step=self.step_number,
                )
        self._previous[key] = (value, value.copy())


def find_about_integers(notes: Notes, watch: RawWatch, reset: Callable[[], Any], action_space: SpaceDict) -> None:
    """Hand one NumPy integer to the unadapted `step`, after Python integers have worked."""
    if action_space["kind"] != "discrete":
        return
    reset()
    try:
        watch.step_raw(np.int64(action_space["start"]))
    except BaseException as error:  # whatever it raises: Python integers worked
        notes.find(
            "python-int-action",
            "note",
            "step needs a Python int: a NumPy integer is refused. Actions are handed over as int.",
            advice="Accept np.integer, for example by int(action).",
            evidence=f"{type(error).__name__}: {error}"[:200],
            is_adapted=True,
        )


def unseed(generator: str, seed: int | None = None) -> None:
    """Put one of the process's global generators into a fresh state, or into that of a seed."""
    if generator == "numpy":
        np.random.seed(seed)
    else:
        random.seed(seed)


def _signature(notes: Notes, reset: Callable[..., Any]) -> None:
    try:
        parameters = inspect.signature(reset).parameters
    except (TypeError, ValueError):
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    missing = [name for name in ("seed", "options") if name not in parameters]
    if missing:
        notes.find(
            f"reset-without-{missing[0]}",
            "warning",
            f"reset does not take {' and '.join(missing)}.",
            advice="Declare reset(self, *, seed=None, options=None) and call super().reset(seed=seed).",
            evidence=f"reset{inspect.signature(reset)}",
            is_adapted=True,
        )


def _is_value_of(space: SpaceDict, value: Any) -> bool:
    """Whether a returned value is shaped like the space itself, so that nothing stands beside it."""
    if space["kind"] == "tuple":
        return len(_as_tuple(value)) == len(space["spaces"])
    if space["kind"] == "dict":
        return isinstance(value, dict)
    return not isinstance(value, tuple)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()


def _nothing() -> None:
    """Scramble nothing."""
