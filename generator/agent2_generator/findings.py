"""Findings as a person reads them: all at once, worst first, each with what to do."""

from rich.console import Console

from agent2_schemas import EnvironmentReport, Finding

_ORDER = {"error": 0, "warning": 1, "note": 2}
_STYLE = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def print_findings(console: Console, report: EnvironmentReport | None) -> None:
    """Print all findings of an inspection."""
    for finding in sorted(report.findings if report else (), key=lambda f: _ORDER[f.severity]):
        print_finding(console, finding)


def print_finding(console: Console, finding: Finding) -> None:
    """Print one finding with place, evidence and advice."""
    place = (
        f" ({finding.file}{f', line {finding.line}' if finding.line else ''})" if finding.file or finding.line else ""
    )
    adapted = " [adapted]" if finding.is_adapted else ""
    console.print(
        f"{finding.severity}{adapted}: {finding.message}{place}",
        style=_STYLE[finding.severity],
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    for text in (finding.evidence, finding.advice):
        if text:
            console.print(f"    {text}", markup=False, highlight=False, soft_wrap=True)
