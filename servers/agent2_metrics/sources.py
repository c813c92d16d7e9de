"""What a tool names: a run of a project, or a log folder of any library."""

from dataclasses import dataclass
from pathlib import Path

from agent2_schemas import CorrectableError
from agent2_workspace import (
    ProjectFolder,
    RunFolder,
    Workspace,
    configuration_file,
    find_workspace,
    read_configuration,
)


@dataclass(frozen=True)
class Source:
    """Where curves come from."""

    label: str
    """Run id, or absolute path of the log directory."""
    folder: Path
    """Folder of event files."""
    project: ProjectFolder | None = None
    run: RunFolder | None = None


def workspace() -> Workspace:
    """The workspace of this server."""
    return find_workspace(for_server=True)


def find_project(name: str) -> ProjectFolder:
    """Find an opened project of this workspace.

    Raises:
        NotFound: there is none of that name.
    """
    return workspace().project(name)


def find_source(project: str, run: str, log_folder: str) -> Source:
    """Find what the arguments name.

    Raises:
        CorrectableError: neither or both of a run and a folder are named, or the folder may not be read.
        NotFound: there is no such project or run.
    """
    if bool(log_folder) == bool(run) or bool(run) != bool(project):
        raise CorrectableError(
            "Name either a run of a project, or a log folder.",
            "Give project and run (see list_runs), or log_folder alone.",
        )
    if log_folder:
        folder = resolve_allowed_folder(log_folder, workspace_root=workspace().root)
        return Source(str(folder), folder)
    project_folder = find_project(project)
    run_folder = project_folder.run(run)
    if not run_folder.tensorboard.is_dir():
        raise CorrectableError(
            f"Run {run} has written no curves yet.", "Wait with check_training, or read its log there if it failed."
        )
    return Source(run, run_folder.tensorboard, project_folder, run_folder)


def resolve_allowed_folder(name: str, *, workspace_root: Path) -> Path:
    """Resolve a folder that a tool argument names, inside the workspace or an allowed root only.

    Raises:
        CorrectableError: the folder lies outside every root, or does not exist.
    """
    path = Path(name).expanduser().resolve()
    roots = [workspace_root.resolve(), *(root.expanduser().resolve() for root in read_configuration().roots)]
    if not any(path.is_relative_to(root) for root in roots):
        raise CorrectableError(
            f"{path} lies outside the folders that may be read: {', '.join(map(str, roots))}.",
            f'A person can allow it: add roots = ["{path}"] to {configuration_file()}.',
        )
    if not path.is_dir():
        raise CorrectableError(f"There is no folder {path}.", "Check the spelling.")
    return path
