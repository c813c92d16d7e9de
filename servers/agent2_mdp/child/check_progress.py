"""The numeric test for the potential-based form of a reward component, with the ready conversion."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agent2_mdp.child.calls import call
from agent2_mdp.child.conversion import potential_text
from agent2_mdp.child.rehearsal import Outputs
from agent2_mdp.child.reward_inputs import reward_arguments
from agent2_mdp.child.subject import Subject

Values = NDArray[np.float64]
TOLERANCE = 1e-6
MAX_ROWS = 256
MAX_TEXT = 300
"""Longest text of a conversion, characters: a finding holds no more."""


def check_progress(subject: Subject, outputs: Outputs) -> None:
    """Offer the potential-based form for a component that is a difference of one function of the state.

    Such a component `c` is antisymmetric, and additive over a detour: c(a, b) + c(b, d) = c(a, d).
    """
    rows = np.arange(0, len(subject.recording), max(1, len(subject.recording) // MAX_ROWS))
    forward = reward_arguments(subject, rows)
    before, after = forward[0], forward[2]
    third = reward_arguments(subject, rows[::-1])[2]
    legs = [_components(subject, forward, pair) for pair in ((after, before), (after, third), (before, third))]
    for name, values in outputs.items():
        here = values[rows]
        back, onward, across = (leg.get(name) for leg in legs)
        if back is None or onward is None or across is None or not np.any(here):
            continue
        size = float(np.abs(here).max()) + float(np.abs(across).max(initial=0.0))
        if _vanishes(here + back, size) and _vanishes(here + onward - across, size):
            _offer(subject, name, here, forward)


def _components(subject: Subject, arguments: tuple[Any, ...], pair: tuple[Any, Any]) -> dict[str, Values]:
    """Call `reward` on other states before and after; {} where it fails there, as the rehearsal has said or may never show."""
    changed = (pair[0], arguments[1], pair[1], *arguments[3:])
    value = call(subject.loaded.file, subject.loaded.functions["reward"], *changed).value
    found = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return {
        name: np.asarray(item, dtype=np.float64)
        for name, item in found.items()
        if np.shape(item) == np.shape(arguments[3])
    }


def _vanishes(values: Values, size: float) -> bool:
    return bool(np.all(np.abs(values) <= TOLERANCE * size))


def _offer(subject: Subject, name: str, values: Values, arguments: tuple[Any, ...]) -> None:
    weight = subject.loaded.weights.get(name, 1.0)
    text = potential_text(Path(subject.loaded.file).read_text(encoding="utf-8"), name, weight)
    if text is None or len(text) > MAX_TEXT or not _agrees(subject, text, weight * values, arguments):
        advice = (
            "Move that function into potential(observation); the engine forms gamma * potential(next) - potential(now)."
        )
    elif subject.defines("potential"):
        advice = f"Drop the component and add to your potential what this returns:\n{text}"
    else:
        advice = f"Replace the component by:\n{text}"
    subject.notes.note(
        "potential-form",
        f"reward component {name!r} is a difference of a function of the state before and after the step: as a "
        "potential it leaves the best policy unchanged for any discount (Ng et al. 1999).",
        advice,
        line=subject.loaded.at("reward").of_key(name),
    )


def _agrees(subject: Subject, text: str, values: Values, arguments: tuple[Any, ...]) -> bool:
    """Whether the differences of the written potential are the weighted component, over recorded rows."""
    names = dict(subject.loaded.functions["reward"].__globals__)
    exec(compile(text, subject.loaded.file, "exec"), names)  # in the sandbox, as all of mdp.py
    found = [call(subject.loaded.file, names["potential"], state).value for state in (arguments[2], arguments[0])]
    if any(np.shape(each) != values.shape for each in found):
        return False
    difference = np.asarray(found[0], np.float64) - np.asarray(found[1], np.float64)
    return _vanishes(difference - values, float(np.abs(values).max(initial=0.0)) + float(np.abs(found[0]).max()))
