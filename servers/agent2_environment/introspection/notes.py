"""What a child leaves behind while it works: where it is, what it knows so far, and where it hung.

A process of foreign code may die at any instruction, so each fact is on disk before the next risk is taken. The parent
reads these files after a crash and treats them as untrusted text.
"""

import faulthandler
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

NOW_FILE, STALL_FILE, PARTIAL_FILE, STDOUT_FILE = "now.txt", "stall.txt", "partial.json", "stdout.txt"
_REARM_SECONDS = 1.0
_NOW_WIDTH = 64


class Notes:
    """Place, partial report, watchdog and captured standard output of one child.

    Attributes:
        report: fields of the report known so far.
        findings: findings so far, each a dict of the schema's fields.
    """

    def __init__(self, folder: Path) -> None:
        """Open the files in the child's writable folder."""
        self._folder = folder
        self.report: dict[str, Any] = {}
        self.findings: list[dict[str, Any]] = []
        self._now = os.open(folder / NOW_FILE, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._stall = (folder / STALL_FILE).open("w", encoding="utf-8")
        self._armed_at = -1e9
        self._allowed = 0.0
        self._log = -1

    def at(self, phase: str, step: int, allowed_seconds: float) -> None:
        """Note that a call into the environment begins, and how long it may take.

        The watchdog is a C thread of faulthandler, so that it also fires while C code holds the interpreter's lock: it
        writes all stacks to `stall.txt` and ends the process. Arming costs 50 µs, so it is done once a second, one
        second too late.

        Args:
            phase: what the child is doing, one word.
            step: number of the step in its episode; 0 is the reset.
            allowed_seconds: deadline of this call, wall seconds.
        """
        os.pwrite(self._now, f"{phase} {step} {allowed_seconds:g}".ljust(_NOW_WIDTH).encode(), 0)
        now = time.monotonic()
        if allowed_seconds != self._allowed or now - self._armed_at > _REARM_SECONDS:
            faulthandler.dump_traceback_later(allowed_seconds + _REARM_SECONDS, exit=True, file=self._stall)
            self._armed_at, self._allowed = now, allowed_seconds

    def rest(self) -> None:
        """Stop the watchdog: no foreign code runs now."""
        faulthandler.cancel_dump_traceback_later()
        self._armed_at = -1e9

    def save(self, **fields: Any) -> None:
        """Add fields to the report and put all that is known on disk."""
        self.report.update(fields)
        temporary = self._folder / (PARTIAL_FILE + ".tmp")
        temporary.write_text(json.dumps({"report": self.report, "findings": self.findings}), encoding="utf-8")
        temporary.replace(self._folder / PARTIAL_FILE)

    def find(self, code: str, severity: str, message: str, **fields: Any) -> None:
        """Add one finding; a code is kept once a child, at its first sight."""
        if all(known["code"] != code for known in self.findings):
            self.findings.append({"code": code, "severity": severity, "message": message, **fields})

    def capture_stdout(self) -> None:
        """Let descriptor 1 point to a file, so that prints, C code and subprocesses are all seen."""
        sys.stdout.flush()
        self._log = os.dup(1)
        descriptor = os.open(self._folder / STDOUT_FILE, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        os.dup2(descriptor, 1)
        os.close(descriptor)

    def stdout_bytes(self) -> int:
        """Count what was written to descriptor 1 so far."""
        sys.stdout.flush()
        return os.fstat(1).st_size if self._log >= 0 else 0

    def stdout_sample(self, start: int, length: int = 160) -> str:
        """Read a piece of the captured output."""
        with (self._folder / STDOUT_FILE).open("rb") as file:
            file.seek(start)
            return file.read(length).decode("utf-8", "replace")

    def release_stdout(self) -> None:
        """Give descriptor 1 back to the log, with the head of what was captured."""
        if self._log < 0:
            return
        head = self.stdout_sample(0, 65536)
        os.dup2(self._log, 1)
        os.close(self._log)
        self._log = -1
        sys.stdout.write(head)
        sys.stdout.flush()

    def close(self) -> None:
        """Close the files; the child's end does it otherwise."""
        self.rest()
        self._stall.close()
        os.close(self._now)


def resident_bytes() -> int:
    """Read the resident memory of this process; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
