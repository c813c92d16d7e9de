"""What the MDP server reads of a project: its inspection and its recordings."""

from pathlib import Path

from agent2_schemas import CorrectableError, EnvironmentReport
from agent2_workspace import ProjectFolder, find_workspace, read_json

FIRST = ("random", "zero")
MAX_RECORDINGS = 5


def open_project(name: str) -> ProjectFolder:
    """Find a project of the workspace.

    Raises:
        NotFound: there is none of that name.
    """
    return find_workspace(for_server=True).project(name)


def read_report(project: ProjectFolder) -> EnvironmentReport:
    """Read the environment report of a project.

    Raises:
        CorrectableError: the environment was not inspected yet.
    """
    if not project.report_json.exists():
        name = project.read().environment.name
        raise CorrectableError(
            f"Project {project.name!r} has no environment report.",
            f"Call inspect_environment(environment={name!r}, project={project.name!r}) first.",
        )
    return read_json(project.report_json, EnvironmentReport)


def recordings(project: ProjectFolder) -> tuple[Path, ...]:
    """Name the recorded transitions of a project: random policy first, then zero, then others.

    Raises:
        CorrectableError: there are none.
    """
    found = {path.stem: path for path in sorted(project.recordings.glob("*.npz"))}
    if FIRST[0] not in found:
        name = project.read().environment.name
        raise CorrectableError(
            f"Project {project.name!r} has no recorded transitions to try functions on.",
            f"Call inspect_environment(environment={name!r}, project={project.name!r}) again.",
        )
    order = [*(name for name in FIRST if name in found), *(name for name in found if name not in FIRST)]
    return tuple(found[name] for name in order[:MAX_RECORDINGS])
