"""Runs as processes: leases, kills, queues, resumes, and workers that lie. The worker is the real one."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent2_schemas import RunStatus
from agent2_training.checkpoints import accept_checkpoints
from agent2_training.runs.calls import RunCalls
from agent2_training.runs.starting import RunRequest
from agent2_workspace import CandidateFolder, ProjectFolder

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

LONG = 5_000_000
"""A budget that no test lives to see."""

OWNER = """
import asyncio, sys
from agent2_training.runs.calls import RunCalls
from agent2_training.runs.starting import RunRequest
async def main():
    status = await RunCalls().start(RunRequest.model_validate_json(sys.argv[1]))
    print(status.run_id, flush=True)
    await asyncio.to_thread(sys.stdin.read)
asyncio.run(main())
"""


def request(**values: Any) -> RunRequest:
    return RunRequest.model_validate({"project": "pole", "candidate": "c1", "budget_env_steps": LONG, **values})


async def until(condition: Any, project: ProjectFolder, run_id: str, seconds: float = 120) -> RunStatus:
    """Check a run until a condition holds."""
    calls = RunCalls()
    with anyio.fail_after(seconds):
        while True:
            status = await calls.check(project.name, run_id, 0, None)
            if condition(status):
                return status
            await anyio.sleep(0.2)


def has_checkpoint(status: RunStatus) -> bool:
    assert status.state == "running", status
    return bool(status.checkpoints_env_steps)


def has_ended(status: RunStatus) -> bool:
    return status.state not in ("running", "queued")


@pytest.fixture
def owner() -> Iterator[Any]:
    """Start a server-like process that owns a run; whatever is left is ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(wanted: RunRequest) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-c", OWNER, wanted.model_dump_json()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
async def clean(cartpole: ProjectFolder, candidate: CandidateFolder) -> Any:
    """Stop every run of the project after the test."""
    yield cartpole
    for run_id in cartpole.run_ids():
        await RunCalls().stop("pole", run_id, "stop")


async def test_a_run_with_lease_stop_saves_and_ends_when_its_server_is_killed(clean: ProjectFolder, owner: Any) -> None:
    process, run_id = owner(request(lease="stop"))
    await until(has_checkpoint, clean, run_id)
    process.kill()
    status = await until(has_ended, clean, run_id, 20)

    assert (status.state, status.outcome) == ("stopped", "server_gone")
    assert status.checkpoints_env_steps[-1] > 0


async def test_a_run_with_lease_keep_goes_on_without_its_server_and_another_one_stops_it(
    clean: ProjectFolder, owner: Any
) -> None:
    process, run_id = owner(request(lease="keep"))
    before = await until(has_checkpoint, clean, run_id)
    process.kill()
    later = await until(
        lambda status: status.checkpoints_env_steps[-1] > before.checkpoints_env_steps[-1], clean, run_id
    )
    status = await RunCalls().stop("pole", run_id, "pause")

    assert later.state == "running"
    assert (status.state, status.outcome) == ("paused", "cancelled")
    assert status.checkpoints_env_steps[-1] >= later.checkpoints_env_steps[-1]


async def test_a_paused_run_goes_on_from_its_last_checkpoint_and_counts_its_steps_on(clean: ProjectFolder) -> None:
    calls = RunCalls()
    first = await calls.start(request())
    await until(has_checkpoint, clean, first.run_id)
    paused = await calls.stop("pole", first.run_id, "pause")
    last = paused.checkpoints_env_steps[-1]
    resumed = await calls.start(request(resume_from=first.run_id, budget_env_steps=last + 1000))
    status = await until(has_ended, clean, resumed.run_id)

    assert (status.state, status.outcome) == ("finished", "ok"), status
    assert status.progress is not None
    assert status.progress.env_steps >= last + 1000
    assert status.checkpoints_env_steps[0] > last
    assert status.training_seed == paused.training_seed


def worker_pid(project: ProjectFolder, run_id: str) -> int:
    return json.loads(project.run(run_id).status_file.read_text())["pid"]


def supervisor_pid(project: ProjectFolder, run_id: str) -> int:
    return json.loads(project.run(run_id).status_file.read_text())["supervisor_pid"]


async def test_a_killed_worker_is_a_crash_and_its_checkpoints_stay(clean: ProjectFolder) -> None:
    started = await RunCalls().start(request())
    await until(has_checkpoint, clean, started.run_id)
    os.kill(worker_pid(clean, started.run_id), signal.SIGKILL)
    status = await until(has_ended, clean, started.run_id, 20)

    assert (status.state, status.outcome) == ("failed", "crashed")
    assert "SIGKILL" in status.message
    assert status.checkpoints_env_steps
    assert [event.payload["outcome"] for event in clean.journal.events(kind="run-ended")] == ["crashed"]


async def test_a_run_whose_supervisor_is_killed_is_lost_and_leaves_no_process(clean: ProjectFolder) -> None:
    started = await RunCalls().start(request())
    await until(has_checkpoint, clean, started.run_id)
    worker = worker_pid(clean, started.run_id)
    os.kill(supervisor_pid(clean, started.run_id), signal.SIGKILL)
    status = await until(has_ended, clean, started.run_id, 20)

    assert (status.state, status.outcome) == ("lost", "supervisor_died")
    with anyio.fail_after(10):
        while Path(f"/proc/{worker}/cmdline").exists() and Path(f"/proc/{worker}/cmdline").read_bytes():
            await anyio.sleep(0.1)


async def test_runs_beyond_the_allowed_number_wait_and_start_when_a_place_is_free(
    clean: ProjectFolder, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text("parallel_runs = 1\n")
    calls = RunCalls()
    first = await calls.start(request())
    second = await calls.start(request(seed_index=1, budget_env_steps=600))
    assert (first.state, second.state) == ("running", "queued")
    await calls.stop("pole", first.run_id, "stop")
    status = await until(has_ended, clean, second.run_id)

    assert (status.state, status.outcome) == ("finished", "ok"), status


async def test_a_queued_run_is_started_from_the_background_of_its_server(clean: ProjectFolder, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("parallel_runs = 1\n")
    calls = RunCalls()
    first = await calls.start(request(budget_env_steps=600))
    second = await calls.start(request(seed_index=1, budget_env_steps=600, lease="stop"))
    assert second.state == "queued"
    with anyio.fail_after(180):
        while not clean.run(second.run_id).status_file.exists():
            await asyncio.sleep(0.2)

    assert (await until(has_ended, clean, first.run_id)).state == "finished"
    assert (await until(has_ended, clean, second.run_id)).state == "finished"


LIAR = '''"""A policy that cheats at import, inside its sandbox."""
import json, os, pathlib
work = pathlib.Path("/")
for place in os.environ.get("PWD", ""), os.getcwd():
    folder = pathlib.Path(place)
    if (folder / "tensorboard").exists() or folder.name == "work":
        work = folder
try:
    (work / "checkpoints").mkdir(exist_ok=True)
    (work / "checkpoints" / "999999.safetensors").symlink_to("/etc/hostname")
    (work / "score.json").write_text(json.dumps({"mean_original_return": 1e9}))
except OSError as error:
    print("could not cheat:", error)

def observe(observation):
    return observation * 1.0
'''


async def test_forged_files_of_a_worker_change_no_checkpoint_and_no_score(cartpole: ProjectFolder, lab: Any) -> None:
    candidate = lab.candidate(cartpole, code=LIAR)
    lab.write_design(cartpole, candidate)
    started = await RunCalls().start(request(candidate=candidate.id, budget_env_steps=600))
    status = await until(has_ended, cartpole, started.run_id)
    run = cartpole.run(started.run_id)
    run.progress_file.unlink(missing_ok=True)
    run.progress_file.write_text('{"env_steps": 1, "score": 1e9}')
    after = await RunCalls().check("pole", started.run_id, 0, None)

    assert status.state == "finished", status
    assert (run.work / "score.json").exists()
    assert 999999 not in after.checkpoints_env_steps
    assert "999999" in after.message
    assert after.progress is None
    assert after.state == "finished"
    assert set(accept_checkpoints(run)) == {"999999.safetensors"}
