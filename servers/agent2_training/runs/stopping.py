"""End a run: it saves a checkpoint and stops, or is ended before it ever started."""

from typing import Literal

from agent2_sandbox import stop_run
from agent2_training.runs.status import UnstartedEnd, is_ended, read_status, unstarted_file
from agent2_workspace import ProjectFolder, RunFolder, Workspace, short_lock, write_json

StopMode = Literal["pause", "stop"]


def request_stop(workspace: Workspace, project: ProjectFolder, run: RunFolder, mode: StopMode) -> None:
    """Ask a run to end; what has ended already stays as it is.

    Args:
        workspace: its queue is locked, so that a waiting run cannot start meanwhile.
        project: the project.
        run: one of its runs.
        mode: pause keeps the run for `resume_from`; stop gives it up. Both save a checkpoint first.
    """
    with short_lock(workspace.root / ".queue.lock"):
        if is_ended(read_status(project, run).state):
            return
        if run.status_file.exists():
            stop_run(run.status_file, mode)
            return
        state = "paused" if mode == "pause" else "stopped"
        end = UnstartedEnd(state=state, outcome="cancelled", message="Ended before it was started.")
        write_json(unstarted_file(run), end)
