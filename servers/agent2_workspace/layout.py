"""The layout on disk: workspace, projects, candidates, runs; and the ids that name them."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from agent2_schemas import (
    ID_PATTERN,
    NAME_PATTERN,
    CorrectableError,
    Design,
    NotFound,
    PrerequisiteError,
    Project,
    RunSpecification,
    VerificationReport,
)
from agent2_workspace.files import read_json, read_yaml, write_yaml
from agent2_workspace.journal import Journal
from agent2_workspace.locks import short_lock
from agent2_workspace.seeds import SeedPurpose, seed_list, workspace_secret


@dataclass(frozen=True)
class CandidateFolder:
    """`candidates/<id>/`: one design and its code."""

    root: Path

    @property
    def id(self) -> str:
        """Id of the candidate."""
        return self.root.name

    @property
    def design_file(self) -> Path:
        """The complete design; written by the training server, absent until `write_training`."""
        return self.root / "design.yaml"

    @property
    def mdp_file(self) -> Path:
        """The transforms; always there, possibly without a function."""
        return self.root / "mdp.py"

    @property
    def mdp_design_file(self) -> Path:
        """The MDP half of the design, as `write_mdp` leaves it."""
        return self.root / "mdp.yaml"

    @property
    def policy_file(self) -> Path:
        """The networks, rendered from the design."""
        return self.root / "policy.py"

    @property
    def verification_file(self) -> Path:
        """The newest verification report."""
        return self.root / "verification.json"

    def read_design(self) -> Design:
        """Read the design.

        Raises:
            NotFound: `write_training` was not called yet.
        """
        if not self.design_file.exists():
            raise NotFound(f"Candidate {self.id!r} has no design.yaml yet.", "Call write_training first.")
        return read_yaml(self.design_file, Design)

    def read_verification(self) -> VerificationReport:
        """Read the newest verification report.

        Raises:
            NotFound: `write_mdp` was not called yet.
        """
        if not self.verification_file.exists():
            raise NotFound(f"Candidate {self.id!r} was not verified yet.", "Call write_mdp first.")
        return read_json(self.verification_file, VerificationReport)


@dataclass(frozen=True)
class RunFolder:
    """`runs/<id>/`: written by trusted code only, but for `work/`, which is the worker's."""

    root: Path

    @property
    def id(self) -> str:
        """Id of the run."""
        return self.root.name

    @property
    def specification_file(self) -> Path:
        """What the run was asked to do."""
        return self.root / "run.json"

    @property
    def candidate_copy(self) -> Path:
        """The candidate as it was at the start: design.yaml, mdp.py, policy.py."""
        return self.root / "candidate"

    @property
    def status_file(self) -> Path:
        """State and outcome, written by the supervisor."""
        return self.root / "status.json"

    @property
    def log_file(self) -> Path:
        """Output of the worker, capped."""
        return self.root / "log.txt"

    @property
    def work(self) -> Path:
        """The one folder mounted writable for the worker."""
        return self.root / "work"

    @property
    def progress_file(self) -> Path:
        """Newest report of the worker (`RunProgress`)."""
        return self.work / "progress.json"

    @property
    def tensorboard(self) -> Path:
        """TensorBoard event files of the worker."""
        return self.work / "tensorboard"

    @property
    def checkpoints(self) -> Path:
        """Accepted checkpoints: `<env_steps>.safetensors`, copied from `work/checkpoints/` without following links."""
        return self.root / "checkpoints"

    @property
    def evaluations(self) -> Path:
        """Evaluations: `<evaluation_id>.json`."""
        return self.root / "evaluations"

    def read_checkpoint_steps(self) -> tuple[int, ...]:
        """Environment steps of the accepted checkpoints, ascending."""
        names = (path.stem for path in self.checkpoints.glob("*.safetensors"))
        return tuple(sorted(int(name) for name in names if name.isdigit()))

    def read_specification(self) -> RunSpecification:
        """Read what the run was asked to do.

        Raises:
            NotFound: the folder holds no run.json.
        """
        if not self.specification_file.exists():
            raise NotFound(f"Run {self.id!r} has no run.json.", "Call start_training again.")
        return read_json(self.specification_file, RunSpecification)


@dataclass(frozen=True)
class ProjectFolder:
    """`projects/<name>/`."""

    root: Path

    @property
    def name(self) -> str:
        """Name of the project."""
        return self.root.name

    @property
    def project_file(self) -> Path:
        """Task, environment, seed: `project.yaml`."""
        return self.root / "project.yaml"

    @property
    def snapshot(self) -> Path:
        """Copy of the environment's source, where it came as a file."""
        return self.root / "environment"

    @property
    def report_json(self) -> Path:
        """The inspection: `EnvironmentReport`."""
        return self.root / "environment.json"

    @property
    def recordings(self) -> Path:
        """Recorded transitions for verification: `recordings/*.npz`."""
        return self.root / "recordings"

    @property
    def report_html(self) -> Path:
        """The report for a person."""
        return self.root / "report.html"

    @property
    def target(self) -> Path:
        """The Target Agent."""
        return self.root / "target"

    @property
    def journal(self) -> Journal:
        """The journal of the project."""
        return Journal(self.root / "journal.sqlite")

    def read(self) -> Project:
        """Read `project.yaml`."""
        return read_yaml(self.project_file, Project)

    def seeds(self, purpose: SeedPurpose, count: int) -> tuple[int, ...]:
        """Give the first `count` seeds of one of the project's secret lists."""
        return seed_list(workspace_secret(self.root.parent.parent), self.name, self.read().seed, purpose, count)

    def candidate_ids(self) -> tuple[str, ...]:
        """Ids of all candidates, oldest first."""
        return _ids(self.root / "candidates")

    def candidate(self, candidate_id: str) -> CandidateFolder:
        """Find a candidate.

        Raises:
            NotFound: there is none of that id; the message names some that are.
        """
        return CandidateFolder(_find(self.root / "candidates", candidate_id, "candidate", "write_mdp"))

    def new_candidate(self) -> CandidateFolder:
        """Make the next candidate folder (c1, c2 and so on)."""
        return CandidateFolder(_make_next(self.root / "candidates", "c"))

    def run_ids(self) -> tuple[str, ...]:
        """Ids of all runs, oldest first."""
        return _ids(self.root / "runs")

    def run(self, run_id: str) -> RunFolder:
        """Find a run.

        Raises:
            NotFound: there is none of that id; the message names some that are.
        """
        return RunFolder(_find(self.root / "runs", run_id, "run", "start_training"))

    def new_run(self) -> RunFolder:
        """Make the next run folder (r1, r2 and so on)."""
        return RunFolder(_make_next(self.root / "runs", "r"))


@dataclass(frozen=True)
class Workspace:
    """The folder that holds all projects."""

    root: Path

    def project_names(self) -> tuple[str, ...]:
        """Names of all opened projects."""
        return tuple(sorted(path.parent.name for path in self.root.glob("projects/*/project.yaml")))

    def project(self, name: str) -> ProjectFolder:
        """Find an opened project.

        Raises:
            NotFound: there is none of that name; the message names some that are.
        """
        _check(name, NAME_PATTERN, "project name")
        folder = ProjectFolder(self.root / "projects" / name)
        if not folder.project_file.exists():
            known = ", ".join(self.project_names()) or "none yet"
            raise NotFound(
                f"There is no project {name!r} in {self.root}; projects: {known}.",
                "Open it with inspect_environment(environment, project=…), or `agent2 build`.",
            )
        return folder

    def open_project(self, project: Project) -> ProjectFolder:
        """Write `project.yaml` of a new project; an opened one must name the same environment.

        Raises:
            CorrectableError: a project of that name is about another environment.
            PrerequisiteError: the workspace is not writable.
        """
        folder = ProjectFolder(self.root / "projects" / project.name)
        try:
            folder.root.mkdir(parents=True, exist_ok=True)
            workspace_secret(self.root)
            with short_lock(folder.root / ".open.lock"):
                if not folder.project_file.exists():
                    write_yaml(folder.project_file, project)
                    folder.journal.append("environment", "project-opened", project.name, project, key="project-opened")
        except OSError as error:
            raise PrerequisiteError(
                f"The workspace {self.root} cannot be written: {error.strerror or error}.",
                "Set AGENT2_WORKSPACE or --workspace to a folder of yours.",
            ) from error
        known = folder.read()
        if known.environment != project.environment:
            raise CorrectableError(
                f"Project {project.name!r} is about {known.environment.name}, not {project.environment.name}.",
                "Choose another project name.",
            )
        return folder


def find_workspace(*, for_server: bool) -> Workspace:
    """Find the workspace: `$AGENT2_WORKSPACE`, else `./agent2-workspace` (command) or the user's data folder (servers)."""
    named = os.environ.get("AGENT2_WORKSPACE")
    if named:
        return Workspace(Path(named).expanduser().resolve())
    if for_server:
        return Workspace(Path(platformdirs.user_data_dir("agent2")) / "workspace")
    return Workspace(Path.cwd() / "agent2-workspace")


def _check(value: str, pattern: str, what: str) -> None:
    if not re.fullmatch(pattern, value):
        raise CorrectableError(f"{value!r} is no {what}.", f"It must match {pattern}.")


def _order(name: str) -> tuple[int, str]:
    digits = re.sub(r"\D", "", name)
    return (int(digits) if digits else 0, name)


def _ids(folder: Path) -> tuple[str, ...]:
    names: Iterable[str] = (path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()
    return tuple(sorted(names, key=_order))


def _find(folder: Path, identifier: str, what: str, maker: str) -> Path:
    _check(identifier, ID_PATTERN, f"{what} id")
    if not (folder / identifier).is_dir():
        known = ", ".join(_ids(folder)[-5:]) or "none yet"
        raise NotFound(f"There is no {what} {identifier!r}; the newest: {known}.", f"Make one with {maker}.")
    return folder / identifier


def _make_next(folder: Path, prefix: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    number = max((_order(name)[0] for name in _ids(folder)), default=0) + 1
    while True:
        try:
            (folder / f"{prefix}{number}").mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder / f"{prefix}{number}"
