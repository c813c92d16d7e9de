"""A control group with a hard limit on memory, where this user may make one; standard library only.

The watchdog ends a tree over its limit with the better message; the group holds what grows faster than it looks.
"""

import contextlib
import os

_ROOT = "/sys/fs/cgroup"
_NAME = "agent2-"


def group_parent() -> str | None:
    """Find the folder in which this process may make groups with a memory limit; None: nowhere."""
    for path in (*_second_version(), *_first_version()):
        if os.access(path, os.W_OK) and os.access(f"{path}/cgroup.procs", os.W_OK):
            return path
    return None


def _own_groups() -> list[tuple[str, str]]:
    groups: list[tuple[str, str]] = []
    with contextlib.suppress(OSError), open("/proc/self/cgroup", encoding="utf-8") as file:  # noqa: PTH123
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            groups.append((controllers, path))
    return groups


def _first_version() -> list[str]:
    """The top of the memory hierarchy, where we are in it; a group below belongs to whoever put us there."""
    folder = f"{_ROOT}/memory"
    is_at_top = ("memory", "/") in _own_groups()
    return [folder] if is_at_top and os.path.exists(f"{folder}/memory.limit_in_bytes") else []  # noqa: PTH110


def _second_version() -> list[str]:
    """Folders above our own group that were handed to this user with the memory controller; our own holds processes.

    Root may write all of them, but they belong to services which end their own processes by group: left alone.
    """
    found: list[str] = []
    path: str = next((path for controllers, path in _own_groups() if not controllers), "/")
    while path != "/" and os.geteuid() != 0:
        path = os.path.dirname(path)  # noqa: PTH120
        with contextlib.suppress(OSError), open(f"{_ROOT}{path}/cgroup.subtree_control", encoding="ascii") as file:  # noqa: PTH123
            if "memory" in file.read().split():
                found.append(f"{_ROOT}{path}")
    return found


def make_group(limit_bytes: int) -> str | None:
    """Make a group for one tree.

    Args:
        limit_bytes: hard limit, temporary file systems included.

    Returns:
        Its folder, or None where there can be none.
    """
    parent = group_parent()
    if parent is None:
        return None
    _sweep(parent)
    folder = f"{parent}/{_NAME}{os.getpid()}"
    try:
        os.mkdir(folder)  # noqa: PTH102
        name = "memory.max" if os.path.exists(f"{folder}/memory.max") else "memory.limit_in_bytes"  # noqa: PTH110
        _write(f"{folder}/{name}", str(limit_bytes))
    except OSError:
        remove_group(folder)
        return None
    return folder


def _sweep(parent: str) -> None:
    """Remove the groups of supervisors that were killed."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            owner = entry.name.removeprefix(_NAME)
            if entry.name.startswith(_NAME) and not os.path.exists(f"/proc/{owner}"):  # noqa: PTH110
                remove_group(entry.path)


def join_group(folder: str) -> None:
    """Put this process, and all that follow from it, into the group."""
    with contextlib.suppress(OSError):
        _write(f"{folder}/cgroup.procs", "0")


def kernel_kills(folder: str) -> int:
    """How many processes of the group the kernel killed for want of memory."""
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError, ValueError), open(f"{folder}/{name}", encoding="ascii") as file:  # noqa: PTH123
            counts = dict(line.split() for line in file)
            return int(counts.get("oom_kill", 0))
    return 0


def remove_group(folder: str) -> None:
    """Remove a group whose processes are gone."""
    with contextlib.suppress(OSError):
        os.rmdir(folder)  # noqa: PTH106


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
