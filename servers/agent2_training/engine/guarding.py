"""The functions of an mdp.py as the worker calls them: what goes wrong is named with line, step and range."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_sandbox.guards import checked_components, guarded_call
from agent2_targets.runtime.batch import Info
from agent2_targets.runtime.spaces import Raw, as_parts
from agent2_targets.runtime.transforms import Transforms, read_only


class GuardedTransforms(Transforms):
    """Transforms whose faults are worded for the person who wrote the file, or had it written.

    Set `step` to the environment step that is being taken, from 1; it is named in every message.
    """

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
        """Give the reward components before weights, each (n,) float64, as `Transforms.reward` does.

        Raises:
            GuardError: the function failed, or a component holds something other than real, finite numbers.
        """
        if "reward" not in self._functions:
            return {"original": original_reward}
        details: dict[str, Any] = {}
        for key, (values, present) in info.items():
            details[key], details[f"{key}_present"] = values, present
        arguments = (previous_observation, action, observation, original_reward, terminated, truncated, details)
        result = self._call("reward", *arguments)
        components = (
            dict(result) if isinstance(result, dict) else {"reward": result}
        )  # one array alone is the whole reward
        return checked_components(
            components, len(original_reward), step=self.step or 1, observation=all_values(observation)
        )

    def _call(self, name: str, *arguments: Any) -> Any:
        views = (read_only(argument) for argument in arguments)
        return guarded_call(name, partial(self._functions[name], *views), file=self._path, step=self.step or 1)


def all_values(raw: Raw) -> NDArray[Any]:
    """Put all numbers of a raw batch into one array, whose range a message may show."""
    parts = [part.reshape(-1) for part in as_parts(raw).values()]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
