"""The report of a project: one self-contained HTML file, for a person on any screen."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent2_targets.report.data import ReportCurve, ReportData, Spent
    from agent2_targets.report.rendering import render_report

_HOMES = {
    "ReportCurve": "agent2_targets.report.data",
    "ReportData": "agent2_targets.report.data",
    "Spent": "agent2_targets.report.data",
    "render_report": "agent2_targets.report.rendering",
}

__all__ = ["ReportCurve", "ReportData", "Spent", "render_report"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for: jinja2 stays out of a server's start."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
