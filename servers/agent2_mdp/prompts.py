"""The prompts of the MDP server: texts with the project's facts filled in, of bounded length."""

from __future__ import annotations

import json
from importlib.resources import files
from string import Template

from agent2_mdp.facts import open_project
from agent2_schemas import EnvironmentReport, MdpDesign, VerificationReport
from agent2_workspace import CandidateFolder, ProjectFolder, read_json, read_yaml

LONG = 6000
"""Longest filled-in piece, characters."""
SHORT = 2500
MAX_ENTRIES = 24


def text(name: str) -> str:
    """Read a text of the package."""
    return (files("agent2_mdp") / "texts" / name).read_text(encoding="utf-8")


def design_prompt(kind: str, project: str, candidate: str) -> str:
    """Fill one of the three design prompts.

    Args:
        kind: observation, action or reward.
        project: name of the project.
        candidate: candidate whose parts are kept; "" starts from the unchanged MDP.

    Raises:
        NotFound: there is no such project or candidate.
    """
    folder = open_project(project)
    known = folder.candidate(candidate) if candidate else None
    return Template(text(f"design_{kind}.md")).substitute(
        _known_texts(folder), earlier=_earlier(known), contract=text("contract.md")
    )


def repair_prompt(project: str, candidate: str) -> str:
    """Fill the repair prompt with the findings and the numbered code of a candidate.

    Raises:
        NotFound: there is no such project or candidate, or it was not verified.
    """
    folder = open_project(project)
    known = folder.candidate(candidate)
    code = known.mdp_file.read_text(encoding="utf-8")
    numbered = "\n".join(f"{number:4d}  {line}" for number, line in enumerate(code.splitlines(), start=1))
    return Template(text("repair_code.md")).substitute(
        _known_texts(folder),
        candidate=candidate,
        findings=cut(describe_findings(known.read_verification()), LONG),
        numbered="```\n" + cut(numbered, 2 * LONG) + "\n```",
        declared=_declared(folder, known),
        contract=text("contract.md"),
    )


def describe_findings(report: VerificationReport) -> str:
    """Lay findings out as a list, errors first."""
    lines: list[str] = []
    for finding in report.findings:
        place = f" (line {finding.line})" if finding.line else ""
        evidence = f" Evidence: {finding.evidence}." if finding.evidence else ""
        lines.append(f"- {finding.severity} {finding.code}{place}: {finding.message} {finding.advice}{evidence}")
    return "\n".join(lines) or "- none"


def cut(value: str, limit: int) -> str:
    """Shorten a text, and say so."""
    return value if len(value) <= limit else f"{value[:limit]}\n[{len(value) - limit} characters left out]"


def _known_texts(folder: ProjectFolder) -> dict[str, str]:
    project = folder.read()
    return {
        "task": cut(project.task or "Maximise the environment's own return.", SHORT),
        "context": cut(project.context or "None given.", SHORT),
        "environment": _environment(folder),
    }


def _environment(folder: ProjectFolder) -> str:
    if not folder.report_json.exists():
        return f"{folder.read().environment.name}; not inspected yet: call inspect_environment first."
    report = read_json(folder.report_json, EnvironmentReport)
    lines = [
        f"- name: {report.reference.name}",
        f"- observation space: {report.observation_space.model_dump_json()}",
        f"- action space: {report.action_space.model_dump_json()}",
        f"- time limit: {report.max_episode_steps or 'none'} steps; deterministic under a seed: {report.is_deterministic}",
        f"- documentation: {cut(report.documentation, 1200) or 'none'}",
    ]
    lines += [f"- {item.policy} policy: {item.model_dump_json(exclude={'policy'})}" for item in report.episodes]
    lines += [
        f"- observation entry {entry.index}: mean {_number(entry.mean)}, std {_number(entry.std)}, "
        f"min {_number(entry.min)}, max {_number(entry.max)}"
        for entry in report.observation_entries[:MAX_ENTRIES]
    ]
    keys = [f"{key.name} (at {_number(key.presence_fraction)} of steps)" for key in report.info_keys if key.is_numeric]
    lines.append(f"- numeric info keys: {', '.join(keys[:MAX_ENTRIES]) or 'none'}")
    lines += [f"- {finding.severity} {finding.code}: {finding.message}" for finding in report.findings[:12]]
    if report.source_file:
        lines.append("- its source: call read_environment_source")
    return cut("\n".join(lines), LONG)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _earlier(candidate: CandidateFolder | None) -> str:
    if candidate is None:
        return "None: the MDP is unchanged so far."
    code = candidate.mdp_file.read_text(encoding="utf-8")
    spaces = ""
    if candidate.mdp_design_file.exists():
        design = read_yaml(candidate.mdp_design_file, MdpDesign)
        spaces = (
            f"Designed observation space: {design.observation_space.model_dump_json()}\n"
            f"Designed action space: {design.action_space.model_dump_json()}\n"
            f"Declared steps: {design.stateful.model_dump_json()}\n"
        )
    return f"Candidate {candidate.id}:\n{spaces}```python\n{cut(code, LONG)}\n```"


def _declared(folder: ProjectFolder, candidate: CandidateFolder) -> str:
    for event in reversed(folder.journal.events(kind="candidate-written", subject=candidate.id)):
        return json.dumps(event.payload.get("declared", {}))
    return "{}"
