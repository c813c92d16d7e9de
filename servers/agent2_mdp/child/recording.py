"""Recorded transitions of the project's environment, as whole batches: what the functions of `mdp.py` are tried on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_targets.runtime.spaces import Raw, as_parts, as_raw, take

MAX_ROWS = 1500
"""Rows taken of one recording at most."""
MAX_BYTES = 48 * 2**20
"""Bytes of observations taken of one recording at most: images are cut to fewer rows."""

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Transitions in order; rows of one episode stand together."""

    observation: Raw
    """Raw observations before the step, one row a transition."""
    next_observation: Raw
    """Raw observations after the step, the true last one at an episode's end."""
    action: Raw
    """Actions as the environment took them."""
    original_reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    episode: NDArray[np.int64]
    """Number of the episode; distinct over all recordings."""
    source: NDArray[np.int64]
    """Index into `names`."""
    names: tuple[str, ...]
    """Names of the recordings: random, zero and so on."""
    info: dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]
    """Numeric keys: values and whether they were there."""

    def __len__(self) -> int:
        """Number of transitions."""
        return len(self.original_reward)

    def rows(self, indices: Any) -> Recording:
        """Take some transitions."""
        return Recording(
            observation=take(self.observation, indices),
            next_observation=take(self.next_observation, indices),
            action=take(self.action, indices),
            original_reward=self.original_reward[indices],
            terminated=self.terminated[indices],
            truncated=self.truncated[indices],
            episode=self.episode[indices],
            source=self.source[indices],
            names=self.names,
            info={key: (values[indices], present[indices]) for key, (values, present) in self.info.items()},
        )

    def step_of(self, row: int) -> int:
        """Give the step within its episode at which a row was recorded, counted from 0."""
        return int(row - np.flatnonzero(self.episode == self.episode[row])[0])

    def where(self, row: int) -> str:
        """Say which transition a row is."""
        name = self.names[int(self.source[row])]
        return f"row {row} (recording {name!r}, step {self.step_of(row)} of its episode)"


class RecordingUnreadable(Exception):
    """A recording is missing, or is not what the format says."""


def load_recordings(paths: Iterable[str | Path]) -> Recording:
    """Read recordings and put them one after another.

    Args:
        paths: `.npz` files as `inspect_environment` writes them.

    Raises:
        RecordingUnreadable: none is given, or one cannot be read.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise RecordingUnreadable("There is no recording.")
    parts = [_load(path, index) for index, path in enumerate(files)]
    return _joined(parts, tuple(path.stem for path in files))


def _load(path: Path, index: int) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            columns = {key: archive[key] for key in archive.files}
        rows = len(columns["original_reward"])
        observation = _entries(columns, "observation")
        row_bytes = max(1, sum(part.nbytes for part in as_parts(observation).values()) // max(rows, 1))
        kept = slice(0, max(2, min(rows, MAX_ROWS, MAX_BYTES // row_bytes)))
        info = {key[5:]: key for key in columns if key.startswith("info/")}
        return {
            "observation": take(observation, kept),
            "next_observation": take(_entries(columns, "next_observation"), kept),
            "action": take(_entries(columns, "action"), kept),
            "original_reward": columns["original_reward"][kept].astype(np.float64),
            "terminated": columns["terminated"][kept].astype(bool),
            "truncated": columns["truncated"][kept].astype(bool),
            "episode": columns["episode"][kept].astype(np.int64),
            "source": np.full(len(columns["episode"][kept]), index, np.int64),
            "info": {
                name: (columns[key][kept].astype(np.float64), columns[f"info_present/{name}"][kept].astype(bool))
                for name, key in info.items()
            },
        }
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise RecordingUnreadable(f"{path.name} cannot be read: {type(error).__name__}: {error}.") from error


def _entries(columns: dict[str, Array], name: str) -> Raw:
    if name in columns:
        return columns[name]
    prefix = f"{name}/"
    found: dict[str, Array] = {key[len(prefix) :]: value for key, value in columns.items() if key.startswith(prefix)}
    if not found:
        raise KeyError(name)
    return found


def _joined(parts: list[dict[str, Any]], names: tuple[str, ...]) -> Recording:
    offset = 0
    for part in parts:
        part["episode"] = part["episode"] - part["episode"].min(initial=0) + offset
        offset = int(part["episode"].max(initial=0)) + 1

    def column(name: str) -> Array:
        return np.concatenate([part[name] for part in parts])

    def raw(name: str) -> Raw:
        leaves = [as_parts(part[name]) for part in parts]
        return as_raw({key: np.concatenate([leaf[key] for leaf in leaves]) for key in leaves[0]})

    return Recording(
        observation=raw("observation"),
        next_observation=raw("next_observation"),
        action=raw("action"),
        original_reward=column("original_reward"),
        terminated=column("terminated"),
        truncated=column("truncated"),
        episode=column("episode"),
        source=column("source"),
        names=names,
        info=_joined_info(parts),
    )


def _joined_info(parts: list[dict[str, Any]]) -> dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    joined: dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}
    for name in dict.fromkeys(name for part in parts for name in part["info"]):
        lengths = [len(part["source"]) for part in parts]
        pairs = [
            part["info"].get(name, (np.zeros(n), np.zeros(n, bool))) for part, n in zip(parts, lengths, strict=True)
        ]
        joined[name] = (np.concatenate([pair[0] for pair in pairs]), np.concatenate([pair[1] for pair in pairs]))
    return joined


def with_history(raw: Raw, episode: NDArray[np.int64], length: int) -> Raw:
    """Stack each observation with those before it in its episode, newest last; the first one fills the start.

    Args:
        raw: observations `(n, *shape)`, rows of one episode together.
        episode: number of the episode of each row.
        length: observations in a window; 1 gives the input back, without the axis.

    Returns:
        Observations `(n, length, *shape)`.
    """
    if length == 1:
        return raw
    rows = np.arange(len(episode))
    is_first = np.r_[True, episode[1:] != episode[:-1]]
    first = np.maximum.accumulate(np.where(is_first, rows, 0))
    windows = np.maximum(rows[:, None] + np.arange(1 - length, 1)[None, :], first[:, None])
    return take(raw, windows)


def flat_rows(raw: Raw) -> NDArray[np.float64]:
    """Lay a batch of numbers out as rows `(n, size)` of float64, keys in order."""
    parts = list(as_parts(raw).values())
    return np.concatenate([np.asarray(part, np.float64).reshape(len(part), -1) for part in parts], axis=1)
