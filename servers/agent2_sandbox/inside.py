"""Runs inside a sandbox and tries to get out: the probe that decides whether a tier holds."""

import contextlib
import ctypes
import os
import socket
import sys
from pathlib import Path

from agent2_sandbox.child import serve_call

_NEW_USER_NAMESPACE = 0x10000000
_NOWHERE = ("192.0.2.1", 9)  # an address for documentation; a datagram socket sends nothing on connect
_OWN_PIDS = 8


def find_holes(payload: dict[str, object]) -> dict[str, object]:
    """Try what must fail.

    Args:
        payload: `tier`, `canary` (a file outside), `folder` (it lies in), `server_pid`.

    Returns:
        `holes`: what succeeded, in words.
    """
    holes = [*_file_holes(str(payload["canary"]), str(payload["folder"])), *_process_holes(payload)]
    with contextlib.suppress(OSError):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            channel.connect(_NOWHERE)
        holes.append("the network can be reached")
    if os.geteuid() == 0:
        holes.append("it is root")
    return {"holes": holes}


def _file_holes(canary: str, folder: str) -> list[str]:
    holes: list[str] = []
    with contextlib.suppress(OSError):
        Path(canary).read_bytes()
        holes.append("a file outside can be read")
    for place in (folder, sys.prefix, "/usr", "/etc", "/var/tmp"):
        path = Path(place) / "agent2-probe"
        with contextlib.suppress(OSError):
            path.write_bytes(b"")
            path.unlink()
            holes.append(f"{place} can be written")
    return holes


def _process_holes(payload: dict[str, object]) -> list[str]:
    holes: list[str] = []
    with contextlib.suppress(OSError, AttributeError):
        if ctypes.CDLL(None).unshare(_NEW_USER_NAMESPACE) == 0:
            holes.append("a user namespace can be made: the system-call filter is not in force")
    with contextlib.suppress(OSError):
        Path(f"/proc/{payload['server_pid']}/environ").read_bytes()
        if payload["tier"] != "A":  # there, the same number may name one of its own processes
            holes.append("the environment of another process can be read")
    if payload["tier"] == "A" and len(list(Path("/proc").glob("[0-9]*"))) > _OWN_PIDS:
        holes.append("processes outside can be seen")
    return holes


if __name__ == "__main__":
    serve_call(find_holes)
