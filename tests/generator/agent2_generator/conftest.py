"""Builds as a person starts them: the real command, in a process of its own."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from agent2_workspace import Event, Journal


@dataclass
class Command:
    """`agent2` with a workspace of its own."""

    workspace: Path
    folder: Path

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start the command; its progress goes to a log that a failing test shows."""
        with (self.folder / "progress.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "agent2_generator", *arguments, "--workspace", str(self.workspace)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
                cwd=self.folder,
            )

    def result(self, process: "subprocess.Popen[str]", *, timeout_seconds: float) -> dict[str, Any]:
        """Wait for a command with `--json` and read its one object."""
        shown, _ = process.communicate(timeout=timeout_seconds)
        assert shown.strip(), f"exit code {process.returncode}; progress:\n{self.progress()}"
        return json.loads(shown.strip().splitlines()[-1])

    def run(self, *arguments: str, timeout_seconds: float = 300) -> dict[str, Any]:
        """Run a command with `--json` to its end."""
        return self.result(self.start(*arguments, "--json"), timeout_seconds=timeout_seconds)

    def progress(self) -> str:
        """What the command said so far."""
        return (self.folder / "progress.log").read_text()

    def events(self, name: str, kind: str) -> tuple[Event, ...]:
        """Facts of one kind in a project's journal."""
        return Journal(self.workspace / "projects" / name / "journal.sqlite").events(kind=kind)

    def processes(self) -> list[psutil.Process]:
        """Every living process of this workspace, except this test's own."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter(["cmdline", "environ", "status"]):
            marks = " ".join([*(process.info["cmdline"] or []), *(process.info["environ"] or {}).values()])
            if (
                str(self.workspace) in marks
                and process.pid != psutil.Process().pid
                and process.info["status"] != psutil.STATUS_ZOMBIE
            ):
                found.append(process)
        return found


@pytest.fixture
def command(workspace_folder: Path, tmp_path: Path) -> Command:
    """Give the command a workspace and a folder to stand in."""
    return Command(workspace_folder, tmp_path)


@pytest.fixture
def wait_until() -> Callable[[Callable[[], object], float], None]:
    """Wait for a condition, at most so many seconds."""

    def wait(condition: Callable[[], object], timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        pause = threading.Event()
        while not condition():
            assert time.monotonic() < deadline, f"not within {timeout_seconds} s"
            pause.wait(0.1)

    return wait
