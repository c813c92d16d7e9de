"""How long the policy host waited for a processor: on a busy machine that time is not its own.

The server, outside both sandboxes, reads it from the kernel and keeps it in a file that the evaluator inherits: the
evaluator cannot see the policy host, and the policy host cannot reach the file.
"""

from __future__ import annotations

import os
import struct
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_SECONDS = struct.Struct("<d")
_PERIOD_SECONDS = 0.1


class WaitingTime:
    """The seconds that a process was ready to run and got no processor, kept up to date while it is watched."""

    def __init__(self) -> None:
        """Make the file; it holds zero until a process is watched."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (closed by stop)
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._write(0.0)

    @property
    def descriptor(self) -> int:
        """What the evaluator inherits."""
        return self._file.fileno()

    def watch(self, find_pid: Callable[[], int | None]) -> None:
        """Read on in the background until `stop`; a system that does not tell leaves zero."""
        self._thread = threading.Thread(target=self._follow, args=(find_pid,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watching and close the file."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        self._file.close()

    def _follow(self, find_pid: Callable[[], int | None]) -> None:
        pid = None
        while not self._end.wait(_PERIOD_SECONDS):
            pid = pid or find_pid()
            with suppress(OSError, ValueError, IndexError):
                # Nanoseconds on a processor, nanoseconds waiting for one, number of turns.
                self._write(int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[1]) / 1e9)

    def _write(self, seconds: float) -> None:
        os.pwrite(self._file.fileno(), _SECONDS.pack(seconds), 0)


def read_waiting_seconds(descriptor: int) -> float:
    """Read what `WaitingTime` keeps, from the descriptor that was inherited."""
    return float(_SECONDS.unpack(os.pread(descriptor, _SECONDS.size, 0))[0])
