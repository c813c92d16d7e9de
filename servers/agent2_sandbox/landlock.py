"""Landlock through system calls: which paths a process may read and write; standard library only."""

import contextlib
import ctypes
import errno
import os
import struct
from collections.abc import Iterable

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST_RIGHTS = (1 << 13) - 1
_NET_BIND, _NET_CONNECT = 1, 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

FIRST_ABI_WITH_REFER, FIRST_ABI_WITH_TRUNCATE, FIRST_ABI_WITH_NETWORK = 2, 3, 4
FIRST_ABI_WITH_IOCTL, FIRST_ABI_WITH_SCOPE = 5, 6


def _call(number: int, *arguments: object) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    result = library.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def landlock_abi() -> int:
    """Give the version of Landlock that the kernel speaks; 0: none."""
    try:
        return _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except (OSError, AttributeError):
        return 0


def _rights(abi: int) -> int:
    rights = _FIRST_RIGHTS
    for first, right in (
        (FIRST_ABI_WITH_REFER, _REFER), (FIRST_ABI_WITH_TRUNCATE, _TRUNCATE), (FIRST_ABI_WITH_IOCTL, _IOCTL_DEV),
    ):  # fmt: skip
        if abi >= first:
            rights |= right
    return rights


def restrict_paths(
    *, read_only: Iterable[str], writable: Iterable[str], devices: Iterable[str], allows_network: bool = False
) -> None:
    """Shut this process, and all that follow from it, out of every other path, for good.

    Set no-new-privileges first. Paths that do not exist are left out.

    Args:
        read_only: files and folders that may be read and executed.
        writable: folders in which all but device files may be made.
        devices: device files that may be read and written.
        allows_network: leave TCP alone.

    Raises:
        OSError: the kernel has no Landlock, or refused.
    """
    abi = landlock_abi()
    if not abi:
        raise OSError(errno.ENOSYS, "this kernel has no Landlock")
    rights = _rights(abi)
    network = 0 if allows_network else _NET_BIND | _NET_CONNECT
    size = 8 if abi < FIRST_ABI_WITH_NETWORK else 16 if abi < FIRST_ABI_WITH_SCOPE else 24
    scope = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS
    attributes = struct.pack("<QQQ", rights, network, scope)[:size]
    ruleset = _call(_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        read = _EXECUTE | _READ_FILE | _READ_DIR
        for path in read_only:
            _allow(ruleset, path, read & rights)
        for path in writable:
            _allow(ruleset, path, rights & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV))
        for path in devices:
            _allow(ruleset, path, (_READ_FILE | _WRITE_FILE | _IOCTL_DEV) & rights)
        _call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112  (pathlib is not worth its import here)
                rights &= _FILE_RIGHTS
            rule = struct.pack("<Qi", rights, descriptor)
            _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
        finally:
            os.close(descriptor)
