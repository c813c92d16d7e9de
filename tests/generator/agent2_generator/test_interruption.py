"""Ctrl-C and SIGTERM: the build stops within seconds, keeps everything, says how to go on, and leaves no process."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

STOPPED_WITHIN_SECONDS = 15.0
BUILD = ("build", "CartPole-v1", "--algorithm", "PPO", "--name", "stopped", "--json")


def is_training(command: Any, purpose: str = "search") -> bool:
    """Whether a run of this purpose is making steps."""
    for folder in (command.workspace / "projects" / "stopped" / "runs").glob("*"):
        status, progress = folder / "status.json", folder / "work" / "progress.json"
        if not status.exists() or json.loads(status.read_text())["state"] != "running":
            continue
        if json.loads((folder / "run.json").read_text())["purpose"] == purpose and progress.exists():
            return True
    return False


def stops(command: Any, process: Any, wait_until: Any) -> dict[str, Any]:
    """Wait for the end that a signal asked for: in time, with its exit code, nothing left behind."""
    begun = time.monotonic()
    result = command.result(process, timeout_seconds=60)
    assert time.monotonic() - begun < STOPPED_WITHIN_SECONDS, command.progress()
    assert process.returncode == 130
    assert result["state"] == "stopped"
    assert "Traceback" not in command.progress()
    wait_until(lambda: not command.processes(), 15)
    return result


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_search_pauses_the_runs_and_says_how_to_resume(
    command: Any, wait_until: Any, number: signal.Signals
) -> None:
    process = command.start(*BUILD, "--budget", "400k-steps")
    wait_until(lambda: is_training(command), 120)
    process.send_signal(number)
    result = stops(command, process, wait_until)
    assert "agent2 resume stopped" in result["message"]
    assert "stopping: runs save their weights" in command.progress()
    states = [event.payload["state"] for event in command.events("stopped", "run-ended")]
    assert "failed" not in states
    assert len(command.events("stopped", "interrupted")) == 1


def test_a_second_signal_leaves_the_runs_to_their_leases(command: Any, wait_until: Any) -> None:
    process = command.start(*BUILD, "--budget", "400k-steps")
    wait_until(lambda: is_training(command), 120)
    process.send_signal(signal.SIGINT)
    wait_until(lambda: "stopping: runs save" in command.progress(), 10)
    process.send_signal(signal.SIGINT)
    result = stops(command, process, wait_until)
    assert "agent2 resume stopped" in result["message"]
    assert "leaving at once" in command.progress()


def test_a_signal_before_anything_was_begun_leaves_nothing(command: Any, wait_until: Any) -> None:
    process = command.start(*BUILD, "--budget", "400k-steps")
    wait_until(lambda: "start the four servers" in command.progress(), 60)
    process.send_signal(signal.SIGINT)
    result = stops(command, process, wait_until)
    assert "Stopped before anything was begun. Type the same command again." in result["message"]
    assert not Path(command.workspace / "projects" / "stopped").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_signal_in_the_verdict_stops_as_cleanly_and_a_resume_completes_it(command: Any, wait_until: Any) -> None:
    process = command.start(*BUILD, "--budget", "120k-steps", "--run-length", "4k-steps")
    wait_until(lambda: is_training(command, "verdict"), 400)
    process.send_signal(signal.SIGINT)
    stops(command, process, wait_until)
    finished = {
        event.subject for event in command.events("stopped", "run-ended") if event.payload["state"] == "finished"
    }
    result = command.run("resume", "stopped", timeout_seconds=500)
    assert result["state"] == "delivered", command.progress()
    assert result["verdict"] in ("improved", "not shown", "worse")
    started = [event.subject for event in command.events("stopped", "run-started")]
    assert all(started.count(run_id) == 1 for run_id in finished), "no finished run was trained again"
