"""What the run tools do with the workspace: start, check, stop; each also starts queued runs."""

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context

from agent2_schemas import RunStatus
from agent2_training.runs.ownership import own
from agent2_training.runs.queue import QueueKeeper
from agent2_training.runs.starting import RunRequest, prepare_run
from agent2_training.runs.status import is_ended, read_status, unstarted_file
from agent2_training.runs.stopping import StopMode, request_stop
from agent2_workspace import ProjectFolder, RunFolder, find_workspace

POLL_SECONDS = 0.2
STOP_SECONDS = 15.0
PROGRESS_SECONDS = 2.0


class RunCalls:
    """The run tools of one server."""

    def __init__(self) -> None:
        """Nothing waits yet."""
        self._queue = QueueKeeper()

    async def start(self, request: RunRequest) -> RunStatus:
        """Prepare a run and start it, or leave it queued where no place is free."""
        workspace = find_workspace(for_server=True)
        project = workspace.project(request.project)
        run = await anyio.to_thread.run_sync(prepare_run, project, request)
        await anyio.to_thread.run_sync(_adopt, run)
        await self._queue.nudge(workspace)
        return await _read(project, run)

    async def check(self, project_name: str, run_id: str, wait_seconds: float, ctx: Context | None) -> RunStatus:
        """Tell how a run stands; wait a while for its end, reporting progress."""
        workspace = find_workspace(for_server=True)
        project = workspace.project(project_name)
        run = project.run(run_id)
        await self._queue.nudge(workspace)
        status = await _read(project, run)
        with anyio.move_on_after(wait_seconds):
            since_report = PROGRESS_SECONDS
            while not is_ended(status.state):
                if ctx is not None and since_report >= PROGRESS_SECONDS:
                    since_report = 0.0
                    await ctx.report_progress(_env_steps(status), status.budget_env_steps, _progress_text(status))
                await anyio.sleep(POLL_SECONDS)
                since_report += POLL_SECONDS
                status = await _read(project, run)
        return status

    async def stop(self, project_name: str, run_id: str, mode: StopMode) -> RunStatus:
        """Ask a run to end and wait for it, a little longer than it may take."""
        workspace = find_workspace(for_server=True)
        project = workspace.project(project_name)
        run = project.run(run_id)
        await anyio.to_thread.run_sync(request_stop, workspace, project, run, mode)
        status = await self.check(project_name, run_id, STOP_SECONDS, None)
        await self._queue.nudge(workspace)
        return status


def describe_status(status: RunStatus) -> str:
    """Say in a line how a run stands."""
    text = f"{status.run_id} {status.state} at {_progress_text(status)}"
    if status.outcome not in (None, "ok"):
        text += f"; {status.outcome}"
    if status.message:
        text += f": {status.message[:250]}"
    return f"{text}. Next: {status.next_step}."


def _adopt(run: RunFolder) -> None:
    """A waiting run belongs to whoever asked for it last."""
    if not run.status_file.exists() and not unstarted_file(run).exists():
        own(run)


async def _read(project: ProjectFolder, run: RunFolder) -> RunStatus:
    return await anyio.to_thread.run_sync(read_status, project, run)


def _env_steps(status: RunStatus) -> int:
    return status.progress.env_steps if status.progress else 0


def _progress_text(status: RunStatus) -> str:
    text = f"{_env_steps(status):,} of {status.budget_env_steps:,} env steps"
    if status.progress and status.progress.reported_original_return is not None:
        text += f", reported return {status.progress.reported_original_return:.4g}"
    return text
