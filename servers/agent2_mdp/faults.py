"""Telling faults of the environment or the installation from faults of the code, so that nobody repairs the wrong thing."""

from collections.abc import Iterable

from agent2_mdp.contract import OUTSIDE
from agent2_schemas import EnvironmentReport, Finding, VerificationReport
from agent2_workspace import ProjectFolder

FAULT_CODE = "environment-fault"
MIN_CANDIDATES = 3
"""Candidates of different code that must fail alike before the code is no longer blamed."""
OF_THE_CODE = (
    "ArithmeticError", "AssertionError", "AttributeError", "AxisError", "FloatingPointError", "IndexError", "KeyError",
    "LinAlgError", "NameError", "OverflowError", "RecursionError", "TypeError", "UnboundLocalError", "ValueError",
    "ZeroDivisionError", "_UFuncNoLoopError", "UFuncTypeError", "DTypePromotionError",
)  # fmt: skip
"""Exceptions that libraries raise because of what they are handed: the code's fault, wherever they are raised."""

_OBSERVE = """

def observe(observation):
    return np.array(observation, dtype=np.float64)
"""
_OTHERS = '''"""A design that is known to be good: every part as plain as can be."""
import numpy as np


def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"original": np.array(original_reward)}


def potential(observation):
    first = next(iter(observation.values())) if isinstance(observation, dict) else observation
    return np.zeros(len(first))
'''


def known_good_code(environment: EnvironmentReport) -> str:
    """Give an mdp.py that passes wherever environment and installation are sound."""
    return _OTHERS + (_OBSERVE if environment.observation_space.kind == "box" else "")


def is_suspicious(findings: Iterable[Finding]) -> bool:
    """Whether an error may come from elsewhere than the code, so that the known-good design should be tried."""
    return any(finding.severity == "error" and _may_be_elsewhere(finding) for finding in findings)


def _may_be_elsewhere(finding: Finding) -> bool:
    return finding.code in ("not-finite", "crashes") or _is_outside(finding)


def _is_outside(finding: Finding) -> bool:
    if not finding.evidence.startswith(OUTSIDE):
        return False
    return not any(f"raised {name}" in finding.message for name in OF_THE_CODE)


def with_shared_fault(project: ProjectFolder, code: str, report: VerificationReport) -> VerificationReport:
    """Add a finding where candidates of different code fail with the same traceback outside mdp.py.

    Args:
        project: whose journal holds the earlier reports.
        code: mdp.py of the candidate that was just verified.
        report: its report.
    """
    tracebacks = _tracebacks(report.findings)
    if not tracebacks:
        return report
    alike: dict[str, str] = {code: report.candidate_id}
    for event in project.journal.events(kind="verification"):
        earlier = VerificationReport.model_validate(event.payload)
        if tracebacks & _tracebacks(earlier.findings):
            alike.setdefault(_code_of(project, earlier.candidate_id), earlier.candidate_id)
    alike.pop("", None)
    if len(alike) < MIN_CANDIDATES:
        return report
    names = ", ".join(sorted(alike.values(), key=lambda name: (len(name), name))[:8])
    finding = Finding(
        code=FAULT_CODE,
        severity="error",
        message=f"Candidates {names} differ in code and fail with the same traceback outside mdp.py: the environment or "
        "the installation is at fault, not the code.",
        advice="Do not rewrite the code. A person should run `agent2 doctor` and inspect the environment again.",
        evidence=sorted(tracebacks)[0][:400],
    )
    return report.model_copy(update={"findings": (finding, *report.findings)})


def _tracebacks(findings: Iterable[Finding]) -> set[str]:
    return {
        f"{finding.message} {finding.evidence}" if _is_outside(finding) else finding.message
        for finding in findings
        if finding.severity == "error"
        and (_is_outside(finding) or (finding.code == "crashes" and finding.line is None))
    }


def _code_of(project: ProjectFolder, candidate_id: str) -> str:
    path = project.root / "candidates" / candidate_id / "mdp.py"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
