"""The child that measures, on recorded transitions, the facts that published priors ask for. Run by `call_child`."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.goal import find_goal
from agent2_mdp.child.recording import Recording, flat_rows, load_recordings
from agent2_mdp.child.statistics import discounted_returns, is_flat, number
from agent2_sandbox.child import serve_call

Rows = NDArray[np.float64]
MAX_ENTRIES = 64
MAX_CROSSED = 16
"""Entries up to which all their products join the fit."""
JUMP_SHARE = 0.7
"""A change by more than this share of an entry's range is a jump, as of an angle at pi, and tells nothing of speed."""
WELL_EXPLAINED = 0.8
"""An entry whose change is explained this well without the last change lacks no velocity."""
RIDGE = 1e-9


def main(payload: dict[str, Any]) -> dict[str, Any]:
    """Measure one project's recordings.

    Args:
        payload: `recordings` (paths), `observation_space` (JSON), `gamma`.

    Returns:
        `rows`, `return_std`, `return_max_abs`, `step_share` (median change of an entry in one step, in standard
        deviations), `velocity_gain` (variance of the next change that the last change explains beyond observation and
        action), `entries` (mean, std, min, max of each of at most 64 flat entries), `goal`; null where unknown.
    """
    recording = load_recordings(payload["recordings"])
    random = recording.rows(np.flatnonzero(recording.source == 0))
    returns = discounted_returns(random.original_reward, random, float(payload["gamma"]))
    answer: dict[str, Any] = {
        "rows": len(recording),
        "return_std": number(returns.std()),
        "return_max_abs": number(np.abs(returns).max()),
        "terminated": int(recording.terminated.sum()),
        "goal": find_goal(random, payload["observation_space"]),
        "entries": [],
        "step_share": None,
        "velocity_gain": None,
    }
    space = payload["observation_space"]
    if space["kind"] != "box" or len(space["shape"]) != 1 or space["shape"][0] > MAX_ENTRIES:
        return answer
    now, following = flat_rows(random.observation), flat_rows(random.next_observation)
    answer["entries"] = [
        {"mean": number(c.mean()), "std": number(c.std()), "min": number(c.min()), "max": number(c.max())}
        for c in now.T
    ]
    moving = np.array([not is_flat(column) for column in now.T])
    if moving.any():
        change = np.abs(following - now)[:, moving] / now[:, moving].std(axis=0)
        answer["step_share"] = number(np.median(change.max(axis=1)))
        answer["velocity_gain"] = _velocity_gain(random, now[:, moving], following[:, moving])
    return answer


def _velocity_gain(recording: Recording, now: Rows, following: Rows) -> float | None:
    """Fit the next change of each entry with and without the last change; give the largest gain in explained variance."""
    jumps = (np.abs(following - now) > JUMP_SHARE * np.ptp(now, axis=0)).any(axis=1)
    is_next = (recording.episode[1:] == recording.episode[:-1]) & ~jumps[1:] & ~jumps[:-1]
    if is_next.sum() < 10 * now.shape[1]:
        return None
    change, last = (following - now)[1:][is_next], (now[1:] - now[:-1])[is_next]
    here, action = now[1:][is_next], flat_rows(recording.action)[1:][is_next]
    known = np.concatenate([here, _products(here), action, np.ones((len(here), 1))], axis=1)
    without = _explained(known, change)
    with_change = _explained(np.concatenate([known, last], axis=1), change)
    is_open = without < WELL_EXPLAINED
    return number(np.max((with_change - without)[is_open], initial=0.0))


def _products(values: Rows) -> Rows:
    """Give all products of two entries, squares alone where there are many."""
    if values.shape[1] > MAX_CROSSED:
        return values**2
    first, second = np.triu_indices(values.shape[1])
    return values[:, first] * values[:, second]


def _explained(inputs: Rows, targets: Rows) -> Rows:
    scale = np.maximum(np.abs(inputs).max(axis=0), 1e-12)
    scaled = inputs / scale
    gram = scaled.T @ scaled + RIDGE * len(scaled) * np.eye(scaled.shape[1])
    weights = cast("Rows", np.linalg.solve(gram, scaled.T @ targets))
    residual = ((targets - scaled @ weights) ** 2).mean(axis=0)
    variance = targets.var(axis=0)
    return 1 - residual / np.where(variance > 1e-12, variance, np.inf)


if __name__ == "__main__":
    serve_call(main)
