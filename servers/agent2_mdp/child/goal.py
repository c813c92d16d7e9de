"""Where the rare reward of a sparse task is found, as far as recorded transitions tell: for a potential toward it."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from agent2_mdp.child.recording import Recording, flat_rows

MAX_EVENT_SHARE = 0.05
"""Steps with another reward than the usual one, above which rewards are not sparse."""
MIN_EVENTS = 3
MAX_STATES = 4096
NARROW = 0.25
"""An entry is part of the goal where its spread over goals is below this share of its spread over all steps."""


def find_goal(recording: Recording, space: dict[str, Any]) -> dict[str, Any] | None:
    """Find what the states share in which a rare, better reward ended an episode.

    Args:
        recording: transitions under the random policy.
        space: the environment's observation space, as JSON.

    Returns:
        `{"kind": "distances", "start", "steps": [per state, null unknown], "reward", "events", "share"}` for discrete
        states, `{"kind": "point", "entries", "values", "scales", "reward", "events", "share"}` for a flat box; None
        where rewards are not sparse or no goal shows.
    """
    original_rewards = recording.original_reward
    values, counts = np.unique(np.round(original_rewards, 9), return_counts=True)
    usual = float(values[int(np.argmax(counts))])
    is_event = (original_rewards > usual + 1e-9) & recording.terminated
    events, share = int(is_event.sum()), float(np.mean(original_rewards > usual + 1e-9))
    if events < MIN_EVENTS or share > MAX_EVENT_SHARE or is_event.sum() < (original_rewards > usual + 1e-9).sum():
        return None
    found = {"reward": float(original_rewards[is_event].mean() - usual), "events": events, "share": share}
    if space["kind"] == "discrete" and space["n"] <= MAX_STATES:
        return found | {
            "kind": "distances",
            "start": space.get("start", 0),
            "steps": _distances(recording, is_event, space),
        }
    if space["kind"] == "box" and len(space["shape"]) == 1 and space["shape"][0] <= 64:
        return _point(recording, is_event, found)
    return None


def _distances(recording: Recording, is_event: Any, space: dict[str, Any]) -> list[int | None]:
    """Count the fewest recorded transitions from each state to the goal, by breadth-first search backwards."""
    start = int(space.get("start", 0))
    now = np.asarray(recording.observation, dtype=np.int64).ravel() - start
    following = np.asarray(recording.next_observation, dtype=np.int64).ravel() - start
    before: dict[int, set[int]] = {}
    for first, second in zip(now.tolist(), following.tolist(), strict=True):
        before.setdefault(second, set()).add(first)
    steps: dict[int, int] = {int(state): 0 for state in np.unique(following[is_event])}
    queue = deque(steps)
    while queue:
        state = queue.popleft()
        for earlier in before.get(state, ()):
            if earlier not in steps:
                steps[earlier] = steps[state] + 1
                queue.append(earlier)
    return [steps.get(state) for state in range(int(space["n"]))]


def _point(recording: Recording, is_event: Any, found: dict[str, Any]) -> dict[str, Any] | None:
    everything = flat_rows(recording.observation)
    goals = flat_rows(recording.next_observation)[is_event]
    spread = np.ptp(everything, axis=0)
    is_narrow = (spread > 1e-9) & (np.ptp(goals, axis=0) < NARROW * spread)
    entries = np.flatnonzero(is_narrow)
    if not len(entries):
        return None
    return found | {
        "kind": "point",
        "entries": entries.tolist(),
        "values": np.median(goals[:, entries], axis=0).tolist(),
        "scales": spread[entries].tolist(),
    }
