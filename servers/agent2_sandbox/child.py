"""The child's side: answers a call, or tells the supervisor that it lives; standard library only.

The supervisor names the descriptors in the environment variable `AGENT2_CHILD`; without it (a run by hand) a call reads
standard input and answers on standard output, and heartbeats go nowhere.
"""

import contextlib
import faulthandler
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from time import monotonic  # bound here, before generated code can patch the clock
from types import FrameType

_BEAT_SECONDS = 0.2
_MESSAGE_CHARACTERS = 2000


def _descriptors() -> dict[str, int]:
    named = os.environ.get("AGENT2_CHILD", "")
    return {key: int(number) for key, number in (part.split("=") for part in named.split(",") if part)}


class WorkerControl:
    """The line to the supervisor: heartbeats out, the wish to stop in."""

    def __init__(self, descriptor: int | None) -> None:
        """Write to `descriptor`; None: to nobody."""
        self._descriptor = descriptor
        self._last = 0.0
        self._step = 0
        self.stop_requested = False

    @classmethod
    def from_arguments(cls) -> "WorkerControl":
        """Connect to the supervisor of this process; from now on SIGTERM only sets `stop_requested`.

        Call it in the main thread, before anything generated loads.
        """
        control = cls(_descriptors().get("control"))
        faulthandler.enable(all_threads=True)
        if hasattr(signal, "SIGUSR1"):
            faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False)
        signal.signal(signal.SIGTERM, control._on_stop)
        return control

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self.stop_requested = True

    def beat(self, step: int | None = None, *, is_forced: bool = False) -> None:
        """Say that a step was finished; cheap, sends at most five times a second.

        Args:
            step: which step, for the message should the next one never finish.
            is_forced: send at once.
        """
        self._step = self._step + 1 if step is None else step
        now = monotonic()
        if is_forced or now - self._last >= _BEAT_SECONDS:
            self._last = now
            self._send({"beat": self._step})

    def fail(self, outcome: str, message: str) -> None:
        """Say why the run is about to end badly; the caller then leaves with a code other than 0.

        Args:
            outcome: `code_rejected`, `diverged`, `crashed` or `out_of_memory`.
            message: cause, line and step, for a person.
        """
        self._send({"failed": outcome, "message": message[:_MESSAGE_CHARACTERS]})

    def done(self) -> None:
        """Say that all is finished; without it, an exit code of 0 counts as `exited_early`."""
        self._send({"done": True, "beat": self._step})

    def _send(self, message: dict[str, object]) -> None:
        if self._descriptor is None:
            return
        # A supervisor that is gone or busy must not stop the worker: its lease decides, not this pipe.
        with contextlib.suppress(OSError):
            os.write(self._descriptor, json.dumps(message).encode() + b"\n")


def serve_call(function: Callable[[dict[str, object]], dict[str, object]]) -> None:
    """Answer one `call_child`: read the payload, call `function`, send back its value or its traceback.

    Args:
        function: takes the payload and returns a value that JSON can hold.
    """
    numbers = _descriptors()
    control = WorkerControl.from_arguments()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a call has nothing to save
    with os.fdopen(numbers.get("input", 0), "rb", closefd=False) as source:
        payload = json.loads(source.read())
    answer_descriptor = numbers.get("output")
    if answer_descriptor is None:
        answer_descriptor = os.dup(1)
        os.dup2(2, 1)  # by hand: what the function prints must not mix with the answer
    try:
        answer = {"value": function(payload)}
    except Exception as error:
        traceback.print_exc()
        answer = {"error": f"{type(error).__name__}: {error}"[:_MESSAGE_CHARACTERS], **_where(error)}
    text = json.dumps(answer)
    with os.fdopen(answer_descriptor, "wb") as sink:
        sink.write(text.encode())
    control.done()
    sys.stdout.flush()


def _where(error: BaseException) -> dict[str, object]:
    frames = traceback.extract_tb(error.__traceback__)
    named = getattr(error, "line", None)
    if isinstance(named, int):
        return {"line": named}
    return {"line": frames[-1].lineno, "file": frames[-1].filename} if frames else {}
