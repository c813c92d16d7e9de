"""Collecting findings as plain dicts: each kind once a function, with line, evidence, step."""

from dataclasses import dataclass, field
from typing import Any

MAX_TEXT = 400
"""Longest text of one field of a finding, characters."""


@dataclass
class Notes:
    """All findings of one verification, in the form of `agent2_schemas.Finding`."""

    findings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def error(self, code: str, message: str, advice: str = "", **where: Any) -> None:
        """Add a finding that refuses training; `where` is any of evidence, line, step."""
        self._add("error", code, message, advice, where)

    def warning(self, code: str, message: str, advice: str = "", **where: Any) -> None:
        """Add a finding that training may suffer from."""
        self._add("warning", code, message, advice, where)

    def note(self, code: str, message: str, advice: str = "", **where: Any) -> None:
        """Add a finding that is worth knowing."""
        self._add("note", code, message, advice, where)

    def has_errors(self) -> bool:
        """Tell whether any finding is an error."""
        return any(finding["severity"] == "error" for finding in self.findings)

    def codes(self) -> set[str]:
        """Give the kinds found so far."""
        return {finding["code"] for finding in self.findings}

    def _add(self, severity: str, code: str, message: str, advice: str, where: dict[str, Any]) -> None:
        line, step = where.get("line"), where.get("step")
        finding = {
            "code": code,
            "severity": severity,
            "message": message[:MAX_TEXT],
            "advice": advice[:MAX_TEXT],
            "evidence": str(where.get("evidence", ""))[:MAX_TEXT],
            "file": "mdp.py",
            "line": int(line) if line else None,
            "step": None if step is None else int(step),
        }
        same = (code, severity, finding["line"], finding["message"])
        if same not in {(old["code"], old["severity"], old["line"], old["message"]) for old in self.findings}:
            self.findings.append(finding)
