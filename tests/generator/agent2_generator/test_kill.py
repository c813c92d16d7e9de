"""Whatever is killed in mid-run, finished work is kept, a resume completes it, and nothing outlives its lease."""

import json
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
BUILD = ("build", "CartPole-v1", "--budget", "200k-steps", "--algorithm", "PPO", "--name", "killed", "--json")


def begun(command: Any, wait_until: Any) -> Any:
    """Start a build and wait until one run has ended and another is training."""
    process = command.start(*BUILD)
    wait_until(lambda: command.events("killed", "run-ended") and training(command), 240)
    return process


def training(command: Any) -> dict[str, Any] | None:
    """Status of a run in progress that has made steps."""
    for status_file in sorted(Path(command.workspace).glob("projects/killed/runs/*/status.json")):
        status = json.loads(status_file.read_text())
        progress = status_file.parent / "work" / "progress.json"
        if status["state"] == "running" and progress.exists() and json.loads(progress.read_text())["env_steps"] > 0:
            return status
    return None


def finishes(command: Any, process: Any, wait_until: Any) -> None:
    """The rest of every test: nothing is left, a resume delivers, finished runs were not trained again."""
    process.communicate(timeout=60)
    finished = {
        event.subject: event.payload
        for event in command.events("killed", "run-ended")
        if event.payload["state"] == "finished"
    }
    assert finished
    wait_until(lambda: not command.processes(), 15)
    result = command.run("resume", "killed")
    assert result["state"] == "delivered", command.progress()
    later = [event for event in command.events("killed", "run-ended") if event.subject in finished]
    assert {event.subject: event.payload for event in later} == finished
    assert len(later) == len(finished)
    wait_until(lambda: not command.processes(), 15)


def test_the_generator(command: Any, wait_until: Any) -> None:
    process = begun(command, wait_until)
    process.kill()
    finishes(command, process, wait_until)


@pytest.mark.parametrize("server", ["environment", "mdp", "training", "metrics"])
def test_a_server(command: Any, wait_until: Any, server: str) -> None:
    process = begun(command, wait_until)
    victims = [
        child for child in psutil.Process(process.pid).children() if f"agent2_{server}" in " ".join(child.cmdline())
    ]
    assert len(victims) == 1
    victims[0].kill()
    if server in ("environment", "mdp"):  # the build may not need them again: it then goes on to its end
        process.communicate(timeout=600)
    finishes(command, process, wait_until)


def test_the_supervisor(command: Any, wait_until: Any) -> None:
    process = begun(command, wait_until)
    status = training(command)
    assert status is not None
    psutil.Process(status["supervisor_pid"]).send_signal(signal.SIGKILL)
    result = command.result(process, timeout_seconds=600)
    assert result["state"] == "delivered", command.progress()
    wait_until(lambda: not command.processes(), 15)


def test_the_worker(command: Any, wait_until: Any) -> None:
    process = begun(command, wait_until)
    status = training(command)
    assert status is not None
    tree = psutil.Process(status["supervisor_pid"]).children(recursive=True)
    workers = [
        child for child in tree if "agent2_training.worker" in " ".join(child.cmdline()) and not child.children()
    ]
    assert workers
    for worker in workers:
        worker.kill()
    result = command.result(process, timeout_seconds=600)
    assert result["state"] == "delivered", command.progress()
    wait_until(lambda: not command.processes(), 15)
