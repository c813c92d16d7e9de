"""Killing the server, the supervisor or the worker at any moment leaves no process past its lease and a true status."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agent2_sandbox import read_run_process

pytestmark = pytest.mark.slow
ROUNDS = int(os.environ.get("AGENT2_KILL_ROUNDS", "6"))
_ENDS = {
    "server": {("stopped", "server_gone")},
    "supervisor": {("lost", "supervisor_died")},
    "worker": {("failed", "crashed")},
}


@pytest.mark.parametrize("victim", ["server", "supervisor", "worker"])
def test_a_kill_at_any_moment_leaves_nothing_and_a_true_status(
    tier: str,
    victim: str,
    run_folder: Path,
    scripts: Path,
    wait_until: Callable[[Callable[[], bool], float], bool],
    processes_naming: Callable[[str], list[int]],
) -> None:
    generator = random.Random(0)
    for number in range(ROUNDS):
        folder = run_folder / str(number)
        (folder / "work").mkdir(parents=True)
        status_file = folder / "process.json"
        command = [sys.executable, str(scripts / "fake_server.py"), str(folder), "stop", "obedient"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            server.stdout.readline()
            threading.Event().wait(generator.random())
            status = read_run_process(status_file)
            pid = {"server": server.pid, "supervisor": status.supervisor_pid, "worker": status.pid}[victim]
            if pid is None:  # the worker is not there yet
                server.kill()
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            assert wait_until(lambda file=status_file: read_run_process(file).state not in ("running", "queued"), 11)
            server.kill()
        assert wait_until(lambda text=str(folder): not processes_naming(text), 5)
        status = read_run_process(status_file)
        assert (status.state, status.outcome) in _ENDS[victim]
