"""Findings that recorded transitions give: bounds, finiteness, features, rewards, endings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.recording import Recorder
from agent2_targets.runtime.spaces import SpaceDict, box_bounds, leaves

Array = NDArray[Any]
SPARSE_FRACTION = 0.02
LARGE_REWARD, SMALL_REWARD = 100.0, 1e-3
NAMED_AT_MOST = 8
STEPS_AT_LEAST = 100
ADDED_LIMIT = "default-time-limit"
"""Begins the adaptation that gives an environment a time limit."""


def find_in_observations(notes: Notes, space: SpaceDict, arrays: dict[str, Array], lengths: Array) -> None:
    """Check recorded next observations against the declared space, leaf by leaf.

    Args:
        notes: takes the findings.
        space: the declared observation space.
        arrays: the recording.
        lengths: number of each recorded step in its episode, counted from 1.
    """
    for key, leaf in leaves(space).items():
        values = arrays.get(f"next_observation/{key}" if key else "next_observation")
        if values is None or not len(values):
            continue
        name = f" at {key!r}" if key else ""
        flat = values.reshape(len(values), -1)
        if flat.dtype.kind == "f" and not np.isfinite(flat).all():
            row = int(np.argmax(~np.isfinite(flat).all(axis=1)))
            notes.find(
                "observation-not-finite",
                "error",
                f"The observation{name} is {_odd_value(flat[row])} at step {int(lengths[row])} of an episode.",
                advice="Guard the division, root or logarithm that makes it; training stops at such a value.",
                evidence=f"{int((~np.isfinite(flat).all(axis=1)).sum())} of {len(flat)} steps",
                step=int(lengths[row]),
            )
        _bounds(notes, leaf, flat, name)


def _bounds(notes: Notes, leaf: SpaceDict, flat: Array, name: str) -> None:
    if leaf["kind"] == "box":
        low, high = (bound.ravel() for bound in box_bounds(leaf))
    elif leaf["kind"] == "discrete":
        low, high = np.array([leaf.get("start", 0)]), np.array([leaf.get("start", 0) + leaf["n"] - 1])
    else:
        return
    with np.errstate(invalid="ignore"):
        # One unit in the last place of float32: bounds are often declared in another precision than values.
        slack = 1e-6 * np.maximum(1.0, np.abs(np.where(np.isfinite(low), low, 0.0)) + np.abs(flat).max(0))
        outside = (flat < low - slack) | (flat > high + slack)
    rows = outside.any(axis=1)
    if not rows.any():
        return
    columns = outside.any(axis=0)
    seen = flat[:, columns]
    notes.find(
        "observation-out-of-bounds",
        "warning",
        f"Observations{name} lie outside the declared bounds at {rows.mean():.0%} of steps: seen "
        f"{np.nanmin(seen):.4g} … {np.nanmax(seen):.4g}, declared {low[columns].min():.4g} … {high[columns].max():.4g}.",
        advice="Declare the true bounds (or infinite ones); nothing is clipped in silence.",
        evidence=f"{int(rows.sum())} of {len(rows)} steps, entries {np.flatnonzero(columns)[:NAMED_AT_MOST].tolist()}",
    )


def find_in_features(notes: Notes, flat: Array | None, steps_in_episode: Array) -> None:
    """Note entries that never vary, that repeat another one, or that count the steps."""
    if flat is None or len(flat) < STEPS_AT_LEAST or not np.isfinite(flat).all():
        return
    spread = np.ptp(flat, axis=0)
    constant = np.flatnonzero(spread == 0)
    if len(constant):
        notes.find(
            "feature-constant",
            "note",
            f"{len(constant)} of {flat.shape[1]} observation entries never vary under the random policy: "
            f"{names_of(constant)}.",
            advice="They tell a policy nothing unless other behaviour moves them; `observe` may drop them.",
            evidence=f"{len(flat)} steps",
        )
    doubles = duplicates(flat, np.flatnonzero(spread > 0))
    if doubles:
        shown = ", ".join(f"{twin} = {first}" for first, twin in doubles[:NAMED_AT_MOST])
        notes.find(
            "feature-duplicate",
            "note",
            f"{len(doubles)} of {flat.shape[1]} observation entries repeat another one exactly: {shown}.",
            advice="`observe` may drop them.",
            evidence=f"equal on all {len(flat)} steps",
        )
    for entry in np.flatnonzero(spread > 0):
        if len(np.unique(steps_in_episode)) > 10 and _counts_steps(flat[:, entry], steps_in_episode):
            notes.find(
                "feature-counts-time",
                "note",
                f"Observation entry {entry} is a linear function of the step number in the episode.",
                advice="Where the time is not meant to be known, leave it out of the observation.",
                evidence=f"correlation 1 over {len(flat)} steps",
            )
            return


def duplicates(flat: Array, candidates: Array) -> list[tuple[int, int]]:
    """Find columns that equal an earlier one: pairs of the first and its twin."""
    first_of: dict[bytes, int] = {}
    doubles: list[tuple[int, int]] = []
    for entry in candidates.tolist():
        column = np.ascontiguousarray(flat[:, entry]).tobytes()
        if column in first_of:
            doubles.append((first_of[column], entry))
        else:
            first_of[column] = entry
    return doubles


def _counts_steps(column: Array, steps_in_episode: Array) -> bool:
    if np.ptp(steps_in_episode) == 0:
        return False
    correlation = np.corrcoef(column, steps_in_episode)[0, 1]
    return bool(abs(correlation) > 1 - 1e-9)


def find_in_rewards(notes: Notes, original_rewards: Array, steps_in_episode: Array, *, is_random: bool) -> None:
    """Check original rewards: finite; and under the random policy not all the same, not nearly all zero, in scale.

    Args:
        notes: takes the findings.
        original_rewards: one a step, or one for each agent that was there at each step.
        steps_in_episode: number of each one's step in its episode, counted from 1.
        is_random: whether the random policy earned them.
    """
    if not len(original_rewards):
        return
    if not np.isfinite(original_rewards).all():
        row = int(np.argmax(~np.isfinite(original_rewards)))
        notes.find(
            "reward-not-finite",
            "error",
            f"The reward is {_odd_value(original_rewards[row : row + 1])} at step {int(steps_in_episode[row])} of an episode.",
            advice="Guard the division, root or logarithm that makes it; a return with such a reward is no number.",
            evidence=f"{int((~np.isfinite(original_rewards)).sum())} of {len(original_rewards)} steps",
            step=int(steps_in_episode[row]),
        )
        return
    if not is_random or len(original_rewards) < STEPS_AT_LEAST:
        return
    nonzero = original_rewards != 0
    spread, size = np.ptp(original_rewards), np.abs(original_rewards[nonzero]).mean() if nonzero.any() else 0.0
    if spread == 0:
        notes.find(
            "reward-constant",
            "note",
            f"Every step of the random policy gave the reward {original_rewards[0]:g}.",
            advice="Only the length of an episode can then tell good from bad.",
            evidence=f"{len(original_rewards)} steps",
        )
    elif nonzero.mean() < SPARSE_FRACTION:
        notes.find(
            "reward-sparse",
            "note",
            f"Only {nonzero.mean():.2%} of the random policy's steps gave a reward other than zero.",
            advice="Exploration or a shaped reward may be needed.",
            evidence=f"{int(nonzero.sum())} of {len(original_rewards)} steps",
        )
    if size > LARGE_REWARD or 0 < size < SMALL_REWARD:
        notes.find(
            "reward-scale",
            "note",
            f"Rewards other than zero have a mean size of {size:.3g}.",
            advice="A constant reward scale in the design brings them near 1; the score stays in original units.",
            evidence=f"{original_rewards.min():.4g} … {original_rewards.max():.4g}",
        )


def find_in_endings(
    notes: Notes, recorder: Recorder, max_episode_steps: int | None, adaptations: list[str], *, is_endless: bool
) -> None:
    """Look at how episodes of the random policy end.

    Args:
        notes: takes the findings.
        recorder: the rollout of the random policy.
        max_episode_steps: time limit, environment steps.
        adaptations: what was adapted, a time limit perhaps.
        is_endless: whether the text of `step` never lets an episode end. Otherwise other behaviour may end it, so that
            a rollout without an end is only a note.
    """
    lengths = np.array(recorder.lengths)
    steps = len(recorder.original_rewards)
    is_added = any(adaptation.startswith(ADDED_LIMIT) for adaptation in adaptations)
    no_end_of_its_own = not len(lengths) or (
        len(lengths) and lengths.min() == max_episode_steps and not recorder.terminated_count
    )
    if no_end_of_its_own and steps >= STEPS_AT_LEAST and (is_added or max_episode_steps is None):
        added = f"a limit of {max_episode_steps} steps is added" if is_added else "there is no time limit"
        notes.find(
            "episode-endless",
            "note" if is_added and not is_endless else "warning",
            f"No episode ended by itself in {steps} steps; {added}.",
            advice="Give max_episode_steps in the reference, or end episodes in the environment.",
            evidence=f"{steps} random steps, 0 endings of its own",
            is_adapted=is_added,
        )
    if not len(lengths):
        return
    if lengths.max() == 1:
        notes.find(
            "episode-one-step",
            "note",
            "Every episode of the random policy ended at its first step.",
            advice="This is a bandit; check that the end condition is meant so.",
            evidence=f"{len(lengths)} episodes",
        )
    elif len(lengths) >= 3 and np.ptp(lengths) == 0 and recorder.terminated_count == len(lengths):
        notes.find(
            "terminated-at-fixed-length",
            "note",
            f"Every episode of the random policy terminated after exactly {lengths[0]} steps.",
            advice="If that is a time limit, report it as truncated, else values at the limit are learnt too low.",
            evidence=f"{len(lengths)} episodes",
        )


def _odd_value(row: Array) -> str:
    odd = row[~np.isfinite(row)]
    return "nan" if np.isnan(odd).any() else "inf" if odd.max() > 0 else "-inf"


def names_of(entries: Array) -> str:
    """Name the first few entries."""
    listed = entries[:NAMED_AT_MOST].tolist()
    return ", ".join(map(str, listed)) + (" …" if len(entries) > NAMED_AT_MOST else "")
