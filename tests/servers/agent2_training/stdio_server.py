"""A training server over standard input and output, spoken to line by line: each line that it prints is looked at."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..agent2_sandbox import forms  # noqa: TID252  (the folders of tests are no package with a name)

_ENDED = ("paused", "finished", "failed", "stopped", "lost")


class StdioServer:
    """The real `python -m agent2_training`, as root or as an ordinary user.

    Args:
        workspace: the workspace.
        configuration: the user's configuration file.
        form: root or user.
        environment: further environment variables.
    """

    def __init__(self, workspace: Path, configuration: Path, form: str = "root", **environment: str) -> None:
        """Start it and shake hands."""
        self.lines: list[str] = []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed in close)
        self._number = 0
        named = {"AGENT2_WORKSPACE": str(workspace), "AGENT2_CONFIG": str(configuration), "HOME": "/tmp"}
        self._process = subprocess.Popen(
            forms.command_as(form, [sys.executable, "-m", "agent2_training"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            env={**os.environ, **named, **environment},
        )  # fmt: skip
        client = {"name": "tests", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and give its structured answer."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]

    def until_ended(self, project: str, run: str, rounds: int = 8) -> dict[str, Any]:
        """Wait for the end of a run, 25 s a round at most."""
        status: dict[str, Any] = {}
        for _ in range(rounds):
            status = self.call("check_training", project=project, run=run, wait_seconds=25)
            if status["state"] in _ENDED:
                return status
        raise AssertionError(f"{run} has not ended: {status}")

    def kill(self) -> None:
        """End it at once, without a word."""
        self._process.kill()
        self._process.wait(10)

    def close(self) -> None:
        """End it by closing its input."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(20)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.kill()
        self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdout is not None
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        while line := self._process.stdout.readline():
            self.lines.append(line.decode())
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0", message
            if message.get("id") == self._number:
                assert "result" in message, message
                return message["result"]
            assert "id" not in message, f"an answer that nobody asked for: {message}"
        raise AssertionError(f"the server ended: {self._words()}")

    def _words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-4000:]
