"""As root: which plain user the worker becomes, and which files it may then write and read; standard library only."""

import contextlib
import os
import pwd
import stat

from agent2_sandbox.specification import Specification
from agent2_sandbox.watching import shared_files_of

_FIRST_UID, _UIDS = 60_100, 5_000
_NOBODY = 65_534
_WALKED_ENTRIES = 2_000


def unused_uid(number: int) -> int:
    """Choose a uid that belongs to no user, its own for each supervisor, so that limits and signals stay apart.

    Args:
        number: something that differs from supervisor to supervisor: its pid.
    """
    for offset in range(_UIDS):
        uid = _FIRST_UID + (number + offset) % _UIDS
        try:
            pwd.getpwuid(uid)
        except KeyError:
            return uid if _is_mapped(uid) else _NOBODY
    return _NOBODY


def _is_mapped(uid: int) -> bool:
    """Whether this uid exists in our user namespace; a container may have few."""
    with contextlib.suppress(OSError), open("/proc/self/uid_map", encoding="ascii") as file:  # noqa: PTH123
        ranges = [tuple(map(int, line.split())) for line in file]
        return any(first <= uid < first + count for first, _, count in ranges)
    return True


def give_writable_folder(folder: str, uid: int) -> None:
    """Make `uid` the owner of a folder and all in it; links are not followed, files with several names left alone."""
    left = [folder]
    os.chown(folder, uid, uid, follow_symlinks=False)
    while left:
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                is_folder = stat.S_ISDIR(status.st_mode)
                if is_folder or status.st_nlink == 1:
                    os.chown(entry.path, uid, uid, follow_symlinks=False)
                if is_folder:
                    left.append(entry.path)


def needs_read_capability(specification: Specification) -> bool:
    """Whether a plain user could not read what the worker must read, so that it keeps the right to read, and only that."""
    roots = (*specification.system_roots, *specification.read_only)
    if specification.tier == "B":
        # Without a root of its own the worker walks through every parent: /root is closed to others.
        parents = {parent for path in (*roots, *specification.paths) for parent in _parents(path)}
        if any(not _allows_others(parent, stat.S_IXOTH) for parent in parents):
            return True
    if any(not _is_readable(path) for path in roots):
        return True
    return any(not _is_tree_readable(path) for path in specification.read_only)


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) or "/" for count in range(1, len(parts))]


def _allows_others(path: str, bits: int) -> bool:
    try:
        return os.stat(path).st_mode & bits == bits  # noqa: PTH116
    except OSError:
        return True


def _is_readable(path: str) -> bool:
    is_folder = os.path.isdir(path)  # noqa: PTH112
    return _allows_others(path, stat.S_IROTH | stat.S_IXOTH if is_folder else stat.S_IROTH)


def _is_tree_readable(folder: str) -> bool:
    left, seen = [folder], 0
    while left and seen < _WALKED_ENTRIES:
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                seen += 1
                if not _is_readable(entry.path):
                    return False
                if entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
    return True


def remove_shared_files(uid: int) -> None:
    """Remove what a sandbox's own user left in shared memory."""
    if uid == _NOBODY:
        return
    for path, _ in shared_files_of(uid):
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108
