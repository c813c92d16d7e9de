"""The functions of an mdp.py as one group of agents calls them: on arrays `(batch, agents, …)`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..batch import Info
from ..failures import TransformError
from ..spaces import Array, Raw, SpaceDict, as_parts, from_declaration
from ..transforms import Transforms, describe_error, line_of, read_only, rows_of

OPTIONAL_PARAMETERS = ("alive", "group")
"""What a function may ask for by name: `alive` (batch, agents) bool, and the name of the group."""


class GroupTransforms(Transforms):
    """One group's view of an mdp.py.

    `observe`, `act` and `action_mask` take rows, environments times agents, as the pipelines of a single agent hand them
    over, and call the file's function with `(batch, agents, …)`. `reward` and `potential` take `(batch, agents, …)` and
    give `(batch, agents)`, for what the file gives for the team, `(batch,)`, counts for each of its agents.
    OBSERVATION_SPACE and ACTION_SPACE of the file are those of one agent: one for all groups, or one by group's name.

    Args:
        module: the loaded mdp.py.
        path: its file.
        mdp: the `mdp` part of a design, as JSON.
        group: name of the group.
        agents: how many agents it has.

    Attributes:
        alive: (batch, agents) bool of the next call; None: all are.
    """

    def __init__(self, module: ModuleType, path: Path, mdp: dict[str, Any], group: str, agents: int) -> None:
        """Read what the module declares for this group, and which optional parameters its functions have."""
        self.group, self.agents = group, agents
        self.alive: NDArray[np.bool_] | None = None
        super().__init__(module, path, mdp)
        self._wanted = {name: _optional_parameters(function) for name, function in self._functions.items()}

    def observe(self, observation: Raw) -> Raw:
        """Turn raw rows (batch * agents, …) into designed ones; those of agents that have left become zeros."""
        if "observe" not in self._functions:
            return observation
        count = rows_of(observation)
        value = self._grouped_call("observe", self._folded(observation))
        return self._rows("observe", value, count, self.observation_space)

    def act(self, action: Array, observation: Raw) -> Any:
        """Turn designed actions (batch * agents, …) into what the environment takes."""
        if "act" not in self._functions:
            return action
        value = self._grouped_call("act", self._folded(action), self._folded(observation))
        return self._rows("act", value, len(action), None)

    def action_mask(self, mask: Array) -> Array:
        """Turn the environment's masks (batch * agents, choices) into those of the designed space."""
        if "action_mask" not in self._functions:
            return mask
        value = self._grouped_call("action_mask", self._folded(mask))
        return self._rows("action_mask", value, len(mask), None).astype(bool)

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
        """Give the reward components before weights, each (batch, agents) float64; as `Transforms.reward`.

        Set `alive` to who took part in the step: the others get 0.
        """
        if "reward" not in self._functions:
            return {"original": original_reward}
        details: dict[str, Any] = {}
        for key, (values, present) in info.items():
            details[key], details[f"{key}_present"] = values, present
        arguments = (previous_observation, action, observation, original_reward, terminated, truncated, details)
        components = as_parts(self._grouped_call("reward", *arguments))
        return {
            str(name) or "reward": self._each("reward", value, original_reward.shape, f" of component {name!r}")
            for name, value in components.items()
        }

    def potential(self, observation: Raw) -> NDArray[np.float64] | None:
        """Give the potential (batch, agents) of raw observations (batch, agents, …); None where mdp.py has none."""
        if "potential" not in self._functions:
            return None
        shape = next(iter(as_parts(observation).values())).shape[:2]
        return self._each("potential", self._grouped_call("potential", observation), shape)

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
        """Give the reward to learn from (batch, agents) and its weighted components; as `Transforms.shaped_reward`."""
        arguments = (previous_observation, action, observation, original_reward, terminated, truncated, info)
        weights = self.reward_weights
        components = {name: value * weights.get(name, 1.0) for name, value in self.reward(*arguments).items()}
        now = self.potential(previous_observation)
        if now is not None:
            following = self.potential(observation)
            assert following is not None
            components["potential"] = self._of_the_living(gamma * np.where(terminated[:, None], 0.0, following) - now)
        total = np.sum(list(components.values()), axis=0) if components else np.zeros(original_reward.shape)
        return total * self.reward_scale, components

    def _declared(self, module: ModuleType, name: str) -> SpaceDict | None:
        declaration: Any = getattr(module, name, None)
        if declaration is None:
            return None
        is_by_group = isinstance(declaration, dict) and not ("n" in declaration or "shape" in declaration)
        if is_by_group and self.group not in declaration:
            return None
        try:
            return from_declaration(cast("dict[str, Any]", declaration[self.group] if is_by_group else declaration))
        except (TypeError, ValueError, AttributeError) as error:
            raise TransformError(f"{name}: {error}") from error

    def _folded(self, rows: Raw) -> Any:
        """Look at rows as (batch, agents, …); a lone row, with which a layout is measured, stands for every agent."""
        array = as_parts(rows)[""]
        if len(array) % self.agents:
            array = np.repeat(array[:1], self.agents, axis=0)
        return array.reshape(-1, self.agents, *array.shape[1:])

    def _grouped_call(self, name: str, *arguments: Any) -> Any:
        function = self._functions[name]
        first: Array = arguments[0]
        alive = np.ones(first.shape[:2], dtype=bool) if self.alive is None else self.alive
        available = {"alive": read_only(alive), "group": self.group}
        wanted = {key: available[key] for key in self._wanted[name]}
        try:
            return function(*(read_only(argument) for argument in arguments), **wanted)
        except (Exception, SystemExit) as error:
            raise TransformError(describe_error(error, name), name, line_of(error, self._path), self.step) from error

    def _rows(self, name: str, value: Any, count: int, space: SpaceDict | None) -> Array:
        """Check what a function gave for (batch, agents) and lay it out as rows again."""
        array = np.array(value)
        batch = max(1, count // self.agents)
        if array.shape[:2] != (batch, self.agents):
            message = (
                f"the result for group {self.group!r} has shape {array.shape}, expected ({batch}, {self.agents}, …)"
            )
            raise TransformError(message, name, None, self.step)
        if self.alive is not None and self.alive.shape == (batch, self.agents) and name == "observe":
            array[~self.alive] = 0  # nobody acts on it, and zeros may be what a function cannot divide by
        rows = array.reshape(-1, *array.shape[2:])
        return self._array(name, rows, len(rows), space, f" for group {self.group!r}")[:count]

    def _each(self, name: str, value: Any, shape: tuple[int, ...], what: str = "") -> NDArray[np.float64]:
        """Check a value for the team (batch,) or for each agent (batch, agents), and give it to each agent."""
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.shape not in (shape[:1], shape):
            message = f"the result{what} has shape {array.shape}, expected {shape[:1]} (team) or {shape} (each agent)"
            raise TransformError(message, name, None, self.step)
        each = array.astype(np.float64)
        each = self._of_the_living(np.broadcast_to(each[:, None], shape).copy() if each.ndim == 1 else each.copy())
        return self._array(name, each, shape[0], None, what)

    def _of_the_living(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if self.alive is None else np.where(self.alive, values, 0.0)


def load_group_transforms(path: str | Path, design: Mapping[str, Any]) -> dict[str, GroupTransforms]:
    """Load an mdp.py once and give each group its view of it.

    Args:
        path: the file.
        design: the `mdp` part of a design as JSON, or the whole design; its `groups` are read.

    Raises:
        TransformError: the file cannot be compiled or run, or declares what cannot be.
    """
    mdp: dict[str, Any] = dict(design.get("mdp", design))
    module, file = Transforms.read(path)
    return {
        group["name"]: GroupTransforms(module, file, mdp, group["name"], len(group["agents"]))
        for group in mdp["groups"]
    }


def _optional_parameters(function: Any) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
    return tuple(name for name in OPTIONAL_PARAMETERS if name in parameters)
