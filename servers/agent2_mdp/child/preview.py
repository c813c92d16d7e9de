"""The child that compares before and after over recordings: a table, and a plot where matplotlib is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from agent2_mdp.child.check_observe import raw_features
from agent2_mdp.child.module import Loaded, load
from agent2_mdp.child.notes import Notes
from agent2_mdp.child.recording import flat_rows, load_recordings
from agent2_mdp.child.reward_inputs import reward_arguments
from agent2_mdp.child.statistics import Values, summary
from agent2_mdp.child.subject import Subject
from agent2_sandbox.child import serve_call

MAX_ENTRIES = 24
"""Entries of one kind in the table."""
GAMMA = 0.99
Columns = dict[str, tuple[Values | None, Values | None]]
"""By name: values before and after; None where there is no counterpart."""


def main(payload: dict[str, Any]) -> dict[str, Any]:
    """Compare one candidate with its environment.

    Args:
        payload: as for `child.verify`, with `reward_scale`.

    Returns:
        `rows` (name, before_mean … after_max) and `plot` (whether one can be drawn), `columns` (values for it).
    """
    file, notes = str(payload["file"]), Notes()
    loaded = load(file, Path(file).read_text(encoding="utf-8"), notes)
    if loaded is None:
        raise ValueError(f"mdp.py cannot be loaded: {notes.findings[0]['message']}")
    subject = Subject(
        loaded=loaded,
        recording=load_recordings(payload["recordings"]),
        observation_space=payload["observation_space"],
        action_space=payload["action_space"],
        stateful=payload["stateful"],
        info_keys=tuple(payload["info_keys"]),
        known_info_keys=(),
        notes=notes,
    )
    columns = {
        **_observations(subject),
        **_actions(subject),
        **_reward_columns(subject, float(payload["reward_scale"])),
    }
    rows = [_row(name, before, after) for name, (before, after) in columns.items()]
    is_drawn = find_spec("matplotlib") is not None
    return {"rows": rows, "plot": is_drawn, "columns": _sampled(columns) if is_drawn else {}}


def _row(name: str, before: Values | None, after: Values | None) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name}
    for when, values in (("before", before), ("after", after)):
        if values is not None and len(values):
            row |= {f"{when}_{key}": value for key, value in summary(values).items()}
    return row


def _observations(subject: Subject) -> Columns:
    before = raw_features(subject)
    after = before
    if "observe" in subject.loaded.functions:
        after = _flat(subject.loaded.functions["observe"](subject.observe_input()))
    columns: Columns = {}
    has_names = before is not None and after is not None and before.shape[1] == after.shape[1]
    if has_names or after is before:
        for entry in range(min(0 if after is None else after.shape[1], MAX_ENTRIES)):
            columns[f"observation[{entry}]"] = (_column(before, entry), _column(after, entry))
        return columns
    for entry in range(min(0 if before is None else before.shape[1], MAX_ENTRIES)):
        columns[f"environment observation[{entry}]"] = (_column(before, entry), None)
    for entry in range(min(0 if after is None else after.shape[1], MAX_ENTRIES)):
        columns[f"designed observation[{entry}]"] = (None, _column(after, entry))
    return columns


def _actions(subject: Subject) -> Columns:
    actions = flat_rows(subject.recording.action)
    return {f"environment action[{i}]": (actions[:, i], None) for i in range(min(actions.shape[1], MAX_ENTRIES))}


def _reward_columns(subject: Subject, scale: float) -> Columns:
    recording, loaded = subject.recording, subject.loaded
    original = recording.original_reward
    columns: Columns = {"original_reward": (original, None)}
    parts: dict[str, Values] = {"original": original}
    if "reward" in loaded.functions:
        found: dict[str, Any] = loaded.functions["reward"](*reward_arguments(subject, np.arange(len(recording))))
        parts = {str(k): np.asarray(v, np.float64) * loaded.weights.get(str(k), 1.0) for k, v in found.items()}
        columns |= {f"reward component {name}": (None, values) for name, values in parts.items()}
    if "potential" in loaded.functions:
        shaping = _shaping(subject, loaded)
        parts["potential"] = shaping
        columns["potential-based shaping"] = (None, shaping)
    total = scale * np.sum(list(parts.values()), axis=0)
    columns["shaped_reward"] = (original, total)
    return columns


def _shaping(subject: Subject, loaded: Loaded) -> Values:
    recording, function = subject.recording, loaded.functions["potential"]
    now = np.asarray(function(recording.observation), np.float64)
    following = np.asarray(function(recording.next_observation), np.float64)
    return GAMMA * np.where(recording.terminated, 0.0, following) - now


def _flat(values: Any) -> Values:
    array = np.asarray(values, np.float64)
    return array.reshape(len(array), -1)


def _column(values: Values | None, entry: int) -> Values | None:
    return None if values is None else values[:, entry]


def _sampled(columns: Columns) -> dict[str, Any]:
    """Keep at most 400 values a column, for the plot, which is drawn in a process of its own."""
    return {
        name: [None if values is None else values[:: max(1, len(values) // 400)].tolist() for values in pair]
        for name, pair in list(columns.items())[:MAX_ENTRIES]
    }


if __name__ == "__main__":
    serve_call(main)
