"""Take checkpoints over from a worker's folder: regular files only, no link followed, sizes capped, header parsed."""

import ctypes
import errno
import os
import re
import stat
import struct
from contextlib import closing, suppress
from pathlib import Path

from agent2_training.checkpoints.safetensors_file import MalformedCheckpoint, SafetensorsFile, read_safetensors
from agent2_workspace import RunFolder, write_whole

CHECKPOINT_FORMAT = "agent2-checkpoint-1"
CHECKPOINT_LIMIT_BYTES = 512 * 2**20
LISTED_FILES_LIMIT = 10_000
_NAME = re.compile(r"([0-9]{1,15})\.safetensors")
_OPENAT2 = 437  # the same number on every architecture
_RESOLVE = 0x08 | 0x04 | 0x02  # BENEATH | NO_SYMLINKS | NO_MAGICLINKS
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def accepted_checkpoints(run: RunFolder) -> tuple[int, ...]:
    """Tell the env steps of the accepted checkpoints, ascending."""
    if not run.checkpoints.is_dir():
        return ()
    matches = (_NAME.fullmatch(entry.name) for entry in run.checkpoints.iterdir())
    return tuple(sorted(int(match[1]) for match in matches if match))


def checkpoint_file(run: RunFolder, env_steps: int) -> Path:
    """Name the file of an accepted checkpoint."""
    return run.checkpoints / f"{env_steps}.safetensors"


def accept_checkpoints(run: RunFolder) -> dict[str, str]:
    """Copy new checkpoints from `work/checkpoints/` into `checkpoints/`.

    What is accepted once is never replaced: a worker cannot rewrite a checkpoint that was scored.

    Returns:
        File name to reason, for every file that looks like a checkpoint and is refused.
    """
    refused: dict[str, str] = {}
    known = set(accepted_checkpoints(run))
    for name in _listed(run.work / "checkpoints"):
        match = _NAME.fullmatch(name)
        if not match or int(match[1]) in known or str(int(match[1])) != match[1]:
            continue
        try:
            content = read_plain_file(run.work, f"checkpoints/{name}", limit_bytes=CHECKPOINT_LIMIT_BYTES)
            check_checkpoint(content, int(match[1]))
        except (OSError, MalformedCheckpoint) as error:
            refused[name] = str(error)
        else:
            write_whole(checkpoint_file(run, int(match[1])), content)
    return refused


def check_checkpoint(content: bytes, env_steps: int) -> SafetensorsFile:
    """Check that bytes are a checkpoint of the named step.

    Raises:
        MalformedCheckpoint: they are not.
    """
    file = read_safetensors(content)
    if file.metadata.get("format") != CHECKPOINT_FORMAT:
        raise MalformedCheckpoint(f"its format is not {CHECKPOINT_FORMAT}")
    if file.metadata.get("env_steps") != str(env_steps):
        raise MalformedCheckpoint("its env_steps differ from its name")
    if not any(name.startswith("actor.") for name in file.tensors):
        raise MalformedCheckpoint("it holds no actor")
    return file


def read_plain_file(root: Path, relative: str, *, limit_bytes: int) -> bytes:
    """Read a regular file beneath a folder that untrusted code may have written.

    Args:
        root: the folder; itself made by trusted code.
        relative: path below it.
        limit_bytes: largest size taken.

    Raises:
        OSError: it is missing, reached through a link, not a regular file, or larger than the limit.
    """
    with closing(_Descriptor(_open_beneath(root, relative))) as file:
        status = os.fstat(file.number)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"{relative} is not a regular file")
        if status.st_size > limit_bytes:
            raise OSError(errno.EFBIG, f"{relative} holds {status.st_size} bytes, limit {limit_bytes}")
        content = bytearray()
        while len(content) <= limit_bytes:
            chunk = os.read(file.number, min(2**20, limit_bytes + 1 - len(content)))
            if not chunk:
                return bytes(content)
            content += chunk
    raise OSError(errno.EFBIG, f"{relative} grew past {limit_bytes} bytes")


class _Descriptor:
    """A descriptor that `closing` can close."""

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        os.close(self.number)


def _open_beneath(root: Path, relative: str) -> int:
    root_descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        how = struct.pack("<QQQ", _OPEN_FLAGS, 0, _RESOLVE)
        libc = ctypes.CDLL(None, use_errno=True)
        number = libc.syscall(_OPENAT2, root_descriptor, relative.encode(), how, len(how))
        if number >= 0:
            return int(number)
        code = ctypes.get_errno()
        if code != errno.ENOSYS:
            raise OSError(code, f"{relative}: {os.strerror(code)}")
        return _open_by_steps(root_descriptor, relative)
    finally:
        os.close(root_descriptor)


def _open_by_steps(root_descriptor: int, relative: str) -> int:
    """Open without openat2 (old kernels): every folder on the way by itself, none through a link."""
    *folders, name = relative.split("/")
    if ".." in (*folders, name):
        raise OSError(errno.EXDEV, f"{relative} leaves its folder")
    here = os.dup(root_descriptor)
    try:
        for folder in folders:
            below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, _OPEN_FLAGS, dir_fd=here)
    finally:
        os.close(here)


def _listed(folder: Path) -> list[str]:
    names: list[str] = []
    with suppress(OSError):
        if folder.is_symlink():
            return []
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) >= LISTED_FILES_LIMIT:
                    break
    return sorted(names, key=lambda name: (len(name), name))
