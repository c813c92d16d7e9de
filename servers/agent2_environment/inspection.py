"""`inspect_environment`: find it, copy it, let a child look at it, and say all that was found at once."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from agent2_environment.children import as_payload, ask_child
from agent2_environment.crash import LAST_PHASES, Place, crash_finding, read_partial, read_place
from agent2_environment.fingerprint import fingerprint
from agent2_environment.location import Location, locate
from agent2_environment.opening import Staged, find_opened, open_into, reusable_report
from agent2_environment.paths import with_paths
from agent2_environment.snapshot import copy_sources, source_files
from agent2_sandbox import ChildAnswer, ChildFailed
from agent2_schemas import (
    EnvironmentNotFound,
    EnvironmentReport,
    Finding,
    Inspection,
    Isolation,
    OtherSpace,
    PrerequisiteError,
)
from agent2_workspace import Workspace

START_SECONDS, STEP_SECONDS, FIRST_SECONDS = 60.0, 3.0, 30.0
TIMEOUT_SECONDS = 300.0
RECORDING_LANE = 2**30
"""Recordings use seeds in the lane that `agent2_workspace.seeds` keeps for them, away from all scores."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the caller of `inspect_environment` asked for."""

    environment: str
    keyword_arguments: dict[str, JsonValue]
    max_episode_steps: int | None
    project: str
    task: str
    context: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What a child told: a report without the server's own fields, findings, and whether it came to its end."""

    report: dict[str, Any]
    findings: tuple[Finding, ...]
    is_complete: bool
    isolation: Isolation | None


async def inspect(wish: Wish, workspace: Workspace) -> Inspection:
    """Inspect an environment; where a project is named, open it.

    Nothing is left in the workspace unless the inspection came to its end without a finding of severity error.

    Raises:
        EnvironmentNotFound: it cannot be built.
        CorrectableError: the file may not be read, or the project is about another environment.
        PrerequisiteError: the workspace cannot be written, or there is no sandbox.
    """
    opened = find_opened(workspace, wish.project)
    location = locate(
        wish.environment,
        wish.keyword_arguments,
        wish.max_episode_steps,
        workspace_root=workspace.root,
        opened=opened,
    )
    with _staging(workspace, wish.project) as folder:
        root = _copy(location, folder / "environment", workspace)
        if opened is not None:
            known = reusable_report(opened, location.reference, root)
            if known is not None:
                return Inspection(
                    message="The environment has not changed since its inspection; the report is that one.",
                    project=opened.name,
                    project_folder=str(opened.root),
                    next_step=f"suggest_mdp(project={opened.name!r})",
                    report=known,
                )
        out = folder / "out"
        out.mkdir()
        seen = await _look(location, wish, root, out)
        report = _report(location, seen, root, wish)
        staged = Staged(report=report, root=root, recordings=out)
        return _conclude(wish, workspace, staged, seen, _origin(location, root))


def _conclude(
    wish: Wish, workspace: Workspace, staged: Staged, seen: _Seen, origin: tuple[str, str] | None
) -> Inspection:
    """Open the project where that was asked for and nothing forbids it."""
    errors = [finding for finding in staged.report.findings if finding.severity == "error"]
    if wish.project and seen.is_complete and not errors:
        return open_into(workspace, staged, name=wish.project, task=wish.task, context=wish.context, seed=wish.seed)
    report = with_paths(staged.report, *origin) if origin else staged.report
    if not seen.is_complete:
        message = errors[-1].message if errors else "The inspection did not come to its end."
        state = "failed"
    elif errors and wish.project:
        message, state = f"{len(errors)} finding(s) of severity error.", "failed"
    else:
        return Inspection(report=report, next_step="Name a project to open it: inspect_environment(…, project='name').")
    if wish.project:
        message += f" Project {wish.project!r} was not opened or changed."
    return Inspection(
        state=state, message=message, report=report, next_step="Mend what the findings name; then call again."
    )


async def _look(location: Location, wish: Wish, root: Path | None, out: Path) -> _Seen:
    """Run the child, and make the most of it where it dies."""
    payload: dict[str, Any] = {
        "reference": as_payload(location.reference),
        "seed": RECORDING_LANE + wish.seed % 2**20 * 2**8,
        "start_seconds": START_SECONDS,
        "step_seconds": STEP_SECONDS,
        "first_seconds": FIRST_SECONDS,
    }
    try:
        answer = await ask_child("examine", payload, folder=out, root=root, timeout_seconds=TIMEOUT_SECONDS)
    except ChildFailed as failure:
        return _after_crash(failure, read_place(out, failure.log), out)
    return _after_answer(answer, location)


def _after_answer(answer: ChildAnswer, location: Location) -> _Seen:
    value: dict[str, Any] = dict(answer.value)
    if "build_error" in value:
        fault = value["build_error"]
        at_line = f" (line {fault['line']})" if fault.get("line") else ""
        name = location.reference.name
        message = str(fault["message"])[:1000]
        raise EnvironmentNotFound(
            f"{name} cannot be built{at_line}: {message}", f"{str(fault['advice'])[:600]} [{fault['code']}]"
        )
    findings = tuple(Finding.model_validate(finding) for finding in value["findings"])
    return _Seen(
        report=value["report"],
        findings=findings,
        is_complete=bool(value["is_complete"]),
        isolation=answer.isolation,
    )


def _after_crash(failure: ChildFailed, place: Place, out: Path) -> _Seen:
    finding = crash_finding(failure, place)
    if place.phase == "start":
        raise EnvironmentNotFound(finding.message, finding.advice)
    report, raw_findings = read_partial(out)
    findings: list[Finding] = []
    for raw in raw_findings:
        try:
            findings.append(Finding.model_validate(raw))
        except ValidationError:
            continue  # a dying process may leave anything
    isolation: Isolation | None = getattr(failure, "isolation", None)
    is_complete = place.phase in LAST_PHASES
    return _Seen(report=report, findings=(*findings, finding), is_complete=is_complete, isolation=isolation)


def _report(location: Location, seen: _Seen, root: Path | None, wish: Wish) -> EnvironmentReport:
    """Complete the child's report by what only the server knows; what a dead child left is checked like any other."""
    unknown = OtherSpace(description="unknown").model_dump()
    fields: dict[str, Any] = {
        "observation_space": unknown,
        "action_space": unknown,
        "max_episode_steps": wish.max_episode_steps,
        "is_deterministic": None,
        "step_seconds": None,
        "reset_seconds": None,
        "start_seconds": None,
        "episodes": (),
        **seen.report,
    }
    order = {"error": 0, "warning": 1, "note": 2}
    fields |= {
        "reference": location.reference,
        "project": "",
        "findings": tuple(sorted(seen.findings, key=lambda finding: order[finding.severity])),
        "isolation": seen.isolation,
    }
    try:
        report = EnvironmentReport.model_validate(fields)
    except ValidationError as error:
        raise EnvironmentNotFound(
            f"The inspection of {location.reference.name} gave a report that cannot be read: {error.errors()[0]['msg']}.",
            "Check that its spaces and names are plain values.",
        ) from error
    digest = fingerprint(location.reference, folder=root, source_file=report.source_file, packages=report.packages)
    return report.model_copy(update={"source_sha256": digest})


def _origin(location: Location, root: Path | None) -> tuple[str, str] | None:
    if location.file is None or root is None:
        return None
    return str(root), str(location.file.parent)


def _copy(location: Location, destination: Path, workspace: Workspace) -> Path | None:
    """Copy a file environment into the staging folder; None for what is installed."""
    if location.file is None:
        return None
    if location.snapshot is not None:
        shutil.copytree(location.snapshot, destination, symlinks=True)
        return destination
    files = source_files(location.file, workspace_root=workspace.root)
    copy_sources(location.file.parent, files, destination)
    return destination


@contextmanager
def _staging(workspace: Workspace, project: str) -> Generator[Path]:
    """Make a folder for one inspection, beside the projects where one is to be opened; it is gone afterwards."""
    parent = None
    if project:
        parent = workspace.root / "projects"
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(workspace, error) from error
    try:
        folder = Path(tempfile.mkdtemp(prefix=".inspection-", dir=parent)).resolve()
    except OSError as error:
        raise unwritable(workspace, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unwritable(workspace: Workspace, error: OSError) -> PrerequisiteError:
    """Say that the workspace cannot be written, and what to do."""
    return PrerequisiteError(
        f"The workspace {workspace.root} cannot be written: {error.strerror or error}.",
        "Set AGENT2_WORKSPACE or --workspace to a folder of yours.",
    )
