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
class Rehearsal:
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


def try_part(loaded: Loaded, rehearsal: Rehearsal, notes: Notes) -> Outputs | None:
    """Call a part on all rows and check that it is total, finite, deterministic and works row by row.

    Returns:
        Its results on all rows; None where nothing more can be told from them.
    """
    everything = np.arange(rehearsal.count)
    called = _call(loaded, rehearsal, everything)
    outputs = _take(loaded, rehearsal, called, rehearsal.count, f"a batch of {rehearsal.count} recorded rows", notes)
    if outputs is None:
        return None
    is_finite = check_finite(loaded, rehearsal, outputs, notes)
    named = {finding["line"] for finding in notes.findings if finding["code"] == "not-finite"}
    kept = tuple(item for item in called.warnings if item[1] not in named)
    report_warnings(notes, rehearsal.part, Called(warnings=kept))
    if _is_repeatable(loaded, rehearsal, outputs, everything, notes):
        _check_small_batches(loaded, rehearsal, outputs, notes)
    return outputs if is_finite else None


def check_finite(loaded: Loaded, rehearsal: Rehearsal, outputs: Outputs, notes: Notes) -> bool:
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
            f"{rehearsal.part}: {what} is {array[tuple(first)]} on {rehearsal.where(row)}.",
            "Guard divisions, logarithms, roots and arc functions (np.clip, np.maximum, np.where).",
            evidence=f"{rows} of {len(array)} rows are affected",
            line=_origin(loaded, rehearsal, row) or _line_of(loaded, rehearsal.part, name, array, entry),
            step=rehearsal.step(row),
        )
    return is_finite


def try_probes(loaded: Loaded, rehearsal: Rehearsal, notes: Notes, *, is_reachable: bool) -> None:
    """Call a part on made-up rows at the edges of what was recorded, and check that it stays finite.

    Args:
        loaded: mdp.py.
        rehearsal: its rows are the made-up ones.
        notes: where findings go.
        is_reachable: whether the rows lie within the recorded range, so that a fault is an error.
    """
    inner = Notes()
    called = _call(loaded, rehearsal, np.arange(rehearsal.count))
    if called.error is not None:
        report_error(inner, rehearsal.part, called, "rows at the edge of the recorded range", None)
    else:
        outputs = rehearsal.convert(called.value, rehearsal.count, "rows at the edge of the recorded range", inner)
        if outputs is not None:
            check_finite(loaded, rehearsal, outputs, inner)
    known = {(finding["code"], finding["line"]) for finding in notes.findings}
    for finding in inner.findings:
        if (finding["code"], finding["line"]) not in known:
            where = {key: finding[key] for key in ("evidence", "line")}
            add = notes.error if is_reachable else notes.warning
            add(finding["code"], finding["message"], finding["advice"], **where)


def _call(loaded: Loaded, rehearsal: Rehearsal, rows: Any, *, raise_numeric: bool = False) -> Called:
    function = loaded.functions[rehearsal.part]
    return call(loaded.file, function, *rehearsal.arguments(rows), raise_numeric=raise_numeric)


def _take(loaded: Loaded, rehearsal: Rehearsal, called: Called, count: int, where: str, notes: Notes) -> Outputs | None:
    if called.error is not None:
        report_error(notes, rehearsal.part, called, where, loaded.line(rehearsal.part))
        return None
    return rehearsal.convert(called.value, count, where, notes)


def _origin(loaded: Loaded, rehearsal: Rehearsal, row: int) -> int | None:
    called = _call(loaded, rehearsal, np.array([row]), raise_numeric=True)
    return called.line if isinstance(called.error, FloatingPointError) else None


def _line_of(loaded: Loaded, part: str, name: str, array: Array, entry: int) -> int | None:
    lines = loaded.at(part)
    if name:
        return lines.of_key(name)
    return lines.of_entry(entry, int(array[0].size)) if array.ndim > 1 else lines.result


def _is_repeatable(loaded: Loaded, rehearsal: Rehearsal, outputs: Outputs, everything: Array, notes: Notes) -> bool:
    order = np.random.default_rng(0).permutation(rehearsal.count)
    shuffled = _take(
        loaded, rehearsal, _call(loaded, rehearsal, order), rehearsal.count, "the same rows in another order", notes
    )
    again = _take(
        loaded, rehearsal, _call(loaded, rehearsal, everything), rehearsal.count, "the same rows again", notes
    )
    if shuffled is None or again is None:
        return False
    difference = _difference(outputs, again)
    if difference:
        notes.error(
            "not-deterministic",
            f"{rehearsal.part} gives other results when it is called again with the same rows.",
            "Remove random numbers and variables that live from call to call; declare history where memory is needed.",
            evidence=difference,
            line=loaded.line(rehearsal.part),
        )
        return False
    difference = _difference({key: array[order] for key, array in outputs.items()}, shuffled)
    if difference:
        _report_leak(loaded, rehearsal, "their order", difference, notes)
    return not difference


def _check_small_batches(loaded: Loaded, rehearsal: Rehearsal, outputs: Outputs, notes: Notes) -> None:
    batches = [np.array([row]) for row in (0, rehearsal.count // 2, rehearsal.count - 1)]
    batches.append(np.arange(min(SMALL_BATCH, rehearsal.count)))
    for rows in batches:
        where = "a batch of one row" if len(rows) == 1 else f"a batch of {len(rows)} rows"
        found = _take(loaded, rehearsal, _call(loaded, rehearsal, rows), len(rows), where, notes)
        if found is None:
            return
        difference = _difference({key: array[rows] for key, array in outputs.items()}, found)
        if difference:
            _report_leak(loaded, rehearsal, f"the other rows ({where} against all rows)", difference, notes)
            return


def _report_leak(loaded: Loaded, rehearsal: Rehearsal, on: str, difference: str, notes: Notes) -> None:
    notes.error(
        "batch-leak",
        f"{rehearsal.part}: the result of a row depends on {on}.",
        "Compute each row from itself: no mean, max, sort or cumsum over axis 0.",
        evidence=difference,
        line=loaded.line(rehearsal.part),
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
