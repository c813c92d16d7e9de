"""Recorded transitions of a rollout: kept in memory while it runs, written as one .npz file."""

from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agent2_targets.runtime.spaces import SpaceDict, leaf_layout, leaf_values, leaves

Array = NDArray[Any]
STEPS_AT_MOST = 2000
BYTES_AT_MOST = 256 * 2**20
EXAMPLE_CHARACTERS = 60


class Recorder:
    """Keeps transitions of one rollout, up to a number of steps and bytes; it goes on counting beyond.

    Attributes:
        original_rewards: every original reward seen, recorded or not.
        returns: original return of every finished episode.
        lengths: environment steps of every finished episode.
        steps_in_episode: number of every step in its episode, counted from 1.
        infos: info of each recorded step, cut down to what is one number.
        info_examples: the first value seen of every key, shortened.
        terminated_count: finished episodes that ended by termination.
    """

    def __init__(self, observation_space: SpaceDict, action_space: SpaceDict) -> None:
        """Prepare for the leaves of both spaces; spaces that are no arrays are not recorded."""
        self._spaces = {"observation": observation_space, "action": action_space}
        self._leaves = {name: _array_leaves(space) for name, space in self._spaces.items()}
        self._step_bytes = 2 * _value_bytes(self._leaves["observation"]) + _value_bytes(self._leaves["action"]) + 64
        self._columns: dict[str, list[Any]] = {}
        self.infos: list[dict[str, Any]] = []
        self.info_examples: dict[str, str] = {}
        self.original_rewards: list[float] = []
        self.returns: list[float] = []
        self.lengths: list[int] = []
        self.steps_in_episode: list[int] = []
        self.terminated_count = 0
        self.episode = 0
        self._return = 0.0
        self._length = 0

    @property
    def bytes(self) -> int:
        """Memory of the recorded arrays, roughly."""
        return self._step_bytes * len(self.infos)

    def add(
        self,
        observation: Any,
        action: Any,
        original_reward: float,
        next_observation: Any,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Take in one transition; values are copied."""
        self.original_rewards.append(original_reward)
        self._return += original_reward
        self._length += 1
        self.steps_in_episode.append(self._length)
        if len(self.infos) < STEPS_AT_MOST and self.bytes < BYTES_AT_MOST:
            self._keep("observation", observation, "observation")
            self._keep("next_observation", next_observation, "observation")
            self._keep("action", action, "action")
            flags = {"terminated": terminated, "truncated": truncated, "episode": self.episode}
            for name, value in flags.items():
                self._columns.setdefault(name, []).append(value)
            self.infos.append(self._trim(info))
        if terminated or truncated:
            self.returns.append(self._return)
            self.lengths.append(self._length)
            self.terminated_count += bool(terminated)
            self.begin_episode()

    def begin_episode(self) -> None:
        """Count the next episode from zero."""
        self.episode += self._length > 0
        self._return, self._length = 0.0, 0

    def _trim(self, info: dict[str, Any]) -> dict[str, Any]:
        """Keep numbers, and of anything else only that it was there: info may hold pictures or the whole world."""
        kept: dict[str, Any] = {}
        for key, value in info.items():
            name = str(key)
            is_short = is_number(value)
            if name not in self.info_examples:
                shown = np.asarray(value).item() if is_short else value
                self.info_examples[name] = repr(shown)[:EXAMPLE_CHARACTERS]
            kept[name] = value if is_short else None
        return kept

    def _keep(self, column: str, value: Any, space: str) -> None:
        known = self._leaves[space]
        if not known:
            return
        for key, part in leaf_values(value, self._spaces[space]).items():
            if key in known:
                shape, dtype = known[key]
                kept = np.array(part)  # a copy; the true dtype is a finding of its own, the file has the declared one
                self._columns.setdefault(_column(column, key), []).append(kept.astype(dtype).reshape(shape))

    def arrays(self) -> dict[str, Array]:
        """Stack what was kept, in the layout of the recordings contract: one row a step."""
        count = len(self.infos)
        stacked: dict[str, Array] = {name: np.stack(values) for name, values in self._columns.items() if values}
        stacked["original_reward"] = np.array(self.original_rewards[:count], np.float64)
        for key in numeric_keys(self.infos):
            present = np.array([key in info for info in self.infos], bool)
            values = [float(np.asarray(info[key]).item()) if key in info else 0.0 for info in self.infos]
            stacked[f"info/{key}"], stacked[f"info_present/{key}"] = np.array(values, np.float64), present
        return stacked

    def write(self, path: Path) -> dict[str, Array]:
        """Write the recording and give its arrays."""
        arrays = self.arrays()
        np.savez_compressed(path, **arrays)  # pyright: ignore[reportArgumentType]
        return arrays


def numeric_keys(infos: list[dict[str, Any]]) -> list[str]:
    """Name the keys whose values are one real number or boolean wherever they are present."""
    seen: dict[str, bool] = {}
    for info in infos:
        for key, value in info.items():
            seen[key] = seen.get(key, True) and is_number(value)
    return [key for key, is_numeric in seen.items() if is_numeric and "/" not in key]


def is_number(value: Any) -> bool:
    """Whether a value is one real number or boolean."""
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        return True
    return (
        isinstance(value, np.ndarray) and cast("Array", value).size == 1 and cast("Array", value).dtype.kind in "biuf"
    )


def _column(column: str, key: str) -> str:
    return f"{column}/{key}" if key else column


def _array_leaves(space: SpaceDict) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    try:
        return {key: leaf_layout(leaf) for key, leaf in leaves(space).items()}
    except ValueError:
        return {}


def _value_bytes(known: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> int:
    return sum(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for shape, dtype in known.values())
