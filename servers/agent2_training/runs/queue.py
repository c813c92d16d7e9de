"""Which runs may run side by side: queued ones start as places become free, oldest first."""

import asyncio
import os
from pathlib import Path

import anyio.to_thread

from agent2_sandbox import Limits, ProcessRequest, read_run_process, start_run
from agent2_schemas import Agent2Error, Design, Lease
from agent2_training.runs.ownership import is_own, own
from agent2_training.runs.starting import RESUME_FILE
from agent2_training.runs.status import UnstartedEnd, is_ended, unstarted_file
from agent2_workspace import ProjectFolder, RunFolder, Workspace, read_configuration, read_yaml, short_lock, write_json

WORKER_MODULE = "agent2_training.worker"
POLL_SECONDS = 1.0


def allowed_parallel_runs() -> int:
    """How many runs may run side by side on this machine: as configured, else one a core."""
    return read_configuration().parallel_runs or len(os.sched_getaffinity(0))


def start_queued(workspace: Workspace, *, ended: set[Path] | None = None) -> int:
    """Start queued runs while places are free.

    Args:
        workspace: all its projects share the places.
        ended: folders of runs known to have ended; filled here, so that the next call need not read them.

    Returns:
        How many runs still wait.
    """
    ended = set() if ended is None else ended
    with short_lock(workspace.root / ".queue.lock"):
        running, waiting = _survey(workspace, ended)
        free = max(0, allowed_parallel_runs() - running)
        for _, project, run in waiting[:free]:
            _launch(project, run)
    return max(0, len(waiting) - free)


def request_for(project: ProjectFolder, run: RunFolder, worker_module: str = WORKER_MODULE) -> ProcessRequest:
    """Describe the worker's process: it reads the frozen candidate and writes its work folder, nothing else."""
    configuration = read_configuration()
    limits, granted = configuration.limits, configuration.granted(project.read().environment.name)
    reference, resume = run.root / "reference.json", run.root / RESUME_FILE
    arguments = [str(run.work), str(run.specification_file), "--reference", str(reference)]
    read_only = [run.candidate_copy, run.specification_file, reference]
    if resume.exists():
        arguments += ["--resume", str(resume)]
        read_only.append(resume)
    if project.snapshot.is_dir():
        read_only.append(project.snapshot)
    return ProcessRequest(
        module=worker_module,
        arguments=tuple(arguments),
        read_only=(*read_only, *granted.read),
        writable=run.work,
        limits=Limits(
            memory_bytes=limits.memory_bytes,
            processes=limits.processes,
            folder_bytes=limits.folder_bytes,
            stall_seconds=limits.stall_seconds,
        ),
        is_declared_only=read_yaml(run.candidate_copy / "design.yaml", Design).mdp.is_declared_only,
        isolation_policy=configuration.isolation,
        grants=granted.names,
        environment=granted.variables,
    )


class QueueKeeper:
    """Starts queued runs from the background of one server, as long as any wait."""

    def __init__(self) -> None:
        """Nothing waits yet."""
        self._task: asyncio.Task[None] | None = None
        self._ended: set[Path] = set()

    async def nudge(self, workspace: Workspace) -> None:
        """Start what may start now; where runs still wait, keep trying in the background."""
        waiting = await anyio.to_thread.run_sync(self._start, workspace)
        is_idle = self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop()
        if waiting and is_idle:
            self._task = asyncio.get_running_loop().create_task(self._keep_starting(workspace))

    async def _keep_starting(self, workspace: Workspace) -> None:
        while await anyio.to_thread.run_sync(self._start, workspace):
            await asyncio.sleep(POLL_SECONDS)

    def _start(self, workspace: Workspace) -> int:
        return start_queued(workspace, ended=self._ended)


def _survey(workspace: Workspace, ended: set[Path]) -> tuple[int, list[tuple[str, ProjectFolder, RunFolder]]]:
    """Count the running runs of all projects and list the waiting ones that this process may start, oldest first."""
    running, waiting = 0, []
    for name in workspace.project_names():
        project = workspace.project(name)
        for run_id in project.run_ids():
            run = project.run(run_id)
            if run.root in ended or not run.specification_file.exists() or unstarted_file(run).exists():
                continue
            if not run.status_file.exists():
                specification = run.read_specification()
                if _may_start(run, specification.lease):
                    waiting.append((specification.created_at, project, run))
            elif is_ended(read_run_process(run.status_file).state):
                ended.add(run.root)
            else:
                running += 1
    return running, sorted(waiting, key=lambda entry: entry[0])


def _may_start(run: RunFolder, lease: Lease) -> bool:
    """A run that must end with its owner is started by its owner only, whose death its supervisor then notices."""
    return lease == "keep" or is_own(run)


def _launch(project: ProjectFolder, run: RunFolder) -> None:
    """Start one run; where that fails, the run has failed and says why."""
    own(run)
    specification = run.read_specification()
    try:
        start_run(
            request_for(project, run),
            run_folder=run.root,
            status_file=run.status_file,
            log_file=run.log_file,
            lease=specification.lease,
        )
    except (Agent2Error, OSError) as error:
        end = UnstartedEnd(state="failed", outcome="crashed", message=f"It could not be started: {error}")
        write_json(unstarted_file(run), end)
