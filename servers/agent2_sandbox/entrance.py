"""Steps of a forked child on its way into a sandbox, each for good; standard library only."""

import contextlib
import ctypes
import os
import resource
import struct

from agent2_sandbox.bubblewrap import GPU_DEVICES, GPU_FOLDERS, KERNEL_FOLDERS, SYSTEM_FILES, process_limit
from agent2_sandbox.cgroup import join_group
from agent2_sandbox.landlock import restrict_paths
from agent2_sandbox.processes import die_with_parent
from agent2_sandbox.seccomp import filter_program, install_filter
from agent2_sandbox.specification import Specification

_READ_SEARCH = 2  # CAP_DAC_READ_SEARCH
_SYSTEM_FOLDERS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/proc")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random")
_OPEN_FILES = 4096
_OUT_OF_MEMORY_SCORE = b"800"  # the kernel then picks the run, not the server; it cannot be lowered inside


def set_limits(specification: Specification) -> None:
    """Set the kernel's limits on this process and its children."""
    if specification.memory_group:
        join_group(specification.memory_group)
    if "gpu" not in specification.grants:  # a GPU library reserves address space without end
        _limit(resource.RLIMIT_AS, 2 * specification.memory_bytes + 4 * 2**30 + 16 * 100 * 2**20)
    _limit(resource.RLIMIT_FSIZE, specification.file_bytes)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_MEMLOCK, 0)
    if specification.tier != "A" and specification.sandbox_uid is not None:
        _limit(resource.RLIMIT_NPROC, process_limit(specification.processes))
    with contextlib.suppress(OSError):
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(descriptor, _OUT_OF_MEMORY_SCORE)
        os.close(descriptor)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (value, value))


def enter_landlock(specification: Specification) -> None:
    """Drop root, then shut this process in by Landlock and the system-call filter (tier B)."""
    if specification.sandbox_uid is not None:
        drop_root(specification.sandbox_uid, keeps_read_capability=specification.keeps_read_capability)
    die_with_parent()  # again: setresuid clears it
    has_network, has_gpu = "network" in specification.grants, "gpu" in specification.grants
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    kernel = GPU_FOLDERS if has_gpu else KERNEL_FOLDERS
    restrict_paths(
        read_only=(*_SYSTEM_FOLDERS, *kernel, *SYSTEM_FILES, *specification.system_roots, *specification.read_only),
        writable=("/dev/shm", *([specification.writable] if specification.writable else [])),
        devices=(*_DEVICES, *(GPU_DEVICES if has_gpu else ())),
        allows_network=has_network,
    )
    install_filter(filter_program(has_network_namespace=has_network))


def drop_root(uid: int, *, keeps_read_capability: bool = False) -> None:
    """Become a plain user without capabilities.

    Args:
        uid: number of the user and of its group.
        keeps_read_capability: keep the right to read files whatever their mode; Landlock still decides where.
    """
    library = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        if not (keeps_read_capability and capability == _READ_SEARCH):
            library.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
    if keeps_read_capability:
        library.prctl(8, 1, 0, 0, 0)  # PR_SET_KEEPCAPS
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kept = 1 << _READ_SEARCH if keeps_read_capability else 0
    header = struct.pack("<Ii", 0x20080522, 0)
    data = struct.pack("<IIIIII", kept, kept, kept, 0, 0, 0)  # effective, permitted, inheritable; low and high words
    if library.capset(header, data):
        raise OSError(ctypes.get_errno(), "the capabilities could not be dropped")
    if keeps_read_capability and library.prctl(47, 2, _READ_SEARCH, 0, 0):  # PR_CAP_AMBIENT, raise
        raise OSError(ctypes.get_errno(), "the right to read could not be kept")
