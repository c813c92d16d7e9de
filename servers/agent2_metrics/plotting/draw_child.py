"""Child process: draw learning curves with Matplotlib; one panel a metric, one colour a candidate."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false
# The signatures of Matplotlib leave keyword arguments open.

from pathlib import Path
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agent2_metrics.curves.canonical import canonical
from agent2_metrics.curves.reading import LogUnreadable, read_log
from agent2_metrics.curves.series import Series
from agent2_sandbox.child import serve_call

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
"""Okabe and Ito: told apart by colour-blind readers too."""
GRID_POINTS = 200
PANEL_INCHES = (7.2, 3.2)
DOTS_PER_INCH = 110


def main(payload: dict[str, object]) -> dict[str, object]:
    """Draw.

    Args:
        payload: `runs`: list of {run, candidate, folder}; `names`; `file` (inside the writable folder); `title`.

    Returns:
        `drawn` metrics and `missing` ones.
    """
    known = cast("dict[str, Any]", payload)
    names = [canonical(name) for name in known["names"]]
    curves = {name: _collect(known["runs"], name) for name in names}
    drawn = [name for name in names if curves[name]]
    if not drawn:
        raise LogUnreadable(f"No run has a curve {' or '.join(names)}.")
    figure = Figure(figsize=(PANEL_INCHES[0], PANEL_INCHES[1] * len(drawn)), dpi=DOTS_PER_INCH, layout="constrained")
    panels = figure.subplots(len(drawn), 1, squeeze=False)[:, 0]
    candidates = list(dict.fromkeys(run["candidate"] for run in known["runs"]))
    for panel, name in zip(panels, drawn, strict=True):
        _draw(panel, name, curves[name], candidates)
    figure.suptitle(known["title"], fontsize=11)
    target = Path(known["file"])
    temporary = target.with_suffix(".tmp.png")
    figure.savefig(temporary, metadata={"Software": ""})
    temporary.replace(target)
    return {"drawn": drawn, "missing": [name for name in names if not curves[name]]}


def _collect(runs: list[dict[str, str]], name: str) -> list[tuple[str, str, Series]]:
    found: list[tuple[str, str, Series]] = []
    for run in runs:
        try:
            log = read_log(Path(run["folder"]))[0]
        except LogUnreadable:
            continue
        series = log.named().get(name)
        if series is not None and len(series.finite().x):
            found.append((run["candidate"], run["run"], series.finite()))
    return found


def _draw(panel: Axes, name: str, curves: list[tuple[str, str, Series]], candidates: list[str]) -> None:
    for candidate in candidates:
        own = [series for each, _, series in curves if each == candidate]
        if not own:
            continue
        colour = COLOURS[candidates.index(candidate) % len(COLOURS)]
        label = f"{candidate} ({len(own)} run{'s' if len(own) > 1 else ''})"
        for series in own:
            alone = len(own) == 1
            panel.plot(series.x, series.y, color=colour, linewidth=1.6 if alone else 0.7, alpha=1 if alone else 0.4)
        if len(own) > 1:
            x, mean = _mean(own)
            panel.plot(x, mean, color=colour, linewidth=2.2)
        panel.plot([], [], color=colour, linewidth=2.2, label=label)
    panel.set_ylabel(name.replace("_", " "))
    panel.set_xlabel(curves[0][2].x_unit.replace("_", " "))
    panel.grid(visible=True, alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=8, frameon=False, loc="best")


def _mean(curves: list[Series]) -> tuple[Any, Any]:
    """Mean over runs where all of them have values."""
    start, end = max(float(each.x[0]) for each in curves), min(float(each.x[-1]) for each in curves)
    x = np.linspace(start, max(start, end), GRID_POINTS)
    return x, np.mean([np.interp(x, each.x, each.y) for each in curves], axis=0)


if __name__ == "__main__":
    serve_call(main)
