"""A child that talks over descriptors which the caller made."""

import subprocess
import sys
import tempfile
from pathlib import Path

from agent2_sandbox.request import ProcessRequest
from agent2_schemas import Isolation, Outcome


def python_command(request: ProcessRequest) -> list[str]:
    """Give the command line of a request."""
    return [sys.executable, "-I", "-B", "-m", request.module, *request.arguments]


def child_environment(request: ProcessRequest) -> dict[str, str]:
    """Give the whole environment of a child: nothing of ours is handed on."""
    return {
        "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/bin:/bin", "HOME": tempfile.gettempdir(), "MUJOCO_GL": "egl",
        "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1",
        "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", **request.environment,
    }  # fmt: skip


class Peer:
    """A running process with which the caller shares descriptors."""

    def __init__(self, process: subprocess.Popen[bytes], isolation: Isolation) -> None:
        """Hold the process."""
        self._process = process
        self.isolation = isolation

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until it has ended; False where it still runs after `timeout_seconds`."""
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """End it, with its whole tree."""
        self._process.kill()
        self._process.wait()

    def failure(self) -> tuple[Outcome, str, str] | None:
        """Tell how it ended, as (outcome, message, log); None while it runs and where all went well."""
        code = self._process.poll()
        return None if not code else ("crashed", f"the process ended with code {code}.", "")


def start_peer(request: ProcessRequest, *, pass_fds: tuple[int, ...]) -> Peer:
    """Start a process that inherits `pass_fds` under the same numbers; name them in its arguments."""
    process = subprocess.Popen(
        python_command(request),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        env=child_environment(request),
        pass_fds=pass_fds,
        cwd=request.working_directory or request.writable or tempfile.gettempdir(),
    )
    return Peer(process, Isolation(tier="D"))
