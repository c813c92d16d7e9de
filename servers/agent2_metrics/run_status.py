"""How runs stand, read from their folders alone: run.json, the supervisor's status, the worker's progress."""

import contextlib
import time
from datetime import datetime

from pydantic import ValidationError

from agent2_sandbox import RunProcess, read_run_process
from agent2_schemas import Evaluation, Frozen, NotFound, Outcome, Purpose, RunProgress, RunState, RunStatus
from agent2_workspace import ProjectFolder, RunFolder, read_json

ENDED: frozenset[RunState] = frozenset({"finished", "failed", "stopped", "lost"})
LOG_TAIL_LINES = 5


class _UnstartedEnd(Frozen):
    state: RunState
    outcome: Outcome
    message: str


def read_run_status(project: ProjectFolder, run: RunFolder) -> RunStatus:
    """Read how a run stands.

    Raises:
        NotFound: the folder holds no run.json.
    """
    specification = run.read_specification()
    process = None
    with contextlib.suppress(NotFound, OSError, ValueError, TypeError, KeyError):  # none yet, or of another version
        process = read_run_process(run.status_file)
    state, outcome, message = _state(run, process)
    seconds = None
    if process and process.started_at:
        seconds = max(0.0, (process.ended_at or time.time()) - process.started_at)
    return RunStatus(
        run_id=run.id,
        project=project.name,
        candidate_id=specification.candidate_id,
        state=state,
        outcome=outcome,
        message=message,
        progress=read_progress(run),
        budget_env_steps=specification.budget_env_steps,
        training_seed=specification.training_seed,
        lease=specification.lease,
        checkpoints_env_steps=run.read_checkpoint_steps(),
        seconds=seconds,
        peak_memory_bytes=process.peak_memory_bytes if process else None,
        log_tail=_log_tail(run) if state in {"failed", "lost"} else (),
        folder=str(run.root),
        isolation=process.isolation if process else None,
        next_step="diagnose_run" if state in ENDED else "check_training",
    )


def read_all_statuses(project: ProjectFolder) -> tuple[RunStatus, ...]:
    """Read all runs of a project, oldest first; a folder without run.json is one that is just being made."""
    runs = (project.run(run_id) for run_id in project.run_ids())
    return tuple(read_run_status(project, run) for run in runs if run.specification_file.exists())


def read_evaluations(run: RunFolder, purpose: Purpose | None = None) -> tuple[Evaluation, ...]:
    """Read a run's evaluations that ended, oldest first; all purposes or one."""
    found: list[tuple[float, Evaluation]] = []
    for path in sorted(run.evaluations.glob("*.json")):
        with contextlib.suppress(ValidationError, OSError):
            evaluation = read_json(path, Evaluation)
            if evaluation.state != "running" and purpose in (None, evaluation.purpose):
                found.append((path.stat().st_mtime, evaluation))
    return tuple(evaluation for _, evaluation in sorted(found, key=lambda pair: pair[0]))


def read_progress(run: RunFolder) -> RunProgress | None:
    """Read the worker's newest report; None before the first."""
    with contextlib.suppress(ValidationError, OSError):
        if not run.progress_file.is_symlink():
            return read_json(run.progress_file, RunProgress)
    return None


def seconds_between(start: str, end: str) -> float | None:
    """Seconds between two ISO 8601 times; None where one is malformed."""
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None


def _state(run: RunFolder, process: RunProcess | None) -> tuple[RunState, Outcome | None, str]:
    if process is not None:
        return process.state, process.outcome, process.message
    with contextlib.suppress(OSError, ValidationError):  # ended before it had a process: the training server says how
        end = read_json(run.root / "unstarted.json", _UnstartedEnd)
        return end.state, end.outcome, end.message
    return "queued", None, ""


def _log_tail(run: RunFolder) -> tuple[str, ...]:
    with contextlib.suppress(OSError):
        return tuple(run.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_TAIL_LINES:])
    return ()
