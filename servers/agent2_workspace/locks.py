"""One builder a project: a lock that the operating system releases when its holder dies."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from agent2_schemas import ProjectBusy


@contextmanager
def build_lock(project_folder: Path) -> Generator[None]:
    """Hold a project for one build.

    Args:
        project_folder: `projects/<name>`; must exist.

    Raises:
        ProjectBusy: another process holds it; the message names its process and since when.
    """
    lock_file, holder_file = project_folder / ".build.lock", project_folder / ".build.holder"
    lock = FileLock(lock_file, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ProjectBusy(
            f"Project {project_folder.name!r} is being built{_holder(holder_file)}.",
            "Wait for it, stop it, or choose another --name.",
        ) from None
    try:
        holder_file.write_text(json.dumps({"pid": os.getpid(), "since": datetime.now(UTC).isoformat()}))
        yield
    finally:
        holder_file.unlink(missing_ok=True)
        lock.release()


@contextmanager
def short_lock(path: Path, *, timeout_seconds: float = 20.0) -> Generator[None]:
    """Hold a lock around a few file operations that two servers may do at once.

    Raises:
        ProjectBusy: it was not free within the time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path, timeout=timeout_seconds):
            yield
    except Timeout:
        raise ProjectBusy(f"{path} stayed locked for {timeout_seconds:.0f} s.", "Try again.") from None


def _holder(holder_file: Path) -> str:
    with suppress(OSError, ValueError, KeyError):
        holder = json.loads(holder_file.read_text())
        return f" by process {holder['pid']} since {holder['since'][:19]}Z"
    return ""
