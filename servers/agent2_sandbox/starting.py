"""Starts supervisors: from a request to a running process that watches another."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from agent2_sandbox.processes import creation_time
from agent2_sandbox.request import ProcessRequest
from agent2_sandbox.roots import system_roots
from agent2_sandbox.specification import Kind, Specification
from agent2_schemas import Isolation, Lease

_PACKAGES = str(Path(__file__).resolve().parent.parent)
_SUPERVISOR = f"import sys; sys.path.append({_PACKAGES!r}); from agent2_sandbox.supervisor import main; main()"
_HANDED_ON = ("LANG", "LC_ALL", "TZ")
_TEMPORARY = ".sandbox"
"""Folder inside the writable one that serves as home and temporary folder where there is no own /tmp."""


def build_specification(
    request: ProcessRequest,
    isolation: Isolation,
    *,
    kind: Kind,
    lease: Lease,
    status_file: Path,
    log_file: Path,
    scratch: Path | None = None,
    pass_fds: tuple[int, ...] = (),
    child_fds: dict[str, int] | None = None,
) -> Specification:
    """Compose what the supervisor needs to know.

    Args:
        request: module, folders, limits.
        isolation: the tier to use.
        kind: run, call or peer.
        lease: what happens when this process is gone.
        status_file: where the supervisor writes how it stands.
        log_file: where it writes the kept output.
        scratch: writable folder where the request has none and the tier has no temporary folder of its own.
        pass_fds: descriptors that the child inherits under the same numbers.
        child_fds: descriptors of a call, by name.
    """
    writable = request.writable or (scratch if isolation.tier != "A" else None)
    temporary = "/tmp" if isolation.tier == "A" or writable is None else str(_absolute(writable) / _TEMPORARY)
    folder = request.working_directory or request.writable
    read_only = tuple(dict.fromkeys(name for path in request.read_only for name in _names(path)))
    if request.working_directory and not _covers((*read_only, *_names(writable)), request.working_directory):
        read_only += _names(request.working_directory)
    limits = request.limits
    owner = os.getpid()
    return Specification(
        kind=kind, tier=isolation.tier, not_enforced=isolation.not_enforced,
        command=(sys.executable, "-I", "-B", "-m", request.module, *request.arguments),
        environment=_environment(request, temporary), system_roots=system_roots(), read_only=read_only,
        writable=str(_absolute(writable)) if writable else None, folder=str(_absolute(folder)) if folder else temporary,
        bubblewrap=bubblewrap_program() or "", bubblewrap_options=bubblewrap_options(), grants=request.grants,
        lease=lease, owner_pid=owner, owner_created=creation_time(owner) or 0.0, status_file=str(_absolute(status_file)),
        log_file=str(_absolute(log_file)), request_file=f"{_absolute(status_file)}.request", pass_fds=pass_fds,
        child_fds=child_fds or {}, memory_bytes=limits.memory_bytes, processes=limits.processes,
        folder_bytes=limits.folder_bytes, file_bytes=limits.file_bytes, log_bytes=limits.log_bytes,
        temporary_bytes=limits.temporary_bytes, stall_seconds=limits.stall_seconds, wall_seconds=limits.wall_seconds,
    )  # fmt: skip


def _absolute(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _names(path: Path | None) -> tuple[str, ...]:
    """A path under its own name and under that of its target."""
    return tuple(dict.fromkeys((os.path.abspath(path), os.path.realpath(path)))) if path else ()  # noqa: PTH100


def _covers(folders: tuple[str, ...], path: Path) -> bool:
    return any(Path(os.path.realpath(path)).is_relative_to(folder) for folder in folders)


def _environment(request: ProcessRequest, temporary: str) -> dict[str, str]:
    """The whole environment of a child; nothing is inherited but the language and the time zone."""
    inherited = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    if "display" in request.grants:
        inherited |= {name: os.environ[name] for name in ("DISPLAY", "WAYLAND_DISPLAY") if name in os.environ}
    return {
        "PATH": f"{Path(sys.prefix) / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": temporary, "TMPDIR": temporary,
        "USER": "sandbox", "LOGNAME": "sandbox", "XDG_CACHE_HOME": f"{temporary}/.cache",
        "MPLCONFIGDIR": f"{temporary}/.matplotlib", "MPLBACKEND": "Agg", "MUJOCO_GL": "egl", "SDL_VIDEODRIVER": "dummy",
        "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1", "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", **inherited, **request.environment,
    }  # fmt: skip


def bubblewrap_program() -> str | None:
    """Where bubblewrap is, among the system's own programs."""
    return shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin")


_OPTIONS: dict[str, tuple[str, ...]] = {}


def bubblewrap_options() -> tuple[str, ...]:
    """Which of the options that came later this version of bubblewrap has."""
    program = bubblewrap_program()
    if program is None:
        return ()
    if program not in _OPTIONS:
        text = subprocess.run([program, "--help"], capture_output=True, text=True, check=False, env={}).stdout
        _OPTIONS[program] = tuple(option for option in ("--disable-userns",) if option in text)
    return _OPTIONS[program]


class Supervised:
    """A supervisor that this process started and may wait for."""

    def __init__(self, specification: Specification) -> None:
        """Start it."""
        lease_end, lease = os.pipe()
        done, done_end = os.pipe()
        inherited = (*specification.pass_fds, *specification.child_fds.values())
        # What the supervisor itself has to complain of; it opens the same file anew for its worker's output.
        last_words = os.open(specification.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _SUPERVISOR],
            stdin=lease_end, stdout=done_end, stderr=last_words, env={}, cwd="/",
            start_new_session=True, pass_fds=inherited,
        )  # fmt: skip
        for descriptor in (lease_end, done_end, last_words):
            os.close(descriptor)
        self.done_descriptor = done
        """Readable once the supervisor has ended."""
        self._lease: int | None = lease
        self._specification = specification
        with contextlib.suppress(BrokenPipeError):
            write_fully(lease, specification.to_line())

    def release(self) -> int:
        """Hand the lease over to the caller: the descriptor that must stay open; collect the starter process."""
        self._process.wait()
        os.close(self.done_descriptor)
        lease, self._lease = self._lease, None
        assert lease is not None
        return lease

    def end(self) -> None:
        """Give up the lease, so that the tree is killed."""
        if self._lease is not None:
            os.close(self._lease)
            self._lease = None

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the supervisor has ended; False where it still runs after `timeout_seconds`."""
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def close(self) -> None:
        """End it, wait for it, and let go of the descriptors."""
        self.end()
        if not self.wait(15.0):
            self._process.kill()
            self._process.wait()
        if self.done_descriptor >= 0:
            os.close(self.done_descriptor)
            self.done_descriptor = -1

    def status(self) -> dict[str, object] | None:
        """Read its final status; None where it left none."""
        try:
            with open(self._specification.status_file, encoding="utf-8") as file:  # noqa: PTH123
                status: dict[str, object] = json.load(file)
        except (OSError, ValueError):
            return None
        return status if status.get("ended_at") is not None else None

    def log(self) -> str:
        """Read the kept output."""
        with contextlib.suppress(OSError):
            return Path(self._specification.log_file).read_text(encoding="utf-8", errors="replace")
        return ""


def write_fully(descriptor: int, data: bytes) -> None:
    """Write all of `data`, however long it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class Folder:
    """A private temporary folder for the status, the log and the scratch files of one call or peer."""

    def __init__(self) -> None:
        """Make it."""
        self.path = Path(tempfile.mkdtemp(prefix="agent2-"))
        self.scratch = self.path / "scratch"
        self.scratch.mkdir()

    def remove(self) -> None:
        """Remove it, however deep it is nested."""
        subprocess.run(["/bin/rm", "-rf", "--", str(self.path)], check=False, stdin=subprocess.DEVNULL, env={})
