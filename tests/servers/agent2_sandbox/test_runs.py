"""Runs, their leases, and what is left when one of the three processes is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent2_sandbox import ProcessRequest, RunProcess, read_run_process, start_run, stop_run
from agent2_sandbox.processes import creation_time, is_alive
from agent2_schemas import NotFound

Wait = Callable[[Callable[[], bool], float], bool]
Find = Callable[[str], list[int]]


class _Served:
    """A run that another server process started."""

    def __init__(self, folder: Path, scripts: Path, lease: str, manner: str) -> None:
        self.folder, self.status_file = folder, folder / "process.json"
        self.server = subprocess.Popen(
            [sys.executable, str(scripts / "fake_server.py"), str(folder), lease, manner], stdout=subprocess.PIPE
        )
        assert self.server.stdout is not None
        assert self.server.stdout.readline() == b"started\n"

    def read(self) -> RunProcess:
        return read_run_process(self.status_file)

    def kill_server(self) -> None:
        self.server.kill()
        self.server.wait()

    def steps(self) -> int:
        file = self.folder / "work" / "steps"
        return int(file.read_text() or 0) if file.exists() else 0

    def close(self) -> None:
        self.kill_server()
        assert self.server.stdout is not None
        self.server.stdout.close()
        status = self.read()
        if status.ended_at is None and is_alive(status.supervisor_pid, status.supervisor_created):
            os.kill(status.supervisor_pid, signal.SIGTERM)


@pytest.fixture
def serve(run_folder: Path, scripts: Path) -> Iterator[Callable[[str, str], _Served]]:
    started: list[_Served] = []

    def start(lease: str, manner: str) -> _Served:
        started.append(_Served(run_folder, scripts, lease, manner))
        return started[-1]

    yield start
    for served in started:
        served.close()


def test_a_stop_lease_saves_and_ends_when_the_server_is_killed(
    tier: str, serve: Callable[[str, str], _Served], wait_until: Wait, processes_naming: Find
) -> None:
    served = serve("stop", "obedient")
    assert wait_until(lambda: served.steps() > 5, 20)
    served.kill_server()
    assert wait_until(lambda: not processes_naming(str(served.folder)), 10)
    assert wait_until(lambda: served.read().ended_at is not None, 2)
    status = served.read()
    assert (status.state, status.outcome) == ("stopped", "server_gone")
    assert int((served.folder / "work" / "checkpoint").read_text()) > 5
    assert status.peak_memory_bytes > 0


def test_a_keep_lease_goes_on_and_another_process_pauses_it(
    tier: str, serve: Callable[[str, str], _Served], wait_until: Wait, processes_naming: Find
) -> None:
    served = serve("keep", "obedient")
    assert wait_until(lambda: served.steps() > 5, 20)
    served.kill_server()
    before = served.steps()
    assert wait_until(lambda: served.steps() > before + 100, 20)
    assert served.read().state == "running"
    stop_run(served.status_file, "pause")
    assert wait_until(lambda: served.read().ended_at is not None, 10)
    status = served.read()
    assert (status.state, status.outcome, status.message) == ("paused", "cancelled", "paused as asked")
    assert (served.folder / "work" / "checkpoint").exists()
    assert not processes_naming(str(served.folder))


@pytest.mark.slow
def test_a_worker_that_never_hears_the_request_is_killed_within_10_s(
    tier: str, serve: Callable[[str, str], _Served], wait_until: Wait, processes_naming: Find
) -> None:
    served = serve("stop", "stubborn")
    assert wait_until(lambda: served.steps() > 5, 20)
    served.kill_server()
    assert wait_until(lambda: not processes_naming(str(served.folder)), 10)
    assert wait_until(lambda: served.read().outcome == "server_gone", 2)


def test_a_killed_supervisor_takes_everything_with_it_and_the_run_is_lost(
    tier: str, serve: Callable[[str, str], _Served], wait_until: Wait, processes_naming: Find
) -> None:
    served = serve("keep", "obedient")
    assert wait_until(lambda: served.steps() > 5, 20)
    os.kill(served.read().supervisor_pid, signal.SIGKILL)
    served.kill_server()
    assert wait_until(lambda: not processes_naming(str(served.folder)), 1.0 if tier == "A" else 5.0)
    assert (served.read().state, served.read().outcome) == ("lost", "supervisor_died")


def test_a_killed_worker_is_a_crash(
    serve: Callable[[str, str], _Served], wait_until: Wait, processes_naming: Find
) -> None:
    served = serve("keep", "obedient")
    assert wait_until(lambda: served.steps() > 5 and served.read().pid is not None, 20)
    status = served.read()
    assert status.pid is not None
    assert creation_time(status.pid) == status.created
    os.kill(status.pid, signal.SIGKILL)
    assert wait_until(lambda: served.read().ended_at is not None, 5)
    status = served.read()
    assert (status.state, status.outcome) == ("failed", "crashed")
    assert "SIGKILL" in status.message
    served.kill_server()
    assert wait_until(lambda: not processes_naming(str(served.folder)), 2)


def test_a_run_that_says_done_is_finished_and_a_late_request_changes_nothing(
    run_folder: Path, scripts: Path, wait_until: Wait
) -> None:
    worker = scripts / "saving_worker.py"
    request = ProcessRequest(
        module="agent2_sandbox.script",
        arguments=(str(worker), str(run_folder / "work"), "short"),
        read_only=(worker,),
        writable=run_folder / "work",
    )
    status_file = run_folder / "process.json"
    start_run(request, run_folder=run_folder, status_file=status_file, log_file=run_folder / "log", lease="stop")
    assert wait_until(lambda: read_run_process(status_file).ended_at is not None, 20)
    stop_run(status_file, "stop")
    status = read_run_process(status_file)
    assert (status.state, status.outcome, status.message, status.step) == ("finished", "ok", "", 20)


def test_a_number_that_another_process_took_over_is_not_the_supervisor(run_folder: Path) -> None:
    status = {
        "state": "running", "outcome": None, "message": "", "pid": os.getpid(), "created": 1.0,
        "supervisor_pid": os.getpid(), "supervisor_created": 1.0, "started_at": 0.0, "ended_at": None,
        "peak_memory_bytes": 0, "isolation": {"tier": "A", "not_enforced": []},
    }  # fmt: skip
    (run_folder / "process.json").write_text(json.dumps(status))
    assert read_run_process(run_folder / "process.json").state == "lost"


def test_a_run_that_never_was_is_not_found(run_folder: Path) -> None:
    with pytest.raises(NotFound):
        read_run_process(run_folder / "process.json")
