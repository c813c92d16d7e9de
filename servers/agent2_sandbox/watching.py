"""Watches memory, number of processes and disk of a process tree from outside; standard library only."""

import contextlib
import os
from time import monotonic

from agent2_sandbox.explaining import megabytes
from agent2_sandbox.processes import descendants, proportional_bytes, resident_bytes
from agent2_sandbox.specification import Specification

Breach = tuple[str, str]
"""Outcome and sentence."""

_DEPTH_LIMIT = 64
_FREE_DISK_BYTES = 200 * 10**6
_FREE_MEMORY_BYTES = 300 * 10**6
_ENTRIES_PER_MEGABYTE = 1000
_LEAST_ENTRIES = 20_000


class Watch:
    """Measures one tree; each measurement answers with a breach or None."""

    def __init__(self, specification: Specification) -> None:
        """Take note of the limits, and of what lies in shared memory already."""
        self._limits = specification
        self.peak_memory_bytes = 0
        self._next_scan = 0.0
        self._entry_limit = max(_LEAST_ENTRIES, specification.folder_bytes // 10**6 * _ENTRIES_PER_MEGABYTE // 2)

    def check(self, outer: int) -> Breach | None:
        """Measure everything that is due."""
        pids = descendants(outer)
        return self._check_processes(pids) or self._check_memory(pids) or self._check_disk()

    def _check_processes(self, pids: list[int]) -> Breach | None:
        # Before memory: resident pages count forked ones twice, and the truer message is the number of processes.
        if len(pids) > self._limits.processes:
            return "too_many_processes", f"too_many_processes: {len(pids)}, limit {self._limits.processes}"
        return None

    def _check_memory(self, pids: list[int]) -> Breach | None:
        limit = self._limits.memory_bytes
        used = resident_bytes(pids)
        if limit < used <= 3 * limit:
            used = proportional_bytes(pids)  # confirmed: shared pages divided, not counted for each
        self.peak_memory_bytes = max(self.peak_memory_bytes, used)
        if used > limit:
            return "out_of_memory", f"out_of_memory: used {megabytes(used)}, limit {megabytes(limit)}"
        free = _available_bytes()
        if free is not None and free < _FREE_MEMORY_BYTES and used > free:
            return (
                "out_of_memory",
                f"out_of_memory: the machine has only {megabytes(free)} left (used {megabytes(used)})",
            )
        return None

    def _check_disk(self) -> Breach | None:
        now = monotonic()
        if now < self._next_scan:
            return None
        breach = self._check_shared_memory()
        if self._limits.writable and not breach:
            breach = self._check_folder(self._limits.writable)
        self._next_scan = monotonic() + max(1.0, 20 * (monotonic() - now))
        return breach

    def _check_folder(self, folder: str) -> Breach | None:
        size, entries, is_deep = folder_size(folder, self._limits.folder_bytes, self._entry_limit)
        limit = self._limits.folder_bytes
        if is_deep:
            return "disk_limit", f"disk_limit: folders nested deeper than {_DEPTH_LIMIT} in the run folder"
        if size > limit:
            held = f"{megabytes(size)} / {entries} files"
            return "disk_limit", f"disk_limit: run folder holds {held}, limit {megabytes(limit)}"
        if entries > self._entry_limit:
            held = f"{megabytes(size)} / {entries} files"
            return "disk_limit", f"disk_limit: run folder holds {held}, limit {self._entry_limit} files"
        free = _free_disk_bytes(folder)
        if free < _FREE_DISK_BYTES:
            return "disk_limit", f"disk_limit: the disk has only {megabytes(free)} left"
        return None

    def _check_shared_memory(self) -> Breach | None:
        # Tier A has a /dev/shm of its own with a fixed size; as root in tier B the uid tells whose files they are.
        if self._limits.tier == "A" or self._limits.sandbox_uid is None:
            return None
        held = sum(status.st_blocks * 512 for _, status in shared_files_of(self._limits.sandbox_uid))
        limit = self._limits.temporary_bytes
        if held > limit:
            return "out_of_memory", f"out_of_memory: {megabytes(held)} in shared memory, limit {megabytes(limit)}"
        return None


def shared_files_of(uid: int) -> list[tuple[str, os.stat_result]]:
    """Give the files of a user in shared memory."""
    found: list[tuple[str, os.stat_result]] = []
    with contextlib.suppress(OSError), os.scandir("/dev/shm") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == uid:
                    found.append((entry.path, status))
    return found


def folder_size(folder: str, stop_bytes: int, stop_entries: int) -> tuple[int, int, bool]:
    """Measure what a folder takes on disk, without following links.

    Args:
        folder: where to begin.
        stop_bytes: size past which counting may stop early, bytes.
        stop_entries: number of entries past which counting may stop early.

    Returns:
        Bytes on disk, number of entries, and whether folders are nested too deep to go on.
    """
    size = entries = 0
    is_deep = False
    left = [(folder, 0)]
    while left and size <= 4 * stop_bytes and entries <= 2 * stop_entries:
        path, depth = left.pop()
        try:
            with os.scandir(path) as listing:
                for entry in listing:
                    entries += 1
                    with contextlib.suppress(OSError):
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            is_deep = is_deep or depth >= _DEPTH_LIMIT
                            if depth < _DEPTH_LIMIT:
                                left.append((entry.path, depth + 1))
        except OSError:
            continue
    return size, entries, is_deep


def _available_bytes() -> int | None:
    with contextlib.suppress(OSError, StopIteration), open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:")) * 1024
    return None


def _free_disk_bytes(folder: str) -> int:
    try:
        status = os.statvfs(folder)
    except OSError:
        return _FREE_DISK_BYTES
    return status.f_bavail * status.f_frsize
