"""The child that draws the before and after histograms of a preview. Run by `call_child`; runs no generated code."""

from __future__ import annotations

import io
import math
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from agent2_sandbox.child import serve_call

MAX_PANELS = 24
COLUMNS = 4
BINS = 30


def main(payload: dict[str, Any]) -> dict[str, Any]:
    """Draw one panel a quantity.

    Args:
        payload: `columns` (name -> [values before or null, values after or null]), `title`.

    Returns:
        `panels`: how many were drawn; `png_hex`: the picture.
    """
    mpl.use("Agg")
    shown = dict(list(payload["columns"].items())[-MAX_PANELS:])
    rows = max(1, math.ceil(len(shown) / COLUMNS))
    figure = Figure(figsize=(3.2 * COLUMNS, 2.2 * rows))
    figure.subplots_adjust(left=0.04, right=0.99, bottom=0.16 / rows, top=1 - 0.26 / rows, wspace=0.25, hspace=0.55)
    axes = figure.subplots(rows, COLUMNS, squeeze=False).ravel().tolist()
    for axis in axes[len(shown) :]:
        axis.set_axis_off()
    for axis, (name, pair) in zip(axes, shown.items(), strict=False):
        for values, label, colour in zip(pair, ("before", "after"), ("#8a8a8a", "#1f6fb2"), strict=True):
            if values:
                counts, edges = np.histogram(values, bins=BINS)
                axis.stairs(counts, edges, fill=True, alpha=0.6, label=label, color=colour)  # one artist: hist makes 30
        axis.set_title(name, fontsize=8)
        axis.tick_params(labelsize=7)
    axes[0].legend(fontsize=7)
    figure.suptitle(str(payload["title"]), fontsize=10)  # pyright: ignore[reportUnknownMemberType]
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)  # pyright: ignore[reportUnknownMemberType]
    return {"panels": len(shown), "png_hex": picture.getvalue().hex()}


if __name__ == "__main__":
    serve_call(main)
