"""Processes as the kernel shows them: who is alive, who descends from whom, how much memory; standard library only.

A pid alone lies, because numbers are used again: a process is named by its pid and the time of its creation.
"""

import contextlib
import ctypes
import os
import signal
import sys
import zlib
from collections.abc import Iterable, Iterator
from time import monotonic, sleep

_IS_LINUX = sys.platform.startswith("linux")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


def _stat_fields(pid: int) -> list[str]:
    """Fields 3 and later of /proc/<pid>/stat; the name before may hold anything, so cut behind its last bracket."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  (hot path)
        return file.read().rpartition(")")[2].split()


def creation_time(pid: int) -> float | None:
    """When a process began, in seconds since the machine started (macOS: a checksum of its start as ps words it).

    Returns:
        None where there is no such process, or only its remains (a zombie).
    """
    if not _IS_LINUX:
        rows = _ps(["-o", "state=,lstart=", "-p", str(pid)])
        return (
            None
            if not rows or rows[0].lstrip().startswith("Z")
            else float(zlib.crc32(rows[0].split(None, 1)[1].encode()))
        )
    try:
        fields = _stat_fields(pid)
    except (OSError, IndexError):
        return None
    return None if fields[0] in "ZX" else int(fields[19]) / _TICKS


def is_alive(pid: int | None, created: float | None) -> bool:
    """Whether this very process still runs."""
    return pid is not None and created is not None and creation_time(pid) == created


def state_letter(pid: int) -> str:
    """The kernel's letter for what a process does: R, S, D, T (stopped), Z; empty where it is gone."""
    try:
        return _stat_fields(pid)[0]
    except (OSError, IndexError):
        return ""


def _ps(options: list[str]) -> list[str]:
    # Not subprocess, whose import costs every supervisor 10 ms.
    with os.popen(f"/bin/ps {' '.join(options)} 2>/dev/null") as output:  # macOS; our own words and numbers only  # pyright: ignore[reportDeprecated]
        return [line for line in output if line.strip()]


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:  # noqa: PTH123
                yield from map(int, file.read().split())


def _parents() -> dict[int, int]:
    if not _IS_LINUX:
        rows = (line.split() for line in _ps(["-axo", "pid=,ppid="]))
        return {int(pid): int(parent) for pid, parent in rows}
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parents[int(entry)] = int(_stat_fields(int(entry))[1])
    return parents


def descendants(root: int, *, is_thorough: bool = False) -> list[int]:
    """Give all processes below `root`, nearest first.

    Args:
        root: pid whose descendants are wanted; it is not among them.
        is_thorough: read the whole process table, which misses nobody while others exit.
    """
    if is_thorough or not _HAS_CHILDREN_FILES:
        below: dict[int, list[int]] = {}
        for pid, parent in _parents().items():
            below.setdefault(parent, []).append(pid)

        def next_level(pid: int) -> Iterable[int]:
            return sorted(below.get(pid, ()))
    else:
        next_level = _children
    found: list[int] = []
    level = [root]
    while level:
        level = [child for pid in level for child in next_level(pid)]
        found += level
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """Sum of the resident memory; pages that processes share count once for each."""
    total = 0
    if not _IS_LINUX:
        rows = _ps(["-o", "rss=", "-p", ",".join(map(str, pids))])
        return sum(int(row) for row in rows) * 1024
    for pid in pids:
        with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123
            total += int(file.read().split()[1]) * _PAGE_BYTES
    return total


def proportional_bytes(pids: Iterable[int]) -> int:
    """Sum of the resident memory, shared pages divided among those who share; resident where it cannot be read."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:  # noqa: PTH123
                total += next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
        except (OSError, StopIteration):
            total += resident_bytes([pid])
    return total


def send_signal(pid: int, number: int) -> None:
    """Signal a process that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def kill_descendants(root: int, *, within_seconds: float = 5.0, spared: Iterable[int] = ()) -> bool:
    """Kill all processes below `root` until none is left, and reap those that are ours.

    Returns:
        Whether none is left.
    """
    end = monotonic() + within_seconds
    kept = set(spared)
    while monotonic() < end:
        left = [pid for pid in descendants(root, is_thorough=True) if pid not in kept]
        for pid in left:  # stopped first, so that none forks while its kin are killed
            send_signal(pid, signal.SIGSTOP)
        for pid in left:
            send_signal(pid, signal.SIGKILL)
        reap()
        if not left:
            return True
        sleep(0.005)
    return False


def reap() -> dict[int, int]:
    """Collect children that have ended.

    Returns:
        Their wait statuses by pid.
    """
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended[pid] = status
    return ended


def adopt_orphans() -> None:
    """Make this process the parent of every orphan below it, so that a daemon cannot slip away (Linux)."""
    if _IS_LINUX:
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent's thread ends (Linux)."""
    if _IS_LINUX:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


_HAS_CHILDREN_FILES = os.access(f"/proc/{os.getpid()}/task/{os.getpid()}/children", os.R_OK)
