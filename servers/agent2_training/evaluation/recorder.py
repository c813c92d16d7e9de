"""The evaluator that also records: transitions of a policy as one .npz file; a child process like the evaluator."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from agent2_targets.runtime.frames import FrameChannel
from agent2_targets.runtime.spaces import Array, SpaceDict, describe_space, leaf_layout, leaf_values, leaves
from agent2_training.evaluation.evaluator import EpisodeEvaluation, EvaluationRequest, evaluate

ROWS_AT_MOST = 8000
BYTES_AT_MOST = 64 * 2**20
NICENESS = 10
"""Nobody waits for a recording: training goes first."""


class Recording:
    """Transitions of whole episodes, up to a number of rows and bytes, in the layout of the project's recordings."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._rows: list[list[dict[str, Any]]] = []
        self._infos: list[list[dict[str, float]]] = []
        self._count = self._bytes = 0

    def begin_episode(self) -> int:
        """Give the number of a new episode."""
        self._rows.append([])
        self._infos.append([])
        return len(self._rows) - 1

    def add(self, episode: int, row: dict[str, Any], info: dict[str, Any]) -> None:
        """Keep one transition, whose arrays are copies; of info, what is one number."""
        if self._count >= ROWS_AT_MOST or self._bytes >= BYTES_AT_MOST:
            return
        self._count += 1
        self._bytes += sum(np.asarray(value).nbytes for value in row.values())
        self._rows[episode].append({**row, "episode": episode})
        self._infos[episode].append({str(key): float(value) for key, value in info.items() if _is_number(value)})

    def write(self, file: Path) -> int:
        """Write the file; gives the number of transitions."""
        rows = [row for episode in self._rows for row in episode]
        infos = [info for episode in self._infos for info in episode]
        columns: dict[str, Array] = {name: np.stack([row[name] for row in rows]) for name in (rows[0] if rows else ())}
        for key in dict.fromkeys(key for info in infos for key in info if "/" not in key):
            columns[f"info/{key}"] = np.array([info.get(key, 0.0) for info in infos])
            columns[f"info_present/{key}"] = np.array([key in info for info in infos])
        np.savez_compressed(file, **columns)  # pyright: ignore[reportArgumentType]
        return len(rows)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating)


class RecordedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose steps go into a recording."""

    def __init__(self, environment: gymnasium.Env[Any, Any], recording: Recording) -> None:
        """Read the spaces."""
        super().__init__(environment)
        self._recording, self._episode = recording, 0
        self._observation = _layout(describe_space(environment.observation_space))
        self._action = _layout(describe_space(environment.action_space))
        self._now: dict[str, Array] = {}

    def reset(self, **options: Any) -> Any:
        """Begin an episode."""
        observation, info = self.env.reset(**options)
        self._episode = self._recording.begin_episode()
        self._now = _arrays("observation", observation, *self._observation)
        return observation, info

    def step(self, action: Any) -> Any:
        """Step and keep the transition."""
        taken = _arrays("action", action, *self._action)
        observation, original_reward, terminated, truncated, info = self.env.step(action)
        following = _arrays("next_observation", observation, *self._observation)
        ends = {"terminated": bool(terminated), "truncated": bool(truncated)}
        row = {**self._now, **taken, **following, "original_reward": np.float64(original_reward), **ends}
        self._recording.add(self._episode, row, info)
        self._now = _arrays("observation", observation, *self._observation)
        return observation, original_reward, terminated, truncated, info


def _layout(space: SpaceDict) -> tuple[SpaceDict, dict[str, tuple[tuple[int, ...], np.dtype[Any]]]]:
    return space, {key: leaf_layout(leaf) for key, leaf in leaves(space).items()}


def _arrays(
    column: str, value: Any, space: SpaceDict, layout: dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
) -> dict[str, Array]:
    """Copy a value of a space as arrays by column name."""
    return {
        f"{column}/{key}" if key else column: np.array(part).astype(layout[key][1]).reshape(layout[key][0])
        for key, part in leaf_values(value, space).items()
    }


class RecordedEvaluation(EpisodeEvaluation):
    """All episodes of one request, recorded."""

    def __init__(self, request: EvaluationRequest, channel: FrameChannel) -> None:
        """Start with an empty recording."""
        super().__init__(request, channel)
        self.recording = Recording()

    def _build(self) -> gymnasium.Env[Any, Any]:
        return RecordedEnvironment(super()._build(), self.recording)


def main() -> None:
    """Read the request, run its episodes, write the file and the result."""
    parser = argparse.ArgumentParser()
    for name in ("request", "result", "read", "write"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--file", type=Path, required=True)
    options = parser.parse_args()
    with os.fdopen(options.request, "rb") as file:
        request = EvaluationRequest(**json.loads(file.read()))
    os.set_inheritable(options.result, False)
    os.nice(NICENESS)
    made: list[RecordedEvaluation] = []

    def make(request: EvaluationRequest, channel: FrameChannel) -> RecordedEvaluation:
        made.append(RecordedEvaluation(request, channel))
        return made[-1]

    result = evaluate(request, FrameChannel(options.read, options.write), make)
    if "error" not in result:
        made[-1].recording.write(options.file)
    with os.fdopen(options.result, "wb") as file:
        file.write(json.dumps(result).encode())


if __name__ == "__main__":
    main()
