"""Runs that outlive the call that started them: start, read, stop, from any server process."""

import contextlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Literal

from agent2_sandbox.peers import allowed_isolation
from agent2_sandbox.processes import is_alive
from agent2_sandbox.request import ProcessRequest
from agent2_sandbox.starting import Supervised, build_specification
from agent2_sandbox.supervisor import write_whole
from agent2_schemas import Isolation, Lease, NotFound, Outcome, PrerequisiteError, RunState

_START_SECONDS = 20.0
_leases: dict[str, int] = {}
"""Descriptors that this process holds open for its `stop` leases; the kernel closes them when it dies."""


@dataclass(frozen=True, kw_only=True)
class RunProcess:
    """How the process of a run stands; times in seconds since 1970, sizes in bytes.

    Attributes:
        state: where it stands; `lost` where the supervisor is gone without a final status.
        outcome: how it ended; None while it runs.
        message: what happened, for a person: cause, line, limit.
        pid: the worker, as seen from outside its sandbox.
        created: when that process was created, in seconds since the machine started.
        supervisor_pid: the process that watches it.
        supervisor_created: likewise.
        step: last step that the worker reported; not to be trusted.
        line: line of the code under test that the message names.
    """

    state: RunState
    outcome: Outcome | None
    message: str
    pid: int | None
    created: float | None
    supervisor_pid: int
    supervisor_created: float
    started_at: float
    ended_at: float | None
    peak_memory_bytes: int
    isolation: Isolation
    step: int | None = None
    file: str | None = None
    line: int | None = None
    dropped_log_bytes: int = 0


def start_run(request: ProcessRequest, *, run_folder: Path, status_file: Path, log_file: Path, lease: Lease) -> None:
    """Start a detached supervisor with the request's module as its worker; returns once it runs.

    Args:
        request: the worker's module, folders and limits.
        run_folder: the run's folder, written by trusted code only.
        status_file: where the supervisor writes how the run stands, whole each time; outside the writable folder.
        log_file: where the kept part of the worker's output goes; outside the writable folder.
        lease: what happens when this process is gone.

    Raises:
        PrerequisiteError: free-form code, and no boundary on this machine; or the supervisor did not start.
    """
    isolation = allowed_isolation(request)
    run_folder.mkdir(parents=True, exist_ok=True)
    for stale in (status_file, Path(f"{status_file}.request")):
        stale.unlink(missing_ok=True)
    scratch = run_folder / "scratch" if request.writable is None and isolation.tier != "A" else None
    if scratch:
        scratch.mkdir(exist_ok=True)
    specification = build_specification(
        request, isolation, kind="run", lease=lease, status_file=status_file, log_file=log_file, scratch=scratch
    )
    descriptor = Supervised(specification).release()
    if lease == "keep":
        os.close(descriptor)
    else:
        _let_go(status_file)
        _leases[_key(status_file)] = descriptor
    end = monotonic() + _START_SECONDS
    while not status_file.exists():
        if monotonic() > end:
            raise PrerequisiteError(
                f"The supervisor of {run_folder.name} did not start within {_START_SECONDS:g} s.",
                "Type: python -m agent2_sandbox, which shows what this machine lacks.",
            )
        sleep(0.005)


def _key(status_file: Path) -> str:
    return os.path.realpath(status_file)


def _let_go(status_file: Path) -> None:
    with contextlib.suppress(KeyError, OSError):
        os.close(_leases.pop(_key(status_file)))


def read_run_process(status_file: Path) -> RunProcess:
    """Read how a run stands; `lost` where its supervisor is gone without a final status.

    Raises:
        NotFound: nothing was ever started there.
    """
    process = _read(status_file)
    if process.ended_at is None and not is_alive(process.supervisor_pid, process.supervisor_created):
        process = _read(status_file)  # it may have ended well between the two looks
        if process.ended_at is None:
            process = replace(process, state="lost", outcome="supervisor_died", message=f"supervisor_died: {_LOST}")
    if process.state not in ("running", "queued"):
        _let_go(status_file)
    return process


_LOST = "the process that watched this run is gone, and the run with it; its checkpoints are kept."


def _read(status_file: Path) -> RunProcess:
    try:
        data: dict[str, Any] = json.loads(status_file.read_text(encoding="utf-8"))
        isolation = Isolation.model_validate(data.pop("isolation"))
        return RunProcess(isolation=isolation, **data)
    except FileNotFoundError as error:
        raise NotFound(f"No process was started for {status_file.parent.name}.") from error


def stop_run(status_file: Path, mode: Literal["pause", "stop"]) -> None:
    """Ask a run to end, from any process: its worker checkpoints within 10 s, else its tree is killed.

    Returns at once; `read_run_process` tells when it has ended. A run that has ended stays as it is.

    Raises:
        NotFound: nothing was ever started there.
    """
    if read_run_process(status_file).ended_at is None:
        write_whole(f"{status_file}.request", mode.encode(), is_durable=False)
