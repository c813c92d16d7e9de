"""How a training can end badly: what the worker tells its supervisor."""

from agent2_sandbox.explaining import with_hint
from agent2_sandbox.guards import GuardError
from agent2_targets.runtime.failures import BuildError, NonFinite, StepFault, TransformError


class Diverged(Exception):
    """A loss, a parameter or an observation became NaN or infinite; the message names the first such thing."""


class StopRequested(Exception):
    """The supervisor asked the worker to end; the collector and the update give up at the next step."""


def outcome_of(error: BaseException) -> tuple[str, str]:
    """Translate an error into an outcome and a message for a person.

    Args:
        error: what ended the training.

    Returns:
        One of the supervisor's outcomes, and cause, line and step in words.
    """
    if isinstance(error, Diverged):
        return "diverged", str(error)
    if isinstance(error, GuardError):
        return error.outcome, str(error)
    if isinstance(error, TransformError):
        return "code_rejected", describe_transform_error(error)
    if isinstance(error, NonFinite):
        return "diverged", f"The environment gave a value that is not finite: {error}"
    if isinstance(error, StepFault | BuildError):
        return "crashed", f"The environment failed: {error}"
    if isinstance(error, MemoryError):
        return "out_of_memory", f"Memory ran out: {error}"
    return "crashed", f"{type(error).__name__}: {error}"


def describe_transform_error(error: TransformError) -> str:
    """Say which function of mdp.py failed, where and why."""
    line = f", line {error.line}" if error.line else ""
    if not error.function:
        return with_hint(f"could not load mdp.py{line}: {error.message}")
    place = f"{error.function} in mdp.py"
    step = "" if error.step is None else f" (step {error.step})"
    return f"{place}{line}: {error.message}{step}"
