"""Gathering what is known about a run, so that the child can diagnose it."""

import contextlib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent2_metrics import children
from agent2_metrics.comparing.run_scores import read_run_score, shared_mode
from agent2_metrics.run_status import read_evaluations
from agent2_metrics.sources import Source
from agent2_schemas import Agent2Error, Design, Diagnosis, EnvironmentReport, VerificationReport
from agent2_workspace import CandidateFolder, ProjectFolder, RunFolder, read_json, read_yaml


async def diagnose_source(source: Source) -> Diagnosis:
    """Diagnose a run or a log folder in a child process.

    Raises:
        CorrectableError: the folder holds no curves, or several runs.
    """
    payload: dict[str, Any] = {"folder": str(source.folder), "source": source.label}
    if source.project is not None and source.run is not None:
        payload |= _known(source.project, source.run)
    value = await children.ask("diagnosis.diagnose_child", payload, read_only=(source.folder,))
    diagnosis = Diagnosis.model_validate(value)
    if source.project is not None:
        source.project.journal.append("metrics", "diagnosis", source.label, diagnosis)
    return diagnosis


def read_report(project: ProjectFolder) -> EnvironmentReport | None:
    """Read the inspection; None where there is none."""
    with contextlib.suppress(OSError, ValidationError):
        return read_json(project.report_json, EnvironmentReport)
    return None


def read_run_design(run: RunFolder, project: ProjectFolder, candidate_id: str) -> tuple[Design | None, Path]:
    """Read the design as it was trained, and the folder it lies in; the candidate's own where no copy is left."""
    for folder in (run.candidate_copy, project.root / "candidates" / candidate_id):
        with contextlib.suppress(OSError, ValidationError):
            return read_yaml(folder / "design.yaml", Design), folder
    return None, run.candidate_copy


def target_return(project: ProjectFolder) -> float | None:
    """The return the user asked for, where a build recorded one."""
    for event in reversed(project.journal.events(kind="options")):
        wanted = event.payload.get("target_return")
        if isinstance(wanted, int | float):
            return float(wanted)
    return None


def _known(project: ProjectFolder, run: RunFolder) -> dict[str, Any]:
    specification = run.read_specification()
    design, _ = read_run_design(run, project, specification.candidate_id)
    report = read_report(project)
    return {
        "design": design.model_dump(mode="json") if design else None,
        "report": report.model_dump(mode="json") if report else None,
        "verification": _verification(project, specification.candidate_id),
        "evaluations": [
            each.model_dump(mode="json")
            for each in read_evaluations(run)
            if each.state == "finished" and each.purpose == "selection"
        ],
        "sibling_scores": _sibling_scores(project, specification.design_sha256, specification.purpose),
        "budget_env_steps": specification.budget_env_steps,
        "target_return": target_return(project),
    }


def _verification(project: ProjectFolder, candidate_id: str) -> dict[str, Any] | None:
    with contextlib.suppress(Agent2Error, OSError, ValidationError):
        folder = CandidateFolder(project.root / "candidates" / candidate_id)
        report: VerificationReport = folder.read_verification()
        return report.model_dump(mode="json")
    return None


def _sibling_scores(project: ProjectFolder, design_sha256: str, purpose: str) -> list[float]:
    """Scores of the runs of the same design for the same purpose: search scores never mix with re-tests."""
    seeds = "verdict" if purpose == "verdict" else "selection"
    siblings = [
        run.id
        for run in map(project.run, project.run_ids())
        if run.specification_file.exists()
        and (specification := run.read_specification()).design_sha256 == design_sha256
        and specification.purpose == purpose
    ]
    mode = shared_mode(project, siblings, seeds)
    scores = (read_run_score(project, run_id, seeds, mode).score for run_id in siblings)
    return [score for score in scores if score is not None]
