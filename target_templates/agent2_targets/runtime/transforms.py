"""The functions of an mdp.py, loaded, called on whole batches, and held to their contract."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .batch import Info
from .failures import TransformError
from .spaces import Array, Raw, SpaceDict, as_parts, as_raw, from_declaration

PARTS = ("observe", "act", "action_mask", "observe_state", "reward", "potential")


class Transforms:
    """What an mdp.py defines; a part that is absent leaves its input unchanged.

    Args:
        module: the loaded mdp.py.
        path: its file, to find lines in tracebacks.
        mdp: the `mdp` part of a design, as JSON; its reward weights win over those of the file.

    Attributes:
        parts: names of the functions that the file defines.
        observation_space: OBSERVATION_SPACE as a space dict, or None.
        action_space: ACTION_SPACE as a space dict, or None.
        reward_weights: weight of each reward component; a component without one weighs 1.
        step: batch steps so far, which the caller may set, to be named in errors.
    """

    def __init__(self, module: ModuleType, path: Path, mdp: dict[str, Any]) -> None:
        """Read what the module declares."""
        self._path, self._functions = path, {name: vars(module)[name] for name in PARTS if name in vars(module)}
        self.parts = tuple(self._functions)
        for name, function in self._functions.items():
            if not callable(function):
                raise TransformError("is no function", name)
        self.observation_space = self._declared(module, "OBSERVATION_SPACE")
        self.action_space = self._declared(module, "ACTION_SPACE")
        weights: dict[str, float] = getattr(module, "REWARD_WEIGHTS", None) or {}
        self.reward_weights: dict[str, float] = {**weights, **(mdp.get("reward_weights") or {})}
        self.reward_scale = float(mdp.get("reward_scale", 1.0))
        self.step: int | None = None

    @classmethod
    def load(cls, path: str | Path, mdp: dict[str, Any]) -> Transforms:
        """Load an mdp.py from a file.

        Args:
            path: the file.
            mdp: the `mdp` part of a design, as JSON; `{}` will do.

        Raises:
            TransformError: the file cannot be compiled or run, or declares what cannot be.
        """
        return cls(*cls.read(path), mdp)

    @staticmethod
    def read(path: str | Path) -> tuple[ModuleType, Path]:
        """Run an mdp.py as a module of its own; errors as `load`.

        Returns:
            The module and its absolute file.
        """
        file = Path(path).absolute()
        module = ModuleType("mdp")
        module.__file__ = str(file)
        try:
            exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), module.__dict__)
        except SyntaxError as error:
            raise TransformError(f"syntax error: {error.msg}", line=error.lineno) from error
        except (Exception, SystemExit) as error:
            raise TransformError(describe_error(error, "the file"), line=line_of(error, file)) from error
        return module, file

    def observe(self, observation: Raw) -> Raw:
        """Turn raw observations (n, …) or (n, history, …) into designed ones (n, *designed shape)."""
        if "observe" not in self._functions:
            return observation
        return self._array("observe", self._call("observe", observation), rows_of(observation), self.observation_space)

    def act(self, action: Array, observation: Raw) -> Any:
        """Turn designed actions (n, …) and raw observations into what the environment takes."""
        if "act" not in self._functions:
            return action
        parts = as_parts(self._call("act", action, observation))
        return as_raw({key: self._array("act", value, len(action), None) for key, value in parts.items()})

    def action_mask(self, mask: Array) -> Array:
        """Turn the environment's action masks (n, choices) into those of the designed space."""
        if "action_mask" not in self._functions:
            return mask
        return self._array("action_mask", self._call("action_mask", mask), len(mask), None).astype(bool)

    def observe_state(self, state: Raw) -> Raw:
        """Turn global states (n, …) into what a central critic sees."""
        if "observe_state" not in self._functions:
            return state
        return self._array("observe_state", self._call("observe_state", state), rows_of(state), None)

    def reward(
        self,
        previous_observation: Raw,
        action: Any,
        observation: Raw,
        original_reward: NDArray[np.float64],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        info: Info,
    ) -> dict[str, NDArray[np.float64]]:
        """Give the reward components before weights, each (n,) float64; `{"original": …}` where mdp.py has no reward.

        The file's function sees `info[key]` as values (n,), 0 where absent, and `info[key + "_present"]` as bool (n,).
        """
        if "reward" not in self._functions:
            return {"original": original_reward}
        details: dict[str, Any] = {}
        for key, (values, present) in info.items():
            details[key], details[f"{key}_present"] = values, present
        arguments = (previous_observation, action, observation, original_reward, terminated, truncated, details)
        components = as_parts(self._call("reward", *arguments))  # one array alone is the whole reward
        space: SpaceDict = {"kind": "box", "shape": [], "dtype": "float64"}
        return {
            str(name) or "reward": self._array("reward", value, len(original_reward), space, f" of component {name!r}")
            for name, value in components.items()
        }

    def potential(self, observation: Raw) -> NDArray[np.float64] | None:
        """Give the potential (n,) of raw observations; None where mdp.py has none."""
        if "potential" not in self._functions:
            return None
        space: SpaceDict = {"kind": "box", "shape": [], "dtype": "float64"}
        return self._array("potential", self._call("potential", observation), rows_of(observation), space)

    def shaped_reward(
        self,
        previous_observation: Raw,
        action: Any,
        observation: Raw,
        original_reward: NDArray[np.float64],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        info: Info,
        gamma: float,
    ) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
        """Give the reward to learn from: scale * (sum of weighted components + gamma * potential(next) - potential(now)).

        The potential of the next state counts as zero only on termination (Ng et al. 1999).

        Returns:
            The shaped reward (n,) float64, and its weighted components by name ("potential" among them), unscaled.
        """
        arguments = (previous_observation, action, observation, original_reward, terminated, truncated, info)
        weights = self.reward_weights
        components = {name: value * weights.get(name, 1.0) for name, value in self.reward(*arguments).items()}
        now = self.potential(previous_observation)
        if now is not None:
            following = self.potential(observation)
            assert following is not None
            components["potential"] = gamma * np.where(terminated, 0.0, following) - now
        total = np.sum(list(components.values()), axis=0) if len(components) != 1 else next(iter(components.values()))
        return total * self.reward_scale, components

    def _declared(self, module: ModuleType, name: str) -> SpaceDict | None:
        declaration = getattr(module, name, None)
        if declaration is None:
            return None
        try:
            return from_declaration(declaration)
        except (TypeError, ValueError) as error:
            raise TransformError(f"{name}: {error}") from error

    def _call(self, name: str, *arguments: Any) -> Any:
        function: Callable[..., Any] = self._functions[name]
        try:
            return function(*(read_only(argument) for argument in arguments))
        except (Exception, SystemExit) as error:
            line = line_of(error, self._path)
            raise TransformError(describe_error(error, name), name, line, self.step) from error

    def _array(self, name: str, value: Any, count: int, space: SpaceDict | None, what: str = "") -> Any:
        """Check that a result is a numeric array of the right shape, in its declared dtype, and finite."""
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TransformError(f"the result{what} is no numeric array but {array.dtype}", name, None, self.step)
        if array.ndim == 0 or len(array) != count:
            message = f"the result{what} has shape {array.shape}, expected {count} rows"
            raise TransformError(message, name, None, self.step)
        if space is not None:
            expected = (count, *space["shape"]) if space["kind"] == "box" else (count,)
            if array.shape != expected:
                message = f"the result{what} has shape {array.shape}, expected {expected}"
                raise TransformError(message, name, None, self.step)
            if space["kind"] == "box":
                array = array.astype(space["dtype"], copy=False)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise TransformError(f"the result{what} is NaN or infinite", name, None, self.step)
        return array


def rows_of(raw: Raw) -> int:
    """Count the rows of a raw batch."""
    return len(next(iter(as_parts(raw).values())))


def read_only(value: Any) -> Any:
    """Give a view that cannot be written, so that no function of an mdp.py changes what others see."""
    if isinstance(value, np.ndarray):
        view = cast("NDArray[Any]", value).view()
        view.flags.writeable = False
        return view
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: read_only(entry) for key, entry in entries.items()}
    return value


def describe_error(error: BaseException, what: str) -> str:
    """Name an error; `sys.exit` is named as what it is."""
    if isinstance(error, SystemExit):
        return f"{what} called sys.exit({error.code!r})"
    return f"{type(error).__name__}: {error}"


def line_of(error: BaseException, path: Path) -> int | None:
    """Find the innermost line of a file in an error's traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else None
