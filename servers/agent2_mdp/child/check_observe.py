"""Level 3 for `observe`: shapes, declared bounds, and features that carry nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.outputs import one_array
from agent2_mdp.child.recording import flat_rows
from agent2_mdp.child.rehearsal import try_part, try_probes
from agent2_mdp.child.statistics import is_flat, short
from agent2_mdp.child.subject import Subject, bound_probes, recorded_probes, rehearsal_of, repeated
from agent2_targets.runtime.spaces import box_bounds, make_flattener, take

Rows = NDArray[np.float64]
TOLERATED_OUTSIDE_SHARE = 0.01
LARGE = 100.0
"""Entries beyond this want normalisation (reference rule of thumb)."""
SMALL_RANGE_SHARE = 0.02
"""A feature that uses less of its declared range than this is probably in the wrong unit."""
SAME = 1 - 1e-9
MAX_NAMED = 6
"""Features named in one finding."""


def check_observe(subject: Subject) -> Rows | None:
    """Try `observe` on the recording; returns the features of all rows (n, size), None where they cannot be told."""
    notes, loaded = subject.notes, subject.loaded
    declared = loaded.observation_space
    shape = tuple(declared["shape"]) if declared else None
    convert = one_array(loaded, "observe", shape, "OBSERVATION_SPACE" if declared else "")
    observed = subject.observe_input()
    outputs = try_part(loaded, subject.rehearsal("observe", lambda rows: (take(observed, rows),), convert), notes)
    if outputs is None:
        return None
    length = int(subject.stateful.get("history", 1))
    for probes, is_reachable in ((recorded_probes(subject), True), (bound_probes(subject), False)):
        if probes is not None:
            edge = repeated(probes.edge, length)
            rehearsal = rehearsal_of("observe", probes, lambda rows, edge=edge: (take(edge, rows),), convert)
            try_probes(loaded, rehearsal, notes, is_reachable=is_reachable)
    values = outputs[""]
    if values.ndim == 1:
        message = f"observe returned shape {values.shape}: one number a row, without an axis for features."
        notes.warning("wrong-shape", message, "Return (batch, 1).", line=loaded.line("observe"))
    features = values.reshape(len(values), -1).astype(np.float64)
    _check_bounds(subject, features)
    _check_features(subject, features)
    return features


def _check_bounds(subject: Subject, features: Rows) -> None:
    declared, loaded = subject.loaded.observation_space, subject.loaded
    if declared is None:
        return
    low, high = (bound.ravel() for bound in box_bounds(declared))
    slack = 1e-5 * np.maximum(1.0, np.abs(np.where(np.isfinite(high - low), high - low, 1.0)))
    outside = (features < low - slack) | (features > high + slack)
    share = outside.mean(axis=0)
    for entry in np.flatnonzero(share)[:MAX_NAMED]:
        seen = f"seen {short(features[:, entry].min())} to {short(features[:, entry].max())}"
        add = subject.notes.error if share[entry] > TOLERATED_OUTSIDE_SHARE else subject.notes.warning
        add(
            "outside-declared-space",
            f"observe: entry {entry} leaves OBSERVATION_SPACE on {share[entry]:.1%} of the rows.",
            "Clip or scale the feature, or declare the true bounds (null where there is none).",
            evidence=f"{seen}, declared {short(low[entry])} to {short(high[entry])}",
            line=loaded.at("observe").of_entry(int(entry), features.shape[1]),
            step=subject.recording.step_of(int(np.argmax(outside[:, entry]))),
        )
    width = np.ptp(features, axis=0)
    is_unused = np.isfinite(high - low) & (width < SMALL_RANGE_SHARE * (high - low)) & (width > 0)
    for entry in np.flatnonzero(is_unused)[:MAX_NAMED]:
        subject.notes.warning(
            "range-unused",
            f"observe: entry {entry} uses {width[entry] / (high[entry] - low[entry]):.1%} of its declared range.",
            "Check the unit (radians or degrees, metres or millimetres), or declare the range it has.",
            evidence=f"seen {short(features[:, entry].min())} to {short(features[:, entry].max())}, "
            f"declared {short(low[entry])} to {short(high[entry])}",
            line=loaded.at("observe").of_entry(int(entry), features.shape[1]),
        )


def _check_features(subject: Subject, features: Rows) -> None:
    lines, count = subject.loaded.at("observe"), features.shape[1]
    flat = np.array([is_flat(features[:, entry]) for entry in range(count)])
    raw = _raw_rows(subject)
    is_raw_flat = bool(all(is_flat(column) for column in raw.T)) if raw is not None and raw.size else False
    if flat.all() and not is_raw_flat:
        message = "observe gives the same features on every row: the policy would be blind."
        subject.notes.error("constant-observation", message, "Use the observation.", line=lines.result)
        return
    for entry in np.flatnonzero(flat)[:MAX_NAMED]:
        subject.notes.warning(
            "constant-feature",
            f"observe: entry {entry} is {short(features[0, entry])} on every recorded row.",
            "Drop it, unless it changes under a better policy.",
            line=lines.of_entry(int(entry), count),
        )
    nearly = ~flat & (features.std(axis=0) < 1e-3 * np.maximum(np.abs(features.mean(axis=0)), 1e-12))
    for entry in np.flatnonzero(nearly)[:MAX_NAMED]:
        subject.notes.warning(
            "nearly-constant-feature",
            f"observe: entry {entry} hardly moves: mean {short(features[:, entry].mean())}, "
            f"std {short(features[:, entry].std())}.",
            "Check its unit, or subtract the offset and rescale.",
            line=lines.of_entry(int(entry), count),
        )
    _check_duplicates(subject, features, flat, raw)
    _check_size(subject, features)


def _check_duplicates(subject: Subject, features: Rows, flat: NDArray[np.bool_], raw: Rows | None) -> None:
    if features.shape[1] > 256:
        return
    known = 0 if raw is None or raw.shape[1] > 256 else len(_duplicates(raw, np.array([is_flat(c) for c in raw.T])))
    pairs = _duplicates(features, flat)
    lines = subject.loaded.at("observe")
    for first, second in pairs[known : known + MAX_NAMED] if known else pairs[:MAX_NAMED]:
        subject.notes.warning(
            "duplicate-feature",
            f"observe: entry {second} says the same as entry {first}.",
            "Drop one of them.",
            line=lines.of_entry(second, features.shape[1]),
        )


def _duplicates(values: Rows, flat: NDArray[np.bool_]) -> list[tuple[int, int]]:
    moving = np.flatnonzero(~flat)
    if len(moving) < 2:
        return []
    centred = values[:, moving] - values[:, moving].mean(axis=0)
    scaled = centred / np.linalg.norm(centred, axis=0)
    same = np.triu(np.abs(scaled.T @ scaled) > SAME, k=1)
    seen: dict[int, int] = {}
    for first, second in np.argwhere(same):
        seen.setdefault(int(moving[second]), int(moving[first]))
    return [(first, second) for second, first in seen.items()]


def _check_size(subject: Subject, features: Rows) -> None:
    if subject.stateful.get("normalise_observation", "none") != "none":
        return
    largest = np.abs(features).max(axis=0)
    for entry in np.flatnonzero(largest > LARGE)[:MAX_NAMED]:
        subject.notes.warning(
            "large-feature",
            f"observe: entry {entry} reaches {short(largest[entry])}.",
            "Scale it to about [-1, 1], or declare normalise_observation.",
            line=subject.loaded.at("observe").of_entry(int(entry), features.shape[1]),
        )


def _raw_rows(subject: Subject) -> Rows | None:
    try:
        return flat_rows(subject.recording.observation)
    except (TypeError, ValueError):
        return None


def raw_features(subject: Subject) -> NDArray[Any] | None:
    """Give what the policy sees without `observe`, flattened; None where the space cannot be flattened."""
    length = int(subject.stateful.get("history", 1))
    try:
        flatten = make_flattener(subject.observation_space, 2 if length > 1 else 1)
        return flatten(subject.observe_input()).astype(np.float64)
    except (ValueError, KeyError, IndexError):
        return None
