"""One question to a child process and its answer."""

import anyio
import anyio.to_thread

from agent2_sandbox.peers import allowed_isolation
from agent2_sandbox.questions import LATE_SECONDS, Question
from agent2_sandbox.request import ChildAnswer, ProcessRequest


async def call_child(request: ProcessRequest, payload: dict[str, object], *, timeout_seconds: float) -> ChildAnswer:
    """Run the request's module, hand it `payload`, and wait for its answer.

    Args:
        request: the module (which calls `serve_call`), its folders and limits.
        payload: what it gets, as JSON.
        timeout_seconds: longest time, seconds.

    Raises:
        ChildFailed: it ended without an answer, or its function raised.
        PrerequisiteError: free-form code, and no boundary on this machine.
    """
    isolation = await anyio.to_thread.run_sync(allowed_isolation, request)
    question = Question(request, payload, isolation, timeout_seconds)
    try:
        with anyio.move_on_after(timeout_seconds + LATE_SECONDS):
            await anyio.wait_readable(question.supervised.done_descriptor)
        return question.answer()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(question.close)
