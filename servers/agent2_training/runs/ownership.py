"""Which process answers for a run: `runs/<id>/owner.json`, so that a waiting run never outlives its owner."""

import json
import os
from pathlib import Path

from pydantic import Field, ValidationError

from agent2_schemas import Frozen
from agent2_workspace import RunFolder, read_json, write_json

_START_TIME_FIELD = 19  # field 22 of /proc/<pid>/stat, counted after the name in brackets


class Owner(Frozen):
    """One process, told apart from a later one of the same number."""

    pid: int = Field(ge=1, description="Process number.")
    start_ticks: int = Field(ge=0, description="Kernel clock ticks at its start; 0 where the system does not say.")
    boot_id: str = Field(description="Which boot of the machine it belongs to; empty where the system does not say.")

    def is_alive(self) -> bool:
        """Whether that very process still runs on this machine."""
        if self.boot_id != _boot_id():
            return False
        ticks = _start_ticks(self.pid)
        return ticks is not None and ticks == self.start_ticks


def owner_file(run: RunFolder) -> Path:
    """Name the file that says who owns a run."""
    return run.root / "owner.json"


def own(run: RunFolder) -> None:
    """Make this process the owner of a run."""
    pid = os.getpid()
    write_json(owner_file(run), Owner(pid=pid, start_ticks=_start_ticks(pid) or 0, boot_id=_boot_id()))


def is_owner_alive(run: RunFolder) -> bool:
    """Whether the owner of a run still runs; False where none is named."""
    try:
        return read_json(owner_file(run), Owner).is_alive()
    except (OSError, ValidationError, json.JSONDecodeError):
        return False


def is_own(run: RunFolder) -> bool:
    """Whether this very process owns the run."""
    try:
        owner = read_json(owner_file(run), Owner)
    except (OSError, ValidationError):
        return False
    return owner.pid == os.getpid() and owner.is_alive()


def _start_ticks(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None if Path("/proc/self/stat").exists() or not _exists(pid) else 0
    return None if fields[0] == "Z" else int(fields[_START_TIME_FIELD])


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
