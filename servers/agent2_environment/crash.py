"""From a child that died to a finding: signal or limit, step, line, and the end of its log."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agent2_environment.introspection.notes import NOW_FILE, PARTIAL_FILE, STALL_FILE
from agent2_sandbox import ChildFailed
from agent2_schemas import Finding

NOTE_BYTES, PARTIAL_BYTES = 65536, 8 * 2**20
LOG_CHARACTERS = 300
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')
NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
OWN_WORDS = (
    "/agent2_environment/",
    "/agent2_targets/",
    "/agent2_sandbox/",
    "/site-packages/",
    "/lib/python3",
    "<frozen",
)
RAISED = re.compile(r"[A-Za-z_.]*(Error|Exception|Failed)\b")
"""How the message of an exception begins that left the child's own function."""
LAST_PHASES = {"second-instance": "one-instance", "close": "close-fails"}
"""Phases after which nothing of the report is missing, and the finding that a crash in them becomes."""

LIMITS = {
    "out_of_memory": ("out-of-memory", "memory"),
    "too_many_processes": ("too-many-processes", "processes"),
    "disk_limit": ("writes-too-much", "what it may write"),
}
NOT_ITS_FAULT = {"supervisor_died", "server_gone", "cancelled"}
"""Outcomes that say nothing of the environment."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a child was when it died, by its own note.

    Attributes:
        phase: what it was doing.
        step: number of the step in its episode; 0 is the reset.
        allowed_seconds: deadline of the call.
        file, line: innermost frame of the user's code, where the log or the watchdog shows one.
        is_hang: whether the watchdog ended it.
    """

    phase: str = "start"
    step: int = 0
    allowed_seconds: float = 0.0
    file: str = ""
    line: int | None = None
    is_hang: bool = False

    @property
    def words(self) -> str:
        """The place in words."""
        if self.phase == "start":
            return "while it was imported and constructed"
        return f"at step {self.step}" if self.step else "in reset"


def read_place(folder: Path, log: str) -> Place:
    """Read a dead child's notes; all of it is untrusted text."""
    words = _text(folder / NOW_FILE, NOTE_BYTES).split()
    stall = _text(folder / STALL_FILE, NOTE_BYTES)
    file, line = _innermost(stall or log)
    is_hang = "Timeout" in stall
    if len(words) != 3 or not NUMBER.fullmatch(words[1]) or not NUMBER.fullmatch(words[2]):
        return Place(file=file, line=line, is_hang=is_hang)
    return Place(
        phase=words[0][:40],
        step=int(float(words[1])),
        allowed_seconds=float(words[2]),
        file=file,
        line=line,
        is_hang=is_hang,
    )


def crash_finding(failure: ChildFailed, place: Place) -> Finding:
    """Say what ended the child, as a finding of severity error; in the last phases as a warning.

    Raises:
        ChildFailed: the environment had no part in it.
    """
    if failure.outcome in NOT_ITS_FAULT:
        raise failure
    code, message, advice = _describe(failure, place)
    severity = "error"
    if place.phase in LAST_PHASES:
        code, severity = LAST_PHASES[place.phase], "warning"
        doing = "A second instance in one process" if code == "one-instance" else "Closing the environment"
        message, advice = f"{doing} ends the process: {message}", "Each instance gets a process of its own."
    shown = f", line {place.line}" if place.line else ""
    return Finding(
        code=code,
        severity=severity,
        message=message,
        advice=advice,
        evidence=f"{place.phase} {place.words}{shown}; end of its log: {_tail(failure.log)}",
        file=place.file,
        line=place.line or failure.line,
        step=place.step,
        is_adapted=severity == "warning",
    )


def read_partial(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Read what a dead child had put on disk: fields of the report, and findings; untrusted until validated."""
    try:
        parts: object = json.loads(_text(folder / PARTIAL_FILE, PARTIAL_BYTES) or "{}")
    except ValueError:
        return {}, []
    if not isinstance(parts, dict):
        return {}, []
    known = cast("dict[str, Any]", parts)
    report, findings = known.get("report"), known.get("findings")
    return (
        cast("dict[str, Any]", report) if isinstance(report, dict) else {},
        cast("list[dict[str, Any]]", findings) if isinstance(findings, list) else [],
    )


def _describe(failure: ChildFailed, place: Place) -> tuple[str, str, str]:
    what = "start" if place.phase == "start" else "step" if place.step else "reset"
    at_line = f"; it was at {Path(place.file).name}, line {place.line}" if place.file and place.line else ""
    if place.is_hang or failure.outcome in ("stalled", "time_limit"):
        name = {"start": "The start", "reset": "reset", "step": f"Step {place.step}"}[what]
        return (
            f"{what}-hangs",
            f"{name} did not finish within {place.allowed_seconds:g} s{at_line}.",
            "Remove the wait or the endless loop; whatever takes longer belongs outside of step.",
        )
    if failure.outcome == "disk_limit" and "the disk has only" in failure.message:
        return (
            "disk-full",
            f"The disk of the workspace is nearly full, which is no fault of the environment: {failure.message}",
            "Free some disk (`agent2 clean NAME`), or choose a workspace on another one, and try again.",
        )
    if failure.outcome in LIMITS:
        code, limit = LIMITS[failure.outcome]
        return (
            code,
            f"The environment passed the limit of {limit} {place.words}: {failure.message}",
            "Use less, or raise the limit in the configuration.",
        )
    if RAISED.match(failure.message):
        return (
            "inspection-failed",
            f"The inspection itself failed {place.words}: {failure.message}",
            "This is a bug of the server, or the environment returned what no check foresaw; please report it.",
        )
    signal = re.search(r"SIG[A-Z]{2,}", failure.message) or _signal_in(failure.log)
    if failure.outcome == "exited_early" or (signal is None and failure.outcome == "crashed"):
        return (
            f"exit-in-{what}",
            f"The environment ended its own process {place.words}{at_line}: {failure.message}",
            "End the episode by terminated or truncated; an exit code of zero is no success.",
        )
    name = signal if isinstance(signal, str) else signal.group(0) if signal else failure.outcome
    return (
        "process-crashed",
        f"The environment's process died of {name} {place.words}{at_line}.",
        "Look at the native code that this line calls.",
    )


def _tail(log: str) -> str:
    """Give the end of a log, without faulthandler's list of all C extensions."""
    lines = [line for line in log.strip().splitlines() if not line.startswith("Extension modules:")]
    return "\n".join(lines).strip()[-LOG_CHARACTERS:]


def _signal_in(log: str) -> str | None:
    names = {"Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS", "Floating-point": "SIGFPE"}
    return next((name for words, name in names.items() if f"Fatal Python error: {words}" in log), None)


def _innermost(dump: str) -> tuple[str, int | None]:
    """Find the innermost frame of the user's code in a faulthandler dump, which is most recent call first."""
    for block in re.split(r"\n(?=Thread |Current thread )", dump):
        frames = list(FRAME.finditer(block))
        if any("/agent2_environment/introspection/" in frame["file"] for frame in frames):
            own = [frame for frame in frames if not any(word in frame["file"] for word in OWN_WORDS)]
            if own:
                return own[0]["file"], int(own[0]["line"])
    return "", None


def _text(path: Path, size: int) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
