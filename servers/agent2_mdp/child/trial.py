"""Trying one part of `mdp.py`: whole batch, again, in another order, row by row; and where it goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.calls import Called, call, report_error, report_warnings
from agent2_mdp.child.module import Loaded
from agent2_mdp.child.notes import Notes

Array = NDArray[Any]
Outputs = dict[str, Array]
"""Results of one call by component; a part with one result has the key ""."""

SMALL_BATCH = 8
TOLERANCE = 1e-4
"""Differences between batches up to this share of the values' size are rounding."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """How one part is to be tried."""

    part: str
    count: int
    """Rows there are."""
    arguments: Callable[[Any], tuple[Any, ...]]
    """From row indices to the arguments of a call."""
    convert: Callable[[Any, int, str, Notes], Outputs | None]
    """From a result, the number of rows and a description to arrays; None (with a finding) where it is wrong."""
    where: Callable[[int], str]
    """From a row to words for it."""
    step: Callable[[int], int]
    """From a row to its step."""


def try_part(loaded: Loaded, trial: Trial, notes: Notes) -> Outputs | None:
    """Call a part on all rows and check that it is total, finite, deterministic and works row by row.

    Returns:
        Its results on all rows; None where nothing more can be told from them.
    """
    everything = np.arange(trial.count)
    called = _call(loaded, trial, everything)
    outputs = _take(loaded, trial, called, trial.count, f"a batch of {trial.count} recorded rows", notes)
    if outputs is None:
        return None
    is_finite = check_finite(loaded, trial, outputs, notes)
    named = {finding["line"] for finding in notes.findings if finding["code"] == "not-finite"}
    kept = tuple(item for item in called.warnings if item[1] not in named)
    report_warnings(notes, trial.part, Called(warnings=kept))
    if _is_repeatable(loaded, trial, outputs, everything, notes):
        _check_small_batches(loaded, trial, outputs, notes)
    return outputs if is_finite else None


def check_finite(loaded: Loaded, trial: Trial, outputs: Outputs, notes: Notes) -> bool:
    """Add a finding for each component that is NaN or infinite, with its first row and the line that made it so."""
    is_finite = True
    for name, array in outputs.items():
        bad = ~np.isfinite(array)
        if not bad.any():
            continue
        is_finite = False
        first = np.argwhere(bad)[0]
        row = int(first[0])
        rows = int(bad.reshape(len(bad), -1).any(axis=1).sum())
        entry = int(np.flatnonzero(bad[row].ravel())[0])
        what = f"component {name!r}" if name else f"entry {entry}" if array.ndim > 1 else "the result"
        notes.error(
            "not-finite",
            f"{trial.part}: {what} is {array[tuple(first)]} on {trial.where(row)}.",
            "Guard divisions, logarithms, roots and arc functions (np.clip, np.maximum, np.where).",
            evidence=f"{rows} of {len(array)} rows are affected",
            line=_origin(loaded, trial, row) or _line_of(loaded, trial.part, name, array, entry),
            step=trial.step(row),
        )
    return is_finite


def try_probes(loaded: Loaded, trial: Trial, notes: Notes, *, is_reachable: bool) -> None:
    """Call a part on made-up rows at the edges of what was recorded, and check that it stays finite.

    Args:
        loaded: mdp.py.
        trial: its rows are the made-up ones.
        notes: where findings go.
        is_reachable: whether the rows lie within the recorded range, so that a fault is an error.
    """
    inner = Notes()
    called = _call(loaded, trial, np.arange(trial.count))
    if called.error is not None:
        report_error(inner, trial.part, called, "rows at the edge of the recorded range", None)
    else:
        outputs = trial.convert(called.value, trial.count, "rows at the edge of the recorded range", inner)
        if outputs is not None:
            check_finite(loaded, trial, outputs, inner)
    known = {(finding["code"], finding["line"]) for finding in notes.findings}
    for finding in inner.findings:
        if (finding["code"], finding["line"]) not in known:
            where = {key: finding[key] for key in ("evidence", "line")}
            add = notes.error if is_reachable else notes.warning
            add(finding["code"], finding["message"], finding["advice"], **where)


def _call(loaded: Loaded, trial: Trial, rows: Any, *, raise_numeric: bool = False) -> Called:
    function = loaded.functions[trial.part]
    return call(loaded.file, function, *trial.arguments(rows), raise_numeric=raise_numeric)


def _take(loaded: Loaded, trial: Trial, called: Called, count: int, where: str, notes: Notes) -> Outputs | None:
    if called.error is not None:
        report_error(notes, trial.part, called, where, loaded.line(trial.part))
        return None
    return trial.convert(called.value, count, where, notes)


def _origin(loaded: Loaded, trial: Trial, row: int) -> int | None:
    called = _call(loaded, trial, np.array([row]), raise_numeric=True)
    return called.line if isinstance(called.error, FloatingPointError) else None


def _line_of(loaded: Loaded, part: str, name: str, array: Array, entry: int) -> int | None:
    lines = loaded.at(part)
    if name:
        return lines.of_key(name)
    return lines.of_entry(entry, int(array[0].size)) if array.ndim > 1 else lines.result


def _is_repeatable(loaded: Loaded, trial: Trial, outputs: Outputs, everything: Array, notes: Notes) -> bool:
    order = np.random.default_rng(0).permutation(trial.count)
    shuffled = _take(loaded, trial, _call(loaded, trial, order), trial.count, "the same rows in another order", notes)
    again = _take(loaded, trial, _call(loaded, trial, everything), trial.count, "the same rows again", notes)
    if shuffled is None or again is None:
        return False
    difference = _difference(outputs, again)
    if difference:
        notes.error(
            "not-deterministic",
            f"{trial.part} gives other results when it is called again with the same rows.",
            "Remove random numbers and variables that live from call to call; declare history where memory is needed.",
            evidence=difference,
            line=loaded.line(trial.part),
        )
        return False
    difference = _difference({key: array[order] for key, array in outputs.items()}, shuffled)
    if difference:
        _report_leak(loaded, trial, "their order", difference, notes)
    return not difference


def _check_small_batches(loaded: Loaded, trial: Trial, outputs: Outputs, notes: Notes) -> None:
    batches = [np.array([row]) for row in (0, trial.count // 2, trial.count - 1)]
    batches.append(np.arange(min(SMALL_BATCH, trial.count)))
    for rows in batches:
        where = "a batch of one row" if len(rows) == 1 else f"a batch of {len(rows)} rows"
        found = _take(loaded, trial, _call(loaded, trial, rows), len(rows), where, notes)
        if found is None:
            return
        difference = _difference({key: array[rows] for key, array in outputs.items()}, found)
        if difference:
            _report_leak(loaded, trial, f"the other rows ({where} against all rows)", difference, notes)
            return


def _report_leak(loaded: Loaded, trial: Trial, on: str, difference: str, notes: Notes) -> None:
    notes.error(
        "batch-leak",
        f"{trial.part}: the result of a row depends on {on}.",
        "Compute each row from itself: no mean, max, sort or cumsum over axis 0.",
        evidence=difference,
        line=loaded.line(trial.part),
    )


def _difference(expected: Outputs, found: Outputs) -> str:
    """Describe the largest difference beyond rounding; "" where there is none."""
    if expected.keys() != found.keys():
        return f"components {sorted(expected)} against {sorted(found)}"
    for name, array in expected.items():
        other = found[name]
        if array.shape != other.shape:
            return f"shape {array.shape} against {other.shape}"
        first, second = array.astype(np.float64), other.astype(np.float64)
        both = np.isfinite(first) & np.isfinite(second)
        with np.errstate(invalid="ignore"):
            gap = np.where(both, np.abs(first - second), 0.0)
        gap[np.isfinite(first) != np.isfinite(second)] = np.inf
        size = np.where(both, np.abs(first), 0.0)
        bound = TOLERANCE * np.maximum(max(1e-3, float(size.mean())), size)
        if (gap > bound).any():
            at = np.unravel_index(int(np.argmax(gap - bound)), gap.shape)
            what = f"component {name!r}, " if name else ""
            return f"{what}row {int(at[0])}: {first[at]:.6g} against {second[at]:.6g}"
    return ""
