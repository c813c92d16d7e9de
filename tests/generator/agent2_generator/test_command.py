"""The command as a person meets it: wrong input gets one message, an exit code, and leaves nothing."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent2_generator.cli import run
from agent2_workspace import build_lock


def explain(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(list(arguments))
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("build", "CartPole-v1", "--budget", "0s"), "leaves nothing to train with"),
        (("build", "CartPole-v1", "--budget", "soon"), "no budget"),
        (("build", "CartPole-v1", "--run-length", "5m"), "no number of environment steps"),
        (("build", "missing.py"), "There is no file"),
        (("build", "CartPole-v1", "--name", "a b"), "--name"),
        (("build", "CartPole-v1", "--design", "rewards"), "Parts: observation"),
        (("build", "CartPole-v1", "--server", "trainer=http://x"), "no server address"),
        (("build", "CartPole-v1", "--task-file", "missing.txt"), "cannot be read"),
        (("build", "CartPole-v1", "--budgt", "5m"), "Did you mean '--budget'"),
        (("build", "CartPole-v1", "--algorithm", "PPX"), "PPX"),
        (("build", "CartPole-v1", "--env-arg", "x"), "no KEY=VALUE"),
        (("build", "CartPole-v1", "--env-arg", "x=["), "expected the node content"),
        (("build", ""), "ENVIRONMENT is empty"),
        (("build", "."), "is a folder"),
        (("build", "/usr"), "is a folder"),
        (("inspect", "/etc/hostname"), "is no Python file"),
        (("build", "CartPole-v1", "--task", "  "), "The task is empty"),
        (("build", "CartPole-v1", "--task-file", "/dev/null"), "The task is empty"),
        (("build", "CartPole-v1", "--task", "x", "--task-file", "y"), "Give one of them"),
        (("build", "CartPole-v1", "--task-file", "/usr"), "Is a directory"),
        (("build", "CartPole-v1", "--baseline", "/dev/null"), "holds no mapping"),
        (("build", "CartPole-v1", "--max-episode-steps", "0"), "not in the range"),
        (("build", "CartPole-v1", "--seed", "-1"), "not in the range"),
        (("build", "CartPole-v1", "--llm", "nonsense"), "names no language model"),
        (("build",), "Missing argument 'ENVIRONMENT'"),
        (("diagnose",), "Name a project, or a folder with --logs"),
        (("diagnose", "--logs", "missing"), "does not exist"),
        (("play", "nothing"), "There is no project 'nothing'"),
        (("evaluate", "../x"), "is no project name"),
        (("replay", "nothing"), "There is no build 'nothing'"),
        (("buidl",), "No such command 'buidl'"),
        (("resume", "nothing"), "There is no build 'nothing'"),
        (("show", "nothing"), "There is no project 'nothing'"),
    ],
)
def test_wrong_input_gets_one_message_and_code_two(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str], workspace_folder: Path
) -> None:
    code, text = explain(capsys, *arguments)
    assert code == 2
    assert words in text
    assert "Traceback" not in text
    assert not workspace_folder.exists()


def test_a_workspace_that_cannot_be_written_says_what_to_choose(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = explain(capsys, "build", "CartPole-v1", "--workspace", "/proc/agent2")
    assert code == 1
    assert "--workspace" in text


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mount a disk of memory with the given options; for root only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = False

    def mount(options: str) -> Path:
        nonlocal mounted
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False, timeout=20).returncode != 0:
            pytest.skip("only root may mount a disk")
        mounted = True
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True, timeout=20)


def test_a_disk_that_is_nearly_full_is_said_before_anything_begins(
    capsys: pytest.CaptureFixture[str], small_disk: Callable[[str], Path]
) -> None:
    folder = small_disk("size=2m")
    code, text = explain(capsys, "build", "CartPole-v1", "--workspace", str(folder / "workspace"))
    assert code == 1
    assert "has only 2 MB left; a build needs 300 MB" in text
    assert "agent2 clean" in text
    assert list(folder.iterdir()) == []


def test_a_disk_that_cannot_be_written_is_said(
    capsys: pytest.CaptureFixture[str], small_disk: Callable[[str], Path]
) -> None:
    folder = small_disk("size=1g,ro")
    code, text = explain(capsys, "build", "CartPole-v1", "--workspace", str(folder / "workspace"))
    assert code == 1
    assert "cannot be written: Read-only file system" in text


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), sqlite3.OperationalError("database or disk is full")]
)
def test_a_disk_that_fills_up_later_says_how_to_go_on(
    error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("agent2_generator.look_commands.find_workspace", full)
    code, text = explain(capsys, "runs")
    assert code == 1
    assert "The disk is full" in text
    assert "agent2 resume" in text


def test_a_name_whose_build_runs_is_refused_and_the_build_goes_on(
    capsys: pytest.CaptureFixture[str], workspace_folder: Path
) -> None:
    folder = workspace_folder / "projects" / "pole"
    folder.mkdir(parents=True)
    (folder / "journal.sqlite").touch()
    with build_lock(folder):
        for command in (("build", "CartPole-v1", "--name", "pole"), ("clean", "pole", "--all", "--yes")):
            code, text = explain(capsys, *command)
            assert code == 1
            assert "Project 'pole' is being built by process" in text
    assert (folder / "journal.sqlite").exists()


def test_an_unforeseen_error_shows_no_traceback_without_debug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("agent2_generator.look_commands.find_workspace", broken)
    code, text = explain(capsys, "runs")
    assert code == 1
    assert "ZeroDivisionError: planted" in text
    assert "Traceback" not in text


def test_help_names_every_command_without_importing_the_protocol() -> None:
    code = "import sys; from agent2_generator.cli import run; run(['--help']); assert 'mcp' not in sys.modules; assert 'torch' not in sys.modules"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert all(name in shown for name in ("build", "resume", "inspect", "doctor", "play", "serve"))


def test_an_empty_workspace_lists_no_projects(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize("name", ["../victim", "..", ".", "", "a/b", "missing"])
def test_clean_removes_nothing_but_a_project_of_that_name(
    name: str, workspace_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = workspace_folder / "victim"
    victim.mkdir(parents=True)
    (workspace_folder / "projects" / "kept").mkdir(parents=True)
    code, text = explain(capsys, "clean", name, "--all", "--yes")
    assert code == 2
    assert "There is no project" in text
    assert victim.is_dir()
    assert (workspace_folder / "projects" / "kept").is_dir()


def test_clean_with_all_removes_an_ended_project(workspace_folder: Path) -> None:
    folder = workspace_folder / "projects" / "old"
    folder.mkdir(parents=True)
    (folder / "journal.sqlite").write_bytes(b"x" * 100)
    assert run(["clean", "old", "--all", "--yes"]) == 0
    assert not folder.exists()


def test_wrong_input_with_json_prints_its_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["build", "CartPole-v1", "--budget", "0s", "--json"]) == 2
    result = json.loads(capsys.readouterr().out)
    assert result["state"] == "failed"
    assert "leaves nothing to train with" in result["message"]


def test_a_missing_extra_is_said_with_the_line_to_type() -> None:
    code = "import sys; sys.modules['optuna'] = None; from agent2_generator.cli import run; sys.exit(run(['build', 'CartPole-v1']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert "pip install 'agent-squared[train]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fixed_algorithm_that_cannot_act_leaves_no_project(
    capsys: pytest.CaptureFixture[str], workspace_folder: Path
) -> None:
    code, text = explain(capsys, "build", "CartPole-v1", "--algorithm", "SAC", "--name", "wrong")
    assert code in (1, 2)
    assert "SAC" in text
    assert "PPO" in text, "what would fit is named"
    assert not (workspace_folder / "projects" / "wrong").exists()
