"""Child process: read a log folder and answer with thinned curves."""

from pathlib import Path
from typing import Any, cast

import numpy as np

from agent2_metrics.curves.canonical import canonical
from agent2_metrics.curves.reading import LogRun, read_log
from agent2_metrics.curves.series import Series, thin
from agent2_sandbox.child import serve_call

SIGNIFICANT_DIGITS = 5


def main(payload: dict[str, object]) -> dict[str, object]:
    """Read and thin.

    Args:
        payload: `folder`; `names` (empty: every known curve); `max_points` a curve; `total_points` over all curves,
            where no name was given.

    Returns:
        `library`, `curves`, `other_tags` and `missing` names, as `RunCurves` holds them.
    """
    runs = read_log(Path(str(payload["folder"])))
    wanted = [canonical(name) for name in cast("list[str]", payload["names"])]
    entries = [(run, series) for run in runs for series in run.series]
    chosen = [(run, series) for run, series in entries if _is_wanted(series, wanted)]
    if not wanted and not chosen:  # a log that no table knows: everything there is
        chosen = entries
    max_points = int(str(payload["max_points"]))
    if not wanted:
        max_points = max(2, min(max_points, int(str(payload["total_points"])) // max(1, len(chosen))))
    several = len(runs) > 1
    kept = {id(series) for _, series in chosen}
    return {
        "library": runs[0].library if len({run.library for run in runs}) == 1 else "unknown",
        "curves": [_curve(run, series, max_points, is_prefixed=several) for run, series in chosen],
        "other_tags": sorted({series.tag for _, series in entries if id(series) not in kept}),
        "missing": [name for name in wanted if not any(_is_wanted(series, [name]) for _, series in entries)],
        "folders": [run.folder for run in runs],
    }


def _is_wanted(series: Series, wanted: list[str]) -> bool:
    if not wanted:
        return series.is_known and series.name != series.tag
    return series.name in wanted or series.tag in wanted


def _curve(run: LogRun, series: Series, max_points: int, *, is_prefixed: bool) -> dict[str, Any]:
    keep = thin(series.x, series.y, max_points)
    prefix = f"{run.folder or '.'}:" if is_prefixed else ""
    return {
        "name": prefix + series.name,
        "tag": prefix + series.tag,
        "x_unit": series.x_unit,
        "x": [float(value) for value in series.x[keep]],
        "values": [_rounded(float(value)) for value in series.y[keep]],
        "nonfinite_count": series.nonfinite_count,
        "hole_count": series.hole_count,
        "points": len(series.x),
    }


def _rounded(value: float) -> float | None:
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if np.isfinite(value) else None


if __name__ == "__main__":
    serve_call(main)
