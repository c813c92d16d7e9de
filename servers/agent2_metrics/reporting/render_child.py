"""Child process: read the runs' curves and render the report."""

from pathlib import Path
from typing import Any, cast

from agent2_metrics.curves.reading import LogUnreadable, read_log
from agent2_metrics.curves.series import thin
from agent2_sandbox.child import serve_call
from agent2_targets.report import ReportCurve, ReportData, render_report

POINTS = 150


def main(payload: dict[str, object]) -> dict[str, object]:
    """Render.

    Args:
        payload: `data` (`ReportData` as JSON, without curves) and `runs`: list of {run, candidate, purpose, folder}.

    Returns:
        `html`.
    """
    known = cast("dict[str, Any]", payload)
    curves = [curve for run in known["runs"] if (curve := _curve(run)) is not None]
    data = ReportData.model_validate(known["data"]).model_copy(update={"curves": tuple(curves)})
    return {"html": render_report(data)}


def _curve(run: dict[str, str]) -> ReportCurve | None:
    try:
        series = read_log(Path(run["folder"]))[0].named().get("episode_return")
    except LogUnreadable:
        return None
    if series is None:
        return None
    finite = series.finite()
    keep = thin(finite.x, finite.y, POINTS)
    return ReportCurve(
        run_id=run["run"], candidate_id=run["candidate"], purpose=run["purpose"],
        x=tuple(float(value) for value in finite.x[keep]), values=tuple(float(value) for value in finite.y[keep]),
    )  # fmt: skip


if __name__ == "__main__":
    serve_call(main)
