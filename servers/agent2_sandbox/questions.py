"""A question to a child on its way, without an event loop."""

import json
import os
import tempfile
from typing import IO, cast

from agent2_sandbox.request import ChildAnswer, ChildFailed, ProcessRequest, timed
from agent2_sandbox.starting import Folder, Supervised, build_specification
from agent2_schemas import Isolation, Outcome

_ANSWER_BYTES = 64 * 2**20
LATE_SECONDS = 15.0
"""How much later than its limit a child may be before its supervisor is given up."""


class Question:
    """One child that was asked something."""

    def __init__(
        self, request: ProcessRequest, payload: dict[str, object], isolation: Isolation, timeout_seconds: float
    ) -> None:
        """Start the child."""
        self._isolation = isolation
        self._folder = Folder()
        self._answer: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed in close)
        with tempfile.TemporaryFile() as question:
            question.write(json.dumps(payload).encode())
            question.seek(0)
            specification = build_specification(
                timed(request, timeout_seconds), isolation, kind="call", lease="stop",
                status_file=self._folder.path / "status.json", log_file=self._folder.path / "log",
                scratch=self._folder.scratch,
                child_fds={"input": question.fileno(), "output": self._answer.fileno()},
            )  # fmt: skip
            self.supervised = Supervised(specification)

    def answer(self) -> ChildAnswer:
        """Give the answer of a child that has ended.

        Raises:
            ChildFailed: it ended without an answer, or its function raised.
        """
        if not self.supervised.wait(0.5):
            self.supervised.end()
            self.supervised.wait(LATE_SECONDS)
        status, log = self.supervised.status(), self.supervised.log()
        if status is None:
            raise ChildFailed("supervisor_died", "the supervisor ended without a status.", log, None, self._isolation)
        line = cast("int | None", status.get("line"))
        outcome = cast("Outcome", status["outcome"])
        if outcome != "ok":
            raise ChildFailed(outcome, str(status["message"]), log, line, self._isolation)
        value = self._parsed(log)
        return ChildAnswer(
            value=value, log=log, peak_memory_bytes=cast("int", status["peak_memory_bytes"]), isolation=self._isolation
        )

    def _parsed(self, log: str) -> dict[str, object]:
        """Read the answer, which the child may have forged: only JSON, only so much."""
        size = os.fstat(self._answer.fileno()).st_size
        if size > _ANSWER_BYTES:
            raise ChildFailed(
                "crashed", f"the answer is {size} bytes, limit {_ANSWER_BYTES}.", log, None, self._isolation
            )
        try:
            answer = json.loads(os.pread(self._answer.fileno(), size, 0))
            if "error" in answer:
                line = answer.get("line")
                line = line if isinstance(line, int) else None
                raise ChildFailed("crashed", str(answer["error"]), log, line, self._isolation)
            value = answer["value"]
            if not isinstance(value, dict):
                raise TypeError("the value is no object")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ChildFailed("crashed", f"malformed answer: {error}.", log, None, self._isolation) from error
        return cast("dict[str, object]", value)

    def close(self) -> None:
        """End the child where it still runs, and remove its folder."""
        self.supervised.close()
        self._answer.close()
        self._folder.remove()
