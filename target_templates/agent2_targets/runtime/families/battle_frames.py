"""Frames of a battle, drawn with NumPy alone: discs for units, a bar of health above each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIZE_PIXELS = 320
RADIUS_PIXELS, BAR_PIXELS = 8, 16
GROUND, ALLY, ENEMY, BAR, LOST = (238, 236, 228), (46, 105, 178), (196, 70, 56), (70, 150, 70), (150, 150, 150)


def battle_frame(
    positions: NDArray[np.floating],
    health: NDArray[np.floating],
    is_ally: NDArray[np.bool_],
    low: float,
    high: float,
) -> NDArray[np.uint8]:
    """Draw one moment of a battle.

    Args:
        positions: places of the units (units, 2), in the field's own unit of length; y points up.
        health: share of full health that each unit has left (units,); 0 is dead and not drawn.
        is_ally: which units are the agents' own side (units,).
        low: coordinate of the field's left and lower edge.
        high: coordinate of its right and upper edge.

    Returns:
        The frame (320, 320, 3) uint8.
    """
    frame = np.full((SIZE_PIXELS, SIZE_PIXELS, 3), GROUND, dtype=np.uint8)
    rows, columns = np.ogrid[:SIZE_PIXELS, :SIZE_PIXELS]
    places = (np.clip((positions - low) / (high - low), 0.0, 1.0) * (SIZE_PIXELS - 1)).astype(int)
    for (x, up), left, ally in zip(places, health, is_ally, strict=True):
        if left <= 0:
            continue
        y = SIZE_PIXELS - 1 - up
        frame[(rows - y) ** 2 + (columns - x) ** 2 <= RADIUS_PIXELS**2] = ALLY if ally else ENEMY
        top, start = max(y - RADIUS_PIXELS - 5, 0), max(x - BAR_PIXELS // 2, 0)
        frame[top : top + 3, start : start + BAR_PIXELS] = LOST
        frame[top : top + 3, start : start + max(1, round(BAR_PIXELS * float(min(left, 1.0))))] = BAR
    return frame
