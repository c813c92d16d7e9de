"""Level 3 for `act`: inside the environment's action space, and reaching all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.notes import Notes
from agent2_mdp.child.outputs import numeric
from agent2_mdp.child.rehearsal import Outputs, Rehearsal, try_part
from agent2_mdp.child.statistics import short
from agent2_mdp.child.subject import Subject
from agent2_targets.runtime.spaces import SpaceDict, box_bounds, leaf_layout, leaves, take

SAMPLES = 1024
REACHED_SHARE = 0.95
"""Share of a bounded range that uniform designed actions must cover."""
OUTSIDE_ERROR_SHARE = 0.5
OUTSIDE_WARNING_SHARE = 0.001
MAX_NAMED = 4


def check_act(subject: Subject) -> None:
    """Try `act` with actions drawn uniformly from the designed space, its corners included, on recorded observations."""
    designed = subject.designed_action_space
    if designed["kind"] not in ("box", "discrete", "multi_discrete", "multi_binary"):
        return  # said by the check of spaces
    generator = np.random.default_rng(0)
    actions = sample_actions(designed, SAMPLES, generator)
    rows = generator.integers(0, len(subject.recording), len(actions))
    observations = take(subject.recording.observation, rows)
    rehearsal = Rehearsal(
        part="act",
        count=len(actions),
        arguments=lambda chosen: (actions[chosen], take(observations, chosen)),
        convert=_converter(subject),
        where=lambda row: f"designed action {_words(actions[row])} at recorded row {int(rows[row])}",
        step=lambda row: subject.recording.step_of(int(rows[row])),
    )
    outputs = try_part(subject.loaded, rehearsal, subject.notes)
    if outputs is None:
        return
    for key, leaf in leaves(subject.action_space).items():
        _check_leaf(subject, key, leaf, outputs[key])


def sample_actions(space: SpaceDict, count: int, generator: np.random.Generator) -> NDArray[Any]:
    """Draw designed actions uniformly; the first ones are the corners of a box, or each choice in turn."""
    if space["kind"] == "discrete":
        return np.arange(count, dtype=np.int64) % int(space["n"]) + int(space.get("start", 0))
    if space["kind"] in ("multi_discrete", "multi_binary"):
        choices = np.array(space["nvec"]) if "nvec" in space else np.full(space["shape"], 2)
        return generator.integers(0, choices, (count, *choices.shape))
    low, high = box_bounds(space)
    low, high = np.where(np.isfinite(low), low, -1.0), np.where(np.isfinite(high), high, 1.0)
    actions = generator.uniform(low, high, (count, *low.shape))
    actions[0], actions[1], actions[2] = low, high, (low + high) / 2
    return actions


def _converter(subject: Subject) -> Any:
    loaded = subject.loaded
    line = loaded.line("act")

    def convert(value: Any, count: int, where: str, notes: Notes) -> Outputs | None:
        targets = leaves(subject.action_space)
        if list(targets) != [""]:
            return _named(value, targets, count, where, notes, line)
        found = _leaf_array(value, targets[""], "act returned", count, where, notes, line)
        return None if found is None else {"": found}

    return convert


def _named(
    value: Any, targets: dict[str, SpaceDict], count: int, where: str, notes: Notes, line: int | None
) -> Outputs | None:
    if not isinstance(value, dict) or set(value) != set(targets):  # pyright: ignore[reportUnknownArgumentType]
        message = f"act must return a dict with the keys {', '.join(targets)} of the environment's action space."
        notes.error("wrong-type", message, "Return one array for each key.", line=line)
        return None
    found: Outputs = {}
    for key, leaf in targets.items():
        array = _leaf_array(value[key], leaf, f"act: {key!r} is", count, where, notes, line)
        if array is not None:
            found[key] = array
    return found if len(found) == len(targets) else None


def _leaf_array(
    value: Any, leaf: SpaceDict, subject: str, count: int, where: str, notes: Notes, line: int | None
) -> NDArray[Any] | None:
    array = numeric(value, subject, line, where, notes)
    if array is None:
        return None
    shape, dtype = leaf_layout(leaf)
    expected = (count, *shape)
    if array.shape != expected:
        message = f"{subject} shape {array.shape} on {where}; the environment takes {expected}."
        notes.error("wrong-shape", message, "Return one environment action a row.", line=line)
        return None
    if dtype.kind == "i" and array.dtype.kind not in "iub":
        message = f"{subject} {array.dtype} on {where}; the environment takes whole numbers."
        notes.error("wrong-dtype", message, "Return integers, e.g. with .astype(np.int64).", line=line)
        return None
    return array


def _check_leaf(subject: Subject, key: str, leaf: SpaceDict, array: NDArray[Any]) -> None:
    if leaf["kind"] == "box":
        low, high = (bound.ravel() for bound in box_bounds(leaf))
    else:
        low, high = _choice_bounds(leaf)
    flat = array.reshape(len(array), -1).astype(np.float64)
    is_choice = leaf["kind"] != "box"
    named = f"{key!r} " if key else ""
    for entry in range(min(flat.shape[1], 32)):
        column = flat[:, entry]
        place = f"act: {named}entry {entry}" if flat.shape[1] > 1 else f"act: the {named}action"
        if _check_inside(subject, place, column, low[entry], high[entry], is_choice=is_choice):
            _check_reach(subject, place, column, low[entry], high[entry], is_choice=is_choice)


def _choice_bounds(leaf: SpaceDict) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if leaf["kind"] == "discrete":
        start = int(leaf.get("start", 0))
        return np.array([start], float), np.array([start + int(leaf["n"]) - 1], float)
    counts = np.array(leaf["nvec"]) if "nvec" in leaf else np.full(leaf["shape"], 2).ravel()
    return np.zeros(counts.size), counts.ravel().astype(np.float64) - 1


def _check_inside(
    subject: Subject, place: str, column: NDArray[np.float64], low: float, high: float, *, is_choice: bool
) -> bool:
    slack = 1e-6 * max(1.0, abs(high - low)) if np.isfinite(high - low) else 1e-6
    share = float(((column < low - slack) | (column > high + slack)).mean())
    if share <= (0.0 if is_choice else OUTSIDE_WARNING_SHARE):
        return True
    is_error = is_choice or share > OUTSIDE_ERROR_SHARE
    add = subject.notes.error if is_error else subject.notes.warning
    after = "the environment would refuse them" if is_choice else "they would be clipped"
    add(
        "action-outside-space",
        f"{place} leaves the environment's action space for {share:.1%} of uniform designed actions; {after}.",
        "Scale the designed action to the environment's bounds.",
        evidence=f"seen {short(column.min())} to {short(column.max())}, bounds {short(low)} to {short(high)}",
        line=subject.loaded.line("act"),
    )
    return not is_error


def _check_reach(
    subject: Subject, place: str, column: NDArray[np.float64], low: float, high: float, *, is_choice: bool
) -> None:
    line = subject.loaded.line("act")
    seen = f"seen {short(column.min())} to {short(column.max())}, bounds {short(low)} to {short(high)}"
    if is_choice:
        missed = sorted(set(range(int(low), int(high) + 1)) - {int(value) for value in np.unique(column)})
        if missed:
            shown = ", ".join(map(str, missed[:8]))
            message = f"{place} never takes {len(missed)} of {int(high - low) + 1} choices: {shown}."
            subject.notes.warning("action-range-unreached", message, "Intended? Else complete the map.", line=line)
        return
    if not np.isfinite(high - low):
        return
    inside = np.clip(column, low, high)
    reached = float(np.ptp(inside)) / (high - low)
    if reached < REACHED_SHARE:
        subject.notes.warning(
            "action-range-unreached",
            f"{place} covers only {reached:.0%} of the environment's range.",
            "Scale the designed action to the environment's bounds, unless the restriction is meant.",
            evidence=seen,
            line=line,
        )


def _words(action: Any) -> str:
    return np.array2string(np.asarray(action), precision=3, threshold=6)
