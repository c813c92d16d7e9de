"""From exit codes, dumps and tracebacks to one sentence that a person can act on; standard library only."""

import re
import signal
from typing import NamedTuple

_FRAME = re.compile(r'File "([^"\n]+)", line (\d+),? in ([^\s]+)')
_LAST_LINE = re.compile(
    r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning|Failure|NonFinite)\b.*)$", re.MULTILINE
)
_MESSAGE_CHARACTERS = 2000
_ENVIRONMENT_HINT = "there is no network in the sandbox"


class Place(NamedTuple):
    """A line of the code under test."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        """Word it as `mdp.py, line 3 in reward`."""
        return f"{self.file.rpartition('/')[2]}, line {self.line} in {self.function}"


def place_in(text: str, paths: tuple[str, ...], *, newest_first: bool) -> Place | None:
    """Find the line of the code under test in a dump or a traceback.

    Args:
        text: output that holds frames.
        paths: folders and files of the code under test; where no frame lies in them, there is no answer.
        newest_first: a dump of the fault handler begins with the innermost frame, a traceback ends with it.
    """
    frames = [Place(file, int(line), function) for file, line, function in _FRAME.findall(text)]
    ours = [frame for frame in frames if any(frame.file == path or frame.file.startswith(f"{path}/") for path in paths)]
    ours = [frame for frame in ours if "/site-packages/" not in frame.file]
    generated = [frame for frame in ours if frame.file.endswith("/mdp.py")] or ours
    if not generated:
        return None
    return generated[0] if newest_first else generated[-1]


def newest_dump(text: str) -> str:
    """Cut out the last dump of the fault handler, its current thread first where it names one."""
    start = max(text.rfind("Fatal Python error"), text.rfind("Current thread 0x"), text.rfind("\nThread 0x"))
    begin = text.rfind("Fatal Python error") if "Fatal Python error" in text else text.find("Thread 0x")
    return text[max(0, begin if begin >= 0 else start) :]


def exit_message(code: int, log: str, paths: tuple[str, ...]) -> tuple[str, str, Place | None]:
    """Explain an end that nobody asked for.

    Args:
        code: exit code; 128 plus the number for a signal.
        log: the recent output.
        paths: folders and files of the code under test.

    Returns:
        Outcome, sentence, and the line where known.
    """
    if code == 0:
        return (
            "exited_early",
            "exited_early: the process ended with exit code 0 before it was finished (os._exit in generated code?)",
            None,
        )
    if code > 128:
        name = _signal_name(code - 128)
        place = place_in(newest_dump(log), paths, newest_first=True) if "Fatal Python error" in log else None
        return "crashed", f"crashed: exit code {code} ({name}){_at(place)}", place
    place = place_in(log, paths, newest_first=False) if "Traceback" in log else None
    reasons = _LAST_LINE.findall(log)
    reason = f": {reasons[-1]}" if reasons else _last_words(log)
    return "crashed", with_hint(f"crashed: exit code {code}{reason}{_at(place)}")[:_MESSAGE_CHARACTERS], place


def with_hint(message: str) -> str:
    """Say why a connection failed, where the words of the system do not."""
    if re.search(
        r"Network is unreachable|Address family not supported|Name or service not known|name resolution", message
    ):
        return f"{message} ({_ENVIRONMENT_HINT})"
    return message


def megabytes(count: float) -> str:
    """Word a size as `842 MB`."""
    return f"{count / 1e6:.0f} MB"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_words(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return f": {lines[-1][:300]}" if lines else ""


def _at(place: Place | None) -> str:
    return f"; {place}" if place else ""
