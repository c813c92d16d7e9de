"""From an exception of an environment to a finding: what was raised, where in the user's own file, and at which step."""

import sysconfig
import traceback
from typing import Any

from agent2_environment.introspection.notes import Notes
from agent2_environment.introspection.stepping import EnvironmentFailed

DISPLAY_WORDS = (
    "no available video device",
    "could not connect to display",
    "cannot connect to",
    "$display",
    "opengl platform library",
    "glfw",
    "x11",
    "headless",
)
_FOREIGN = ("agent2_environment", "agent2_targets", "agent2_sandbox", "<frozen")


def find_failure(notes: Notes, failure: EnvironmentFailed, phase: str) -> None:
    """Add the finding of a failed call; what the watch has already found of this very value is not said twice."""
    cause = failure.cause
    if type(cause).__name__ in ("StepFault", "NonFinite") and any(f["severity"] == "error" for f in notes.findings):
        return
    code, severity, message, advice = classify(cause, failure)
    is_own = type(cause).__name__ in ("StepFault", "NonFinite")  # raised here, not in a line of the user's
    place: dict[str, Any] = {} if is_own else user_place(cause)
    notes.find(
        code,
        severity,
        message,
        advice=advice,
        evidence=f"{phase} policy; {place.get('text', '')}".rstrip("; "),
        step=failure.step,
        **{key: place[key] for key in ("file", "line") if key in place},
    )


def classify(cause: BaseException, failure: EnvironmentFailed) -> tuple[str, str, str, str]:
    """Give code, severity, message and advice for what a call raised."""
    where = f"step {failure.step}" if failure.call == "step" else "reset"
    text = f"{type(cause).__name__}: {cause}"[:400]
    if isinstance(cause, SystemExit):
        return (
            f"exit-in-{failure.call}",
            "error",
            f"The environment called sys.exit({'' if cause.code is None else cause.code!r}) at {where}.",
            "End the episode by terminated or truncated; an exit code of zero is no success.",
        )
    if isinstance(cause, EOFError):
        return (
            "reads-standard-input",
            "error",
            f"The environment reads from standard input at {where}; there is nobody to type.",
            "Take settings as constructor arguments.",
        )
    if any(word in text.lower() for word in DISPLAY_WORDS):
        return (
            "needs-display",
            "error",
            f"The environment needs a display at {where}: {text}.",
            "Draw only when render_mode asks for it, and offer rgb_array.",
        )
    if isinstance(cause, MemoryError):
        return ("out-of-memory", "error", f"The environment ran out of memory at {where}: {text}.", "Hold less.")
    if type(cause).__name__ == "NonFinite":
        kind = "reward" if "reward" in str(cause) else "observation"
        return (
            f"{kind}-not-finite",
            "error",
            f"At {where}: {getattr(cause, 'message', cause)}.",
            "Guard the division, root or logarithm that makes it; training stops at such a value.",
        )
    if type(cause).__name__ == "StepFault":
        told = f"At {where}: {getattr(cause, 'message', cause)}."
        return ("interface-broken", "error", told, "Return what the spaces declare.")
    return (
        f"exception-in-{failure.call}",
        "error",
        f"{failure.call} raised {text} at {where}.",
        "Mend this line; actions came from the declared action space, and each episode began with reset.",
    )


def user_place(error: BaseException) -> dict[str, Any]:
    """Find the innermost frame of the user's own code in a traceback: `file`, `line`, `text`."""
    libraries = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    frames = traceback.extract_tb(error.__traceback__)
    foreign = [frame for frame in frames if not any(word in frame.filename for word in _FOREIGN)]
    own = [frame for frame in foreign if not frame.filename.startswith(libraries)] or foreign or list(frames)
    if not own:
        return {}
    frame = own[-1]
    return {"file": frame.filename, "line": frame.lineno, "text": (frame.line or "")[:160]}
