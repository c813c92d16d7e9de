"""Calling a function of `mdp.py` so that whatever it does becomes a finding with a line."""

from __future__ import annotations

import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.notes import Notes
from agent2_mdp.contract import OUTSIDE
from agent2_sandbox.child import WorkerControl

Array = NDArray[Any]


class Watched:
    """The line to the supervisor: a beat before each call, so that one that never ends is found with its line."""

    def __init__(self) -> None:
        """Watch nothing yet."""
        self._control: WorkerControl | None = None
        self._calls = 0

    def begin(self) -> None:
        """Beat from now on; call it before generated code is loaded."""
        self._control = WorkerControl.from_arguments()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # there is nothing to save
        self.beat()

    def beat(self) -> None:
        """Say that the next call begins."""
        self._calls += 1
        if self._control is not None:
            self._control.beat(self._calls, is_forced=True)


WATCHED = Watched()


@dataclass(frozen=True, kw_only=True)
class Called:
    """How a call ended."""

    value: Any = None
    error: BaseException | None = None
    line: int | None = None
    """Line of mdp.py at which it raised."""
    outside: str = ""
    """The innermost frame of the traceback where that lies outside mdp.py."""
    warnings: tuple[tuple[str, int | None], ...] = ()
    """Texts of Python warnings, each with its line of mdp.py where it came from there."""


def call(file: str, function: Callable[..., Any], *arguments: Any, raise_numeric: bool = False) -> Called:
    """Call a function with read-only views of its arguments.

    Args:
        file: path of mdp.py, to tell its lines in tracebacks.
        function: what to call.
        arguments: arrays, dicts of arrays, or mappings.
        raise_numeric: turn division by zero and invalid operations into FloatingPointError, to find their line.
    """
    WATCHED.beat()
    views = [read_only(argument) for argument in arguments]
    mode = "raise" if raise_numeric else "warn"
    with warnings.catch_warnings(record=True) as caught, np.errstate(divide=mode, invalid=mode, over="warn"):
        warnings.simplefilter("always")
        try:
            value = function(*views)
        except BaseException as error:  # whatever generated code raises, SystemExit included, is a finding
            place = outside_place(error, file)
            return Called(error=error, line=line_of(error, file), outside=place, warnings=_texts(caught, file))
    return Called(value=value, warnings=_texts(caught, file))


def read_only(value: Any) -> Any:
    """Give a view of an array, dict or mapping that cannot be written through."""
    if isinstance(value, np.ndarray):
        view = cast("Array", value).view()
        view.flags.writeable = False
        return view
    if isinstance(value, dict):
        return {key: read_only(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, MappingProxyType):
        return MappingProxyType({key: read_only(item) for key, item in cast("dict[str, Any]", value).items()})
    return value


def line_of(error: BaseException, file: str) -> int | None:
    """Find the innermost line of mdp.py in a traceback."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return frames[-1].lineno if frames else None


def outside_place(error: BaseException, file: str) -> str:
    """Word the innermost frame of a traceback where it lies outside mdp.py; empty where it lies inside."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames or frames[-1].filename in (file, __file__):
        return ""
    _, _, short = frames[-1].filename.rpartition("site-packages/")
    return f"{short}, line {frames[-1].lineno}, in {frames[-1].name}"


def describe(error: BaseException) -> str:
    """Give type and text of an exception, shortened."""
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def report_error(notes: Notes, part: str, called: Called, where: str, line: int | None) -> None:
    """Add the finding for an exception of a part.

    Args:
        notes: where findings go.
        part: name of the function.
        called: the call that raised.
        where: on what it was called.
        line: line to name where the traceback tells none.
    """
    error = called.error
    assert error is not None
    code, advice = _kind(error)
    message = f"{part} raised {describe(error)}"
    if isinstance(error, SystemExit):
        message = f"{part} called sys.exit({error.code})"
    evidence = f"{OUTSIDE}{called.outside}" if called.outside else ""
    notes.error(code, f"{message} on {where}.", advice, line=called.line or line, evidence=evidence)


def report_warnings(notes: Notes, part: str, called: Called) -> None:
    """Add findings for the Python warnings of a call, one a line and text."""
    for text, line in dict.fromkeys(called.warnings):
        notes.warning("python-warning", f"{part} gave a warning: {text}.", "Guard this operation.", line=line)


def _kind(error: BaseException) -> tuple[str, str]:
    text = str(error)
    if isinstance(error, ValueError) and "read-only" in text:
        return "changes-input", "Copy first: the arrays belong to the engine (`x = observation.copy()`)."
    if isinstance(error, ValueError) and "truth value" in text:
        return "not-batched", "Arguments are whole batches: use np.where or boolean masks instead of if, and, or."
    if isinstance(error, TypeError) and "only" in text and "scalar" in text:
        return "not-batched", "Arguments are whole batches: use NumPy functions instead of math."
    if isinstance(error, IndexError):
        return "raises", "The first axis is the batch: index entries with `[:, i]` or `[..., i]`."
    if isinstance(error, SystemExit):
        return "exits", "Remove it: return a value for every input."
    if isinstance(error, MemoryError):
        return "out-of-memory", "Use arrays no larger than a few times the input."
    return "raises", "Mend this line."


def _texts(caught: list[warnings.WarningMessage], file: str) -> tuple[tuple[str, int | None], ...]:
    return tuple((str(item.message)[:160], item.lineno if item.filename == file else None) for item in caught)
