"""Opening a project: snapshot, report and recordings are put in place, `project.yaml` comes last."""

import os
import re
import shutil
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from agent2_environment.fingerprint import current_versions, fingerprint
from agent2_environment.paths import with_paths
from agent2_schemas import (
    NAME_PATTERN,
    CorrectableError,
    EnvironmentReference,
    EnvironmentReport,
    Finding,
    Inspection,
    Project,
)
from agent2_workspace import ProjectFolder, Workspace, read_json, short_lock, write_json, write_whole

RECORDINGS = ("random.npz", "zero.npz")
RECORDING_BYTES_AT_MOST = 2**30
SNAPSHOT_NAME = "environment"


@dataclass(frozen=True, kw_only=True)
class Staged:
    """A finished inspection that is not in place yet.

    Attributes:
        report: the report; its paths point into `root`.
        root: staged copy of the source; None for what is installed.
        recordings: the folder that the child wrote.
    """

    report: EnvironmentReport
    root: Path | None
    recordings: Path


def find_opened(workspace: Workspace, name: str) -> ProjectFolder | None:
    """Find a project that is open already; None where none is named or it is new.

    Raises:
        CorrectableError: the name is no project name.
    """
    if not name:
        return None
    if not re.fullmatch(NAME_PATTERN, name):
        raise CorrectableError(f"{name!r} is no project name.", f"It must match {NAME_PATTERN}.")
    return workspace.project(name) if name in workspace.project_names() else None


def reusable_report(
    opened: ProjectFolder, reference: EnvironmentReference, root: Path | None
) -> EnvironmentReport | None:
    """Give the report of an opened project where the environment is still the same; None: inspect it again.

    Args:
        opened: the project.
        reference: the environment as it is asked for now.
        root: copy of its source as it is now; None for what is installed.
    """
    check_same(opened, reference)
    if not all((opened.recordings / name).exists() for name in RECORDINGS) or not opened.report_json.exists():
        return None
    known = read_json(opened.report_json, EnvironmentReport)
    digest = fingerprint(
        reference, folder=root, source_file=known.source_file, packages=current_versions(known.packages)
    )
    return known if digest == known.source_sha256 else None


def check_same(opened: ProjectFolder, reference: EnvironmentReference) -> None:
    """Refuse another environment, or other settings, under the name of an opened project.

    Raises:
        CorrectableError: they differ; says in what.
    """
    known = opened.read().environment
    if known == reference:
        return
    parts = [
        f"{name} {getattr(known, name)!r}, not {getattr(reference, name)!r}"
        for name in ("name", "keyword_arguments", "max_episode_steps")
        if getattr(known, name) != getattr(reference, name)
    ]
    raise CorrectableError(
        f"Project {opened.name!r} was opened with the environment's {'; '.join(parts)}.", "Choose another project name."
    )


def open_into(workspace: Workspace, staged: Staged, *, name: str, task: str, context: str, seed: int) -> Inspection:
    """Put a finished inspection in place and open its project; an opened one gets the new facts.

    Raises:
        CorrectableError: the name is none, or the project is about another environment.
        PrerequisiteError: the workspace cannot be written.
    """
    folder = ProjectFolder(workspace.root / "projects" / name)
    with short_lock(folder.root.parent / f".{name}.lock"):
        opened = find_opened(workspace, name)
        if opened is not None:
            check_same(opened, staged.report.reference)
        report = _final_report(staged, folder, opened)
        project = Project(
            name=name,
            task=task,
            context=context,
            environment=staged.report.reference,
            snapshot=SNAPSHOT_NAME if staged.root else "",
            environment_sha256=report.source_sha256,
            seed=seed,
            created_at=datetime.now(UTC).isoformat(),
            agent2_version=_version(),
        )
        folder.root.mkdir(parents=True, exist_ok=True)
        if staged.root is not None:
            _swap(staged.root, folder.snapshot)
        for recording in RECORDINGS:
            keep_file(staged.recordings / recording, folder.recordings / recording)
        write_json(folder.report_json, report)
        folder = workspace.open_project(project)
    key = f"inspection-{report.source_sha256[:16]}"
    folder.journal.append("environment", "inspection", name, report, key=key)
    is_changed = any(finding.code == "environment-changed" for finding in report.findings)
    return Inspection(
        message="The environment has changed since the project was opened: scores from before are not comparable."
        if is_changed
        else "",
        project=name,
        project_folder=str(folder.root),
        next_step=f"suggest_mdp(project={name!r})",
        report=report,
    )


def _final_report(staged: Staged, folder: ProjectFolder, opened: ProjectFolder | None) -> EnvironmentReport:
    report = staged.report
    if staged.root is not None:
        report = with_paths(report, str(staged.root), str(folder.snapshot))
    findings = report.findings
    if opened is not None and opened.read().environment_sha256 != report.source_sha256:
        changed = Finding(
            code="environment-changed",
            severity="warning",
            message="The environment has changed since the project was opened: scores from before are not comparable.",
            advice="Train again, or open a new project for the changed environment.",
            evidence=f"hash {opened.read().environment_sha256[:12]} at the opening, {report.source_sha256[:12]} now",
        )
        findings = (changed, *findings)
    return report.model_copy(update={"project": folder.name, "findings": findings})


def keep_file(source: Path, destination: Path) -> None:
    """Copy a file that a child wrote into trusted ground: a regular file of bounded size, never through a link.

    Raises:
        CorrectableError: it is missing, a link, or too large.
    """
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise CorrectableError(f"The inspection left no {source.name}.", "Inspect the environment again.") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > RECORDING_BYTES_AT_MOST:
            raise CorrectableError(f"{source.name} is no file of the expected kind and size.", "Inspect again.")
        write_whole(destination, file.read())


def _swap(staged: Path, destination: Path) -> None:
    """Put a folder in the place of another, so that no reader finds half of either."""
    old = destination.with_name(f".{destination.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if destination.exists():
        destination.rename(old)
    staged.rename(destination)
    shutil.rmtree(old, ignore_errors=True)


def _version() -> str:
    try:
        return version("agent-squared")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0"
