"""From what a part returned to arrays, or to a finding that says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.module import Loaded
from agent2_mdp.child.notes import Notes

Array = NDArray[Any]
Converter = Callable[[Any, int, str, Notes], dict[str, Array] | None]


def one_array(loaded: Loaded, part: str, shape: tuple[int, ...] | None, declared: str = "") -> Converter:
    """Make the check of a part that returns one array `(batch, *shape)`.

    Args:
        loaded: mdp.py.
        part: name of the part.
        shape: shape of one row; None: any.
        declared: what declares the shape, to be named; "" for the contract itself.
    """

    def convert(value: Any, count: int, where: str, notes: Notes) -> dict[str, Array] | None:
        array = numeric(value, f"{part} returned", loaded.line(part), where, notes)
        if array is None or not has_rows(array, count, f"{part} returned", loaded.line(part), where, notes):
            return None
        if shape is not None and array.shape[1:] != shape:
            expected = f"({', '.join(['batch', *map(str, shape)])})"
            code, by = ("shape-not-declared", f" by {declared}") if declared else ("wrong-shape", "")
            message = f"{part} returned shape {array.shape} on {where}; {expected} is asked for{by}."
            advice = f"Make {part} and {declared} agree." if declared else f"Return one array of shape {expected}."
            notes.error(code, message, advice, line=loaded.line(part))
            return None
        return {"": array}

    return convert


def components(loaded: Loaded) -> Converter:
    """Make the check of `reward`: a dict of named components, each of shape `(batch,)`."""

    def convert(value: Any, count: int, where: str, notes: Notes) -> dict[str, Array] | None:
        lines = loaded.at("reward")
        if not isinstance(value, dict) or not value:
            kind = "an empty dict" if isinstance(value, dict) else f"a {type(value).__name__}"
            advice = 'Return a dict of components, e.g. {"progress": progress, "energy": energy}.'
            notes.error("reward-not-a-dict", f"reward returned {kind}.", advice, line=lines.result)
            return None
        found: dict[str, Array] = {}
        for name, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            subject = f"reward component {name!r} is"
            array = numeric(item, subject, lines.of_key(str(name)), where, notes)  # pyright: ignore[reportUnknownArgumentType]
            if array is None:
                continue
            if array.shape != (count,):
                message = f"reward component {name!r} has shape {array.shape} on {where}; (batch,) is asked for."
                advice = "One number a row: sum over the entries of a row with axis=1, never over the batch."
                notes.error("wrong-shape", message, advice, line=lines.of_key(str(name)))  # pyright: ignore[reportUnknownArgumentType]
                continue
            found[str(name)] = array.astype(np.float64)  # pyright: ignore[reportUnknownArgumentType]
        return found if len(found) == len(value) else None  # pyright: ignore[reportUnknownArgumentType]

    return convert


def numeric(value: Any, subject: str, line: int | None, where: str, notes: Notes) -> Array | None:
    """Take a value as an array of real numbers; a finding where it is none."""
    if value is None:
        notes.error("returns-nothing", f"{subject} None on {where}.", "Return an array on every path.", line=line)
        return None
    try:
        array = np.asarray(value)
    except ValueError as error:
        notes.error("wrong-type", f"{subject} no array on {where}: {error}.", "Return one array.", line=line)
        return None
    if array.dtype.kind not in "fiub":
        message = f"{subject} {array.dtype} on {where}; real numbers are asked for."
        notes.error("wrong-dtype", message, "Return an array of real numbers (float32 or float64).", line=line)
        return None
    return array


def has_rows(array: Array, count: int, subject: str, line: int | None, where: str, notes: Notes) -> bool:
    """Check the batch axis."""
    if array.ndim and len(array) == count:
        return True
    message = f"{subject} shape {array.shape} on {where}; the first axis must be the batch of {count}."
    advice = "The first axis is the batch: stack features with np.stack(…, axis=1) or np.concatenate(…, axis=1)."
    notes.error("wrong-shape", message, advice, line=line)
    return False
