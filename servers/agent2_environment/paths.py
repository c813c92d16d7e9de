"""Paths inside a report, moved with the files that they name."""

import json

from agent2_schemas import EnvironmentReport


def with_paths(report: EnvironmentReport, old: str, new: str) -> EnvironmentReport:
    """Let every path in a report, also within messages, point to where the files lie for good."""
    text = report.model_dump_json().replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1])
    return EnvironmentReport.model_validate_json(text)
