"""How a run stands, read from its folder alone, so that any server process tells the same."""

import time
from pathlib import Path

from pydantic import Field, ValidationError

from agent2_sandbox import RunProcess, read_run_process
from agent2_schemas import Frozen, Outcome, RunProgress, RunSpecification, RunState, RunStatus
from agent2_training.checkpoints import accept_checkpoints, accepted_checkpoints, read_plain_file
from agent2_training.runs.ownership import is_owner_alive
from agent2_training.runs.shared_faults import find_shared_fault, shared_fault_text
from agent2_workspace import ProjectFolder, RunFolder, read_json

PROGRESS_LIMIT_BYTES = 64 * 2**10
LOG_TAIL_BYTES = 8 * 2**10
LOG_LINES_OF_A_FAILURE = 20
"""Only a failure is explained by its log: what else generated code prints stays in the run's folder."""
LINE_CHARACTERS = 300
ENDED: tuple[RunState, ...] = ("paused", "finished", "failed", "stopped", "lost")


class UnstartedEnd(Frozen):
    """How a run ended that never had a process: `runs/<id>/unstarted.json`."""

    state: RunState = Field(description="stopped, paused or failed.")
    outcome: Outcome = Field(description="Why.")
    message: str = Field(description="Why, for a person.")


def unstarted_file(run: RunFolder) -> Path:
    """Name the file that ends a run which was never started."""
    return run.root / "unstarted.json"


def is_ended(state: RunState) -> bool:
    """Whether a run in this state has no process and starts no more."""
    return state in ENDED


def read_status(project: ProjectFolder, run: RunFolder) -> RunStatus:
    """Read how a run stands; take over its new checkpoints; journal its end, once.

    Args:
        project: the project.
        run: one of its runs.

    Raises:
        NotFound: the folder holds no run.json.
    """
    specification = run.read_specification()
    process = read_run_process(run.status_file) if run.status_file.exists() else None
    state, outcome, message = _state(run, specification, process)
    refused = accept_checkpoints(run)
    if refused:
        message = f"{message} Refused checkpoints: {_listed(refused)}.".strip()
    status = RunStatus(
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
        checkpoints_env_steps=accepted_checkpoints(run),
        seconds=_seconds(process),
        peak_memory_bytes=process.peak_memory_bytes if process else None,
        log_tail=_log_tail(run, state),
        folder=str(run.root),
        isolation=process.isolation if process else None,
        next_step=_next_step(run, state, outcome),
    )
    if is_ended(state) and (process is not None or unstarted_file(run).exists()):
        journal_end(project, status)
    return _with_shared_fault(project, status)


def _with_shared_fault(project: ProjectFolder, status: RunStatus) -> RunStatus:
    """Where designs that differ crash alike, the person is sent to the environment, and nobody to the design."""
    alike = find_shared_fault(project, status)
    if not alike:
        return status
    return status.model_copy(
        update={
            "message": shared_fault_text(alike) + status.message,
            "is_environment_fault": True,
            "next_step": "a person should run `agent2 doctor`, then inspect_environment again",
        }
    )


def journal_end(project: ProjectFolder, status: RunStatus) -> None:
    """Write the end of a run into the journal; a second call writes nothing."""
    key = f"run-ended-{status.run_id}"
    if project.journal.find(key) is None:
        project.journal.append("training", "run-ended", status.run_id, status, key=key)


def read_progress(run: RunFolder) -> RunProgress | None:
    """Read what the worker reports; whatever is not a plain, well-formed report counts as none."""
    try:
        content = read_plain_file(run.work, "progress.json", limit_bytes=PROGRESS_LIMIT_BYTES)
        return RunProgress.model_validate_json(content)
    except (OSError, ValidationError, RecursionError):
        return None


def _state(
    run: RunFolder, specification: RunSpecification, process: RunProcess | None
) -> tuple[RunState, Outcome | None, str]:
    if process is not None:
        return process.state, process.outcome, process.message
    if unstarted_file(run).exists():
        end = read_json(unstarted_file(run), UnstartedEnd)
        return end.state, end.outcome, end.message
    if specification.lease == "stop" and not is_owner_alive(run):
        return "stopped", "server_gone", "Its server ended before a place was free; the same start_training queues it."
    return "queued", None, "Waits for a free place among the parallel runs."


def _seconds(process: RunProcess | None) -> float | None:
    if process is None:
        return None
    return max(0.0, (process.ended_at or time.time()) - process.started_at)


def _log_tail(run: RunFolder, state: RunState) -> tuple[str, ...]:
    if state not in ("failed", "lost") or not run.log_file.is_file():
        return ()
    with run.log_file.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - LOG_TAIL_BYTES))
        text = file.read(LOG_TAIL_BYTES).decode(errors="replace")
    lines = [line.rstrip()[:LINE_CHARACTERS] for line in text.splitlines() if line.strip()]
    return tuple(lines[-LOG_LINES_OF_A_FAILURE:])


def _next_step(run: RunFolder, state: RunState, outcome: Outcome | None) -> str:
    if state in ("running", "queued"):
        return "check_training with wait_seconds=25"
    if state == "finished":
        return "evaluate_run, then diagnose_run"
    if state == "failed" and outcome == "code_rejected":
        return "mend mdp.py: read_candidate, write_mdp"
    if accepted_checkpoints(run):
        return f'start_training(resume_from="{run.id}") goes on from its last checkpoint; or evaluate_run'
    return "diagnose_run, or start_training anew"


def _listed(refused: dict[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in list(refused.items())[:3])
