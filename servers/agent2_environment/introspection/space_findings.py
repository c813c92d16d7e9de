"""Findings that the declared spaces alone give."""

from typing import Any

import numpy as np

from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.statistics import is_image
from agent2_targets.runtime.spaces import SpaceDict, box_bounds, leaves

UNEVEN_RATIO = 100.0
"""Widths of action ranges that differ by more than this are worth a note."""
NAMES = {
    "tuple": "Tuple",
    "dict": "Dict",
    "multi_binary": "MultiBinary",
    "multi_discrete": "MultiDiscrete",
    "other": "other",
}


def find_in_spaces(notes: Notes, observation_space: SpaceDict, action_space: SpaceDict) -> None:
    """Add what is wrong with, or worth knowing of, the two declared spaces."""
    _observation(notes, observation_space)
    if action_space["kind"] == "box":
        _action_box(notes, action_space)
    elif action_space["kind"] != "discrete":
        name = _name(action_space)
        notes.find(
            "action-space-unsupported",
            "error",
            f"The action space is a {name} space, which no algorithm here takes: {name} actions are not supported.",
            advice="Offer one Box (continuous) or one Discrete action space; flatten the parts into it.",
            evidence=_short(action_space),
        )


def _observation(notes: Notes, space: SpaceDict) -> None:
    unusable = {key: leaf for key, leaf in leaves(space).items() if leaf["kind"] == "other"}
    if unusable:
        key, leaf = next(iter(unusable.items()))
        notes.find(
            "observation-space-unsupported",
            "error",
            f"The observation space{f' holds at {key!r}' if key else ' is'} a space that is not supported: "
            f"{leaf['description'][:120]}.",
            advice="Offer arrays of fixed shape: Box, Discrete, MultiDiscrete, MultiBinary, or Dict and Tuple of these.",
            evidence=_short(space),
        )
    elif space["kind"] in ("tuple", "dict", "multi_binary", "multi_discrete"):
        notes.find(
            "observation-space-flattened",
            "note",
            f"The observation is a {_name(space)} space; it is flattened into one vector, choices one-hot.",
            evidence=_short(space),
            is_adapted=True,
        )
    if is_image(space):
        shape: list[int] = next(leaf["shape"] for leaf in leaves(space).values() if len(leaf.get("shape", ())) == 3)
        layout = "height x width x channel" if shape[-1] <= min(shape[:2]) else "channel x height x width"
        notes.find(
            "image-observation",
            "note",
            f"The observation is an image of {' x '.join(map(str, shape))} ({layout}), {int(np.prod(shape))} values.",
            advice="Use a convolutional network with channels first and values scaled to 0 … 1, or design `observe`.",
            evidence=_short(space),
        )


def _action_box(notes: Notes, space: SpaceDict) -> None:
    low, high = box_bounds(space)
    unbounded = ~(np.isfinite(low) & np.isfinite(high))
    if unbounded.any():
        notes.find(
            "action-range-unbounded",
            "warning",
            f"{int(unbounded.sum())} of {unbounded.size} action entries have no bounds, so that they cannot be scaled.",
            advice="Declare the range that makes sense in the action space.",
            evidence=f"low {low.ravel()[:8].tolist()}, high {high.ravel()[:8].tolist()}",
        )
        return
    width = (high - low).ravel()
    if (width <= 0).any():
        notes.find(
            "action-range-empty",
            "warning",
            f"{int((width <= 0).sum())} of {width.size} action entries have an empty range.",
            advice="Declare low below high.",
            evidence=f"low {low.ravel()[:8].tolist()}, high {high.ravel()[:8].tolist()}",
        )
        return
    is_odd = bool(np.any(low != -high)) or width.max() / width.min() > UNEVEN_RATIO
    if not is_odd and space["dtype"] != "float64":
        return
    ranges = ", ".join(f"{a:g} … {b:g}" for a, b in list(zip(low.ravel(), high.ravel(), strict=True))[:6])
    notes.find(
        "action-range-uneven" if width.max() / width.min() > UNEVEN_RATIO else "action-range",
        "note",
        f"Action ranges {ranges} ({space['dtype']}); policies act in -1 … 1, which is rescaled to these ranges.",
        evidence=f"widths {width.min():g} to {width.max():g}, dtype {space['dtype']}",
        is_adapted=True,
    )


def _name(space: SpaceDict) -> str:
    return space["description"][:60] if space["kind"] == "other" else NAMES[space["kind"]]


def _short(space: Any) -> str:
    return str(space)[:300]
