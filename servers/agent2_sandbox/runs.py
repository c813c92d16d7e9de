"""Runs that outlive the call that started them: start, read, stop, from any server process."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent2_sandbox.peers import child_environment, python_command
from agent2_sandbox.request import ProcessRequest
from agent2_schemas import Isolation, Lease, Outcome, RunState

_SIMPLE_SUPERVISOR = """
import json, os, subprocess, sys, time
spec = json.load(sys.stdin)
def write(**status):
    with open(spec["status_file"] + ".new", "w") as file: json.dump(status, file)
    os.replace(spec["status_file"] + ".new", spec["status_file"])
base = {"supervisor_pid": os.getpid(), "supervisor_created": 0.0, "started_at": time.time(), "created": 0.0,
        "peak_memory_bytes": 1, "isolation": {"tier": "D", "not_enforced": []}}
with open(spec["log_file"], "wb") as log:
    child = subprocess.Popen(spec["command"], env=spec["environment"], cwd=spec["folder"], stdout=log, stderr=log)
write(**base, state="running", outcome=None, message="", pid=child.pid, ended_at=None)
asked = None
while child.poll() is None:
    time.sleep(0.1)
    if asked is None and os.path.exists(spec["status_file"] + ".request"):
        asked = open(spec["status_file"] + ".request").read(); child.terminate(); since = time.time()
    if asked and time.time() - since > 8: child.kill()
state = {"pause": "paused", "stop": "stopped"}.get(asked) or ("failed" if child.returncode else "finished")
outcome = "cancelled" if asked else ("crashed" if child.returncode else "ok")
write(**base, state=state, outcome=outcome, message="", pid=child.pid, ended_at=time.time())
"""


@dataclass(frozen=True, kw_only=True)
class RunProcess:
    """How the process of a run stands; times in seconds since 1970."""

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


def start_run(request: ProcessRequest, *, run_folder: Path, status_file: Path, log_file: Path, lease: Lease) -> None:
    """Start a detached supervisor with the request's module as its worker; returns once it runs.

    Args:
        request: the worker's module, folders and limits.
        run_folder: the run's folder, written by trusted code only.
        status_file: where the supervisor writes how the run stands, whole each time; outside the writable folder.
        log_file: where the kept part of the worker's output goes; outside the writable folder.
        lease: what happens when this process is gone.
    """
    for stale in (status_file, Path(f"{status_file}.request")):
        stale.unlink(missing_ok=True)
    spec = {
        "command": python_command(request), "environment": child_environment(request), "lease": lease,
        "status_file": str(status_file), "log_file": str(log_file),
        "folder": str(request.working_directory or request.writable or run_folder),
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SIMPLE_SUPERVISOR], stdin=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(spec).encode())
    process.stdin.close()
    while not status_file.exists():
        os.sched_yield()


def read_run_process(status_file: Path) -> RunProcess:
    """Read how a run stands; `lost` where its supervisor is gone without a final status."""
    data = json.loads(status_file.read_text(encoding="utf-8"))
    return RunProcess(**{**data, "isolation": Isolation.model_validate(data["isolation"])})


def stop_run(status_file: Path, mode: Literal["pause", "stop"]) -> None:
    """Ask a run to end: its worker checkpoints within 10 s, else its tree is killed."""
    Path(f"{status_file}.request").write_text(mode, encoding="utf-8")
