"""Level 2 of verification: importing `mdp.py`, its spaces, weights and signatures."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from agent2_mdp.child.calls import Called, call, report_error, report_warnings
from agent2_mdp.child.lines import Lines, find_lines
from agent2_mdp.child.notes import Notes
from agent2_mdp.contract import PARAMETERS
from agent2_targets.runtime.spaces import SpaceDict, from_declaration

SPACE_KEYS = {"shape", "dtype", "low", "high"}
SPACE_FORM = 'Write {"shape": [12], "dtype": "float32", "low": -1.0, "high": 1.0}, or {"n": 5} for discrete actions.'


@dataclass(kw_only=True)
class Loaded:
    """What mdp.py defines, as far as it could be imported."""

    file: str
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    """Parts that can be called with the contract's arguments."""
    observation_space: SpaceDict | None = None
    action_space: SpaceDict | None = None
    weights: dict[str, float] = field(default_factory=dict[str, float])
    has_weights: bool = False
    lines: dict[str, Lines] = field(default_factory=dict[str, Lines])

    def line(self, name: str) -> int | None:
        """Line of a constant or of a part's last return."""
        return self.lines.get(name, Lines()).result

    def at(self, name: str) -> Lines:
        """Lines of a part."""
        return self.lines.get(name, Lines())


def load(file: str, code: str, notes: Notes) -> Loaded | None:
    """Import mdp.py and check what it defines.

    Args:
        file: path of mdp.py; tracebacks name it.
        code: its text.
        notes: where findings go.

    Returns:
        What it defines; None where it could not be imported.
    """
    module = ModuleType("mdp")
    module.__file__ = file

    def run() -> None:
        exec(compile(code, file, "exec"), module.__dict__)  # in the sandbox: this process exists for it

    called = call(file, run)
    if called.error is not None:
        _report_import(notes, called)
        return None
    report_warnings(notes, "mdp.py, while loading,", called)
    loaded = Loaded(file=file, lines=find_lines(code))
    for part in PARAMETERS:
        _take_part(loaded, part, getattr(module, part, None), notes)
    loaded.observation_space = _space(loaded, "OBSERVATION_SPACE", module, notes)
    loaded.action_space = _space(loaded, "ACTION_SPACE", module, notes)
    _weights(loaded, module, notes)
    return loaded


def _report_import(notes: Notes, called: Called) -> None:
    if isinstance(called.error, ImportError):
        message = f"mdp.py could not be loaded: {called.error}."
        notes.error("import-fails", message, "Only NumPy and the standard library are there.", line=called.line)
    else:
        report_error(notes, "mdp.py", called, "being loaded", None)


def _take_part(loaded: Loaded, part: str, value: Any, notes: Notes) -> None:
    if value is None:
        return
    line = loaded.at(part).definition
    if not callable(value):
        notes.error("not-a-function", f"{part} is a {type(value).__name__}, not a function.", "Use `def`.", line=line)
        return
    try:
        inspect.signature(value).bind(*PARAMETERS[part])
    except (TypeError, ValueError) as error:
        wanted = f"def {part}({', '.join(PARAMETERS[part])})"
        notes.error("wrong-parameters", f"{part} cannot be called: {error}.", f"Write `{wanted}`.", line=line)
        return
    loaded.functions[part] = value


def _space(loaded: Loaded, name: str, module: ModuleType, notes: Notes) -> SpaceDict | None:
    value = getattr(module, name, None)
    if value is None:
        return None
    line = loaded.line(name)
    fault = _space_fault(value, allow_discrete=name == "ACTION_SPACE")
    if not fault:
        try:
            return from_declaration(value)
        except (TypeError, ValueError) as error:
            fault = str(error)
    notes.error("space-form", f"{name} is no space: {fault}.", SPACE_FORM, line=line)
    return None


def _space_fault(value: Any, *, allow_discrete: bool) -> str:
    if not isinstance(value, dict):
        return f"it is a {type(value).__name__}, not a dict"
    keys: set[str] = set(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if "n" in keys:
        if not allow_discrete:
            return "an observation cannot be discrete; encode it as numbers"
        n = value["n"]  # pyright: ignore[reportUnknownVariableType]
        return (
            "" if keys == {"n"} and isinstance(n, int) and n >= 1 else "n must be a whole number of at least 1, alone"
        )
    if unknown := keys - SPACE_KEYS:
        return f"it has keys that are not known: {', '.join(sorted(unknown))}"
    if "shape" not in keys:
        return 'it has no "shape"'
    return _box_fault(value)  # pyright: ignore[reportUnknownArgumentType]


def _box_fault(value: dict[str, Any]) -> str:
    try:
        shape = tuple(int(size) for size in np.atleast_1d(value["shape"]))
        low, high = (
            np.broadcast_to(np.array(bound if value.get(key) is None else value[key], float), shape)
            for key, bound in (("low", -np.inf), ("high", np.inf))
        )
        np.dtype(value.get("dtype", "float32"))
    except (TypeError, ValueError) as error:
        return str(error)
    if any(size < 1 for size in shape):
        return f"its shape {shape} has an empty axis"
    return "" if bool(np.all(low < high)) else "low is not below high everywhere"


def _weights(loaded: Loaded, module: ModuleType, notes: Notes) -> None:
    value = getattr(module, "REWARD_WEIGHTS", None)
    if value is None:
        return
    loaded.has_weights = True
    line = loaded.line("REWARD_WEIGHTS")
    if not isinstance(value, dict):
        message = f"REWARD_WEIGHTS is a {type(value).__name__}, not a dict."
        notes.error("weights-form", message, 'Write {"progress": 1.0, "energy": 0.05}.', line=line)
        return
    for name, weight in value.items():  # pyright: ignore[reportUnknownVariableType]
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool) and np.isfinite(weight)
        if isinstance(name, str) and is_number:
            loaded.weights[name] = float(weight)  # pyright: ignore[reportUnknownArgumentType]
        else:
            message = f"REWARD_WEIGHTS has no finite number for {name!r}: {weight!r}."
            at = loaded.at("REWARD_WEIGHTS").of_key(str(name))  # pyright: ignore[reportUnknownArgumentType]
            notes.error("weights-form", message, "Give one finite number a component.", line=at)
