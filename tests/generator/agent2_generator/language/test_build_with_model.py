"""`agent2 build --llm command:PROGRAM` as a person starts it: dry run, whole build, kill in mid-call, replay."""

import sys
from pathlib import Path
from typing import Any

import pytest

from agent2_generator.cli import EXIT_USAGE, run

PROGRAM = f"command:{sys.executable} {Path(__file__).parent / 'answering_program.py'}"
BUILD = ("build", "CartPole-v1", "--budget", "6k-steps", "--algorithm", "PPO", "--name")


def test_a_dry_run_shows_every_prompt_and_sends_nothing(
    workspace_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["build", "CartPole-v1", "--llm", "command:/bin/false", "--dry-run", "--send-source", "no"]) == 0
    shown = capsys.readouterr().out
    for stage in ("analysis", "observation", "action", "reward", "algorithm", "network", "hyperparameters"):
        assert f"===== {stage}: about " in shown
    assert "class CartPoleEnv" not in shown
    assert "First design: 7 calls" in shown
    assert "Nothing was sent" in shown
    assert not workspace_folder.exists()


def test_what_cannot_work_is_said_before_anything_starts(
    workspace_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["build", "CartPole-v1", "--llm", "gpt"]) == EXIT_USAGE
    assert run(["build", "CartPole-v1", "--dry-run"]) == EXIT_USAGE
    assert run(["build", "CartPole-v1", "--llm", "anthropic"]) != 0
    assert run(["build", "CartPole-v1", "--llm", "command:/no/such/program"]) != 0
    assert run(["build", "CartPole-v1", "--llm", "openai:http://localhost:1/v1:m", "--max-usd", "1"]) != 0
    said = capsys.readouterr().err
    for words in ("names no language model", "Name one with --llm", "ANTHROPIC_API_KEY", "no program", "is not known"):
        assert words in said
    assert not list(workspace_folder.glob("projects/*"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_program_designs_and_another_project_replays_it(command: Any) -> None:
    result = command.run(*BUILD, "first", "--llm", PROGRAM)
    assert result["state"] == "delivered", command.progress()
    assert result["tokens"] > 0
    assert result["usd"] == 0
    assert "designer: language model command:" in command.progress()
    answers = command.events("first", "llm-answer")
    assert [event.subject for event in answers] == ["analysis"]
    again = command.run("replay", "first", "--as", "second")
    assert again["state"] == "delivered", command.progress()
    assert command.events("second", "options")[0].payload["llm"].startswith("replay:")
    texts = [event.payload["reply"]["text"] for event in command.events("second", "llm-answer")]
    assert texts == [event.payload["reply"]["text"] for event in answers]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_kill_in_mid_call_is_told_and_only_that_call_is_repeated(
    command: Any, wait_until: Any, tmp_path: Path
) -> None:
    asked = tmp_path / "asked.jsonl"
    program = tmp_path / "hanging_once.py"
    program.write_text(
        "import pathlib, subprocess, sys, threading\n"
        f"asked = pathlib.Path({str(asked)!r})\n"
        "is_first = not asked.exists()\n"
        "prompt = sys.stdin.read()\n"
        "with asked.open('a') as file: file.write('1\\n')\n"
        "if is_first: threading.Event().wait(120)\n"
        f"subprocess.run([sys.executable, {str(Path(__file__).parent / 'answering_program.py')!r}], input=prompt, text=True, check=True)\n"
    )
    process = command.start(*BUILD, "killed", "--llm", f"command:{sys.executable} {program}", "--json")
    wait_until(asked.exists, 120)
    process.kill()
    process.communicate(timeout=60)
    assert command.events("killed", "llm-answer") == ()
    result = command.run("resume", "killed")
    assert result["state"] == "delivered", command.progress()
    (lost,) = command.events("killed", "llm-possibly-paid")
    (first, _) = command.events("killed", "llm-call")
    assert lost.payload["call_event"] == first.id
    assert len(asked.read_text().splitlines()) == 2
    assert len(command.events("killed", "llm-answer")) == 1
