"""The errors of building an environment, stepping it, and running the functions of mdp.py."""

from __future__ import annotations


class BuildError(Exception):
    """An environment reference cannot be built.

    Args:
        code: kebab-case identifier of the fault, e.g. `unknown-id`.
        message: what is wrong and where, in one sentence.
        advice: what to do next, in one sentence.
        line: line in the environment's file, where one is to blame.
    """

    def __init__(self, code: str, message: str, advice: str, line: int | None = None) -> None:
        """Keep the parts apart, so that a caller may show each."""
        super().__init__(f"{message} {advice}".strip())
        self.code, self.message, self.advice, self.line = code, message, advice, line


class StepFault(Exception):
    """An environment broke the interface while it ran.

    Args:
        message: what was seen and what was expected.
        step: steps taken in that environment since it was built, the faulty one included; None where not known.
        index: which environment of the batch; None where there is only one.
    """

    def __init__(self, message: str, step: int | None = None, index: int | None = None) -> None:
        """Put the place into the message."""
        place = "" if step is None else f" (step {step}{'' if index is None else f' of environment {index}'})"
        super().__init__(message + place)
        self.message, self.step, self.index = message, step, index


class NonFinite(StepFault):
    """An observation or a reward is NaN or infinite."""


class TransformError(Exception):
    """A function of mdp.py failed or broke its contract.

    Args:
        message: what happened, in one sentence.
        function: which function; "" for the module itself.
        line: line in mdp.py, where known.
        step: batch step at which it happened, where the caller knows it.
    """

    def __init__(self, message: str, function: str = "", line: int | None = None, step: int | None = None) -> None:
        """Put function, line and step into the message."""
        place = "mdp.py" + (f", {function}()" if function else "") + (f", line {line}" if line else "")
        super().__init__(f"{place}: {message}" + ("" if step is None else f" (step {step})"))
        self.message, self.function, self.line, self.step = message, function, line, step
