"""Texts of `mdp.py` for published priors, with the measured numbers written in."""

import math
from typing import Any


def numbers(values: list[float]) -> str:
    """Write numbers as a Python list with nine significant digits."""
    return "[" + ", ".join(f"{value:.9g}" for value in values) + "]"


def scale_to_bounds(low: list[float], high: list[float]) -> str:
    """Scale each entry from its bounds to [-1, 1]."""
    return f'''"""Each observation entry is scaled from its bounds to [-1, 1]."""

import numpy as np

LOW = np.array({numbers(low)})
HIGH = np.array({numbers(high)})
OBSERVATION_SPACE = {{"shape": [{len(low)}], "dtype": "float32", "low": -1.0, "high": 1.0}}


def observe(observation):
    """(batch, {len(low)}) -> (batch, {len(low)})"""
    scaled = 2.0 * (observation - LOW) / (HIGH - LOW) - 1.0
    return np.clip(scaled, -1.0, 1.0).astype(np.float32)
'''


def sin_cos(angles: list[int], low: list[float], high: list[float]) -> str:
    """Replace angles by their sine and cosine, and leave the other entries as they are."""
    others = [index for index in range(len(low)) if index not in angles]
    kept_low = [low[index] for index in others] + [-1.0] * (2 * len(angles))
    kept_high = [high[index] for index in others] + [1.0] * (2 * len(angles))
    size = len(kept_low)
    return f'''"""Angles become sine and cosine, which do not jump at pi; the other entries stay."""

import numpy as np

ANGLES = {angles}
OTHERS = {others}
OBSERVATION_SPACE = {{
    "shape": [{size}],
    "dtype": "float32",
    "low": {_optional(kept_low)},
    "high": {_optional(kept_high)},
}}


def observe(observation):
    """(batch, {len(low)}) -> (batch, {size})"""
    angle = observation[:, ANGLES]
    parts = [observation[:, OTHERS], np.sin(angle), np.cos(angle)]
    return np.concatenate(parts, axis=1).astype(np.float32)
'''


def distance_potential(goal: dict[str, Any]) -> str:
    """Shape by the fewest recorded transitions from a discrete state to a rewarded one."""
    steps: list[int | None] = goal["steps"]
    farthest = max((step for step in steps if step is not None), default=1) or 1
    values = [0.0 if step is None else goal["reward"] * (1 - step / farthest) for step in steps]
    rows = "\n".join(f"        {', '.join(f'{v:.4g}' for v in values[i : i + 12])}," for i in range(0, len(values), 12))
    return f'''"""Potential: the reward of the goal, less the share of the way that is left (fewest recorded transitions)."""

import numpy as np

POTENTIAL = np.array(
    [
{rows}
    ]
)


def potential(observation):
    """(batch,) states -> (batch,)"""
    return POTENTIAL[observation - {goal["start"]}]
'''


def point_potential(goal: dict[str, Any]) -> str:
    """Shape by the scaled distance to the median rewarded state."""
    return f'''"""Potential: the reward of the goal, less the scaled distance to the median rewarded state."""

import numpy as np

ENTRIES = {goal["entries"]}
GOAL = np.array({numbers(goal["values"])})
SCALE = np.array({numbers(goal["scales"])})
REWARD = {goal["reward"]:.6g}


def potential(observation):
    """(batch, *) -> (batch,)"""
    gap = (observation[:, ENTRIES] - GOAL) / SCALE
    return REWARD * (1.0 - np.sqrt(np.mean(gap**2, axis=1)))
'''


def _optional(values: list[float]) -> str:
    if all(math.isfinite(value) for value in values):
        return numbers(values)
    words = [
        f"{value:.9g}" if math.isfinite(value) else ('float("inf")' if value > 0 else '-float("inf")')
        for value in values
    ]
    return "[" + ", ".join(words) + "]"
