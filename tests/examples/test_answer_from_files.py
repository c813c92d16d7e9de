"""The example program that plays a language model by files: it answers what its files name, and drives a whole build."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ANSWERS = EXAMPLES / "cartpole-answers"


def ask(folder: Path, prompt: str, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, EXAMPLES / "answer_from_files.py", folder],
        input=prompt,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )


def test_the_last_question_is_answered_by_the_file_that_names_its_words(tmp_path: Path) -> None:
    prompt = (
        "You design agents.\n\n[user]\nYou design the reward …\n\n[assistant]\nno\n\n[user]\nYou design the action …"
    )
    done = ask(ANSWERS, prompt, tmp_path)
    assert done.returncode == 0
    assert "two actions suffice" in done.stdout


def test_a_question_without_a_file_is_kept_and_its_place_is_said(tmp_path: Path) -> None:
    done = ask(ANSWERS, "rules\n\n[user]\nWhat is the weather?", tmp_path)
    assert done.returncode == 1
    assert "when: WORDS OF IT" in done.stderr
    assert "What is the weather?" in (tmp_path / "agent2-question.txt").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_files_drive_a_whole_build_and_a_missing_answer_is_added_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    shutil.copytree(ANSWERS, folder)
    (folder / "analysis.md").rename(tmp_path / "analysis.md")
    llm = f"command:{sys.executable} {EXAMPLES / 'answer_from_files.py'} {folder}"
    build = [sys.executable, "-m", "agent2_generator", "build", "CartPole-v1", "--algorithm", "PPO", "--run-length", "1k-steps",
             "--budget", "8k-steps", "--name", "byhand", "--llm", llm, "--workspace", str(tmp_path / "w"), "--json"]  # fmt: skip
    first = subprocess.run(build, capture_output=True, text=True, check=False, timeout=300)
    assert first.returncode == 1
    assert "answers this question" in first.stderr
    (tmp_path / "analysis.md").rename(folder / "analysis.md")
    second = subprocess.run(build, capture_output=True, text=True, check=False, timeout=500)
    result = json.loads(second.stdout.strip().splitlines()[-1])
    assert result["state"] == "delivered", second.stderr
    assert "new mdp.py, hidden_sizes = [32, 32]" in second.stderr
