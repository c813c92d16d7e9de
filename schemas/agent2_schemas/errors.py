"""The error tree, by who can mend it.

Agent2Error
├── CorrectableError          the model, or whoever wrote the arguments: a tool error with advice
│   ├── EnvironmentNotFound   the reference names nothing that can be built
│   ├── CodeRejected          generated code failed verification
│   ├── DesignInvalid         a design names parts that do not fit together
│   └── NotFound              an id names no project, candidate, run or evaluation
├── RunFailed                 nobody yet: the evidence tells what happened
│   ├── RunCrashed
│   ├── RunStalled
│   ├── RunDiverged
│   └── OutOfMemory
├── PrerequisiteError         a person: says what to type
└── ProjectBusy               a person: another process holds the project
"""


class Agent2Error(Exception):
    """The root of all foreseen errors: what happened, and what to do next.

    Args:
        message: what happened and where, in one sentence.
        advice: what to do next, in one sentence; empty where the message says it.
    """

    def __init__(self, message: str, advice: str = "") -> None:
        """Keep both halves apart, so that a caller may show either."""
        super().__init__(f"{message} {advice}".strip())
        self.message = message
        self.advice = advice


class CorrectableError(Agent2Error):
    """Whoever wrote the arguments can mend them."""


class EnvironmentNotFound(CorrectableError):
    """The reference names nothing that can be built."""


class CodeRejected(CorrectableError):
    """Generated code failed verification."""


class DesignInvalid(CorrectableError):
    """A design names parts that do not exist or do not fit together."""


class NotFound(CorrectableError):
    """An id names no project, candidate, run or evaluation."""


class RunFailed(Agent2Error):
    """A run ended badly; the message carries the evidence."""


class RunCrashed(RunFailed):
    """The worker died of a signal, an exception or an early exit."""


class RunStalled(RunFailed):
    """No step finished within the stall limit."""


class RunDiverged(RunFailed):
    """Observations, rewards or losses became NaN or infinite."""


class OutOfMemory(RunFailed):
    """The run passed its memory limit."""


class PrerequisiteError(Agent2Error):
    """Something is missing on this machine; the advice says what to type."""


class ProjectBusy(PrerequisiteError):
    """Another process is building this project."""
