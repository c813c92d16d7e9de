"""One question to a child process and its answer."""

import json
import os
import tempfile
from pathlib import Path

import anyio

from agent2_sandbox.peers import child_environment, python_command
from agent2_sandbox.probing import probe_isolation
from agent2_sandbox.request import ChildAnswer, ChildFailed, ProcessRequest


async def call_child(request: ProcessRequest, payload: dict[str, object], *, timeout_seconds: float) -> ChildAnswer:
    """Run the request's module, hand it `payload`, and wait for its answer.

    Args:
        request: the module (which calls `serve_call`), its folders and limits.
        payload: what it gets, as JSON.
        timeout_seconds: longest time, seconds.

    Raises:
        ChildFailed: it ended without an answer, or its function raised.
    """
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as sink:
        source.write(json.dumps(payload).encode())
        source.seek(0)
        descriptors = (source.fileno(), sink.fileno())
        environment = child_environment(request) | {"AGENT2_CHILD": f"input={descriptors[0]},output={descriptors[1]}"}
        folder = request.working_directory or request.writable or Path(tempfile.gettempdir())
        try:
            with anyio.fail_after(timeout_seconds):
                ended = await anyio.run_process(
                    python_command(request), check=False, cwd=folder, env=environment, pass_fds=descriptors,
                    stderr=-2,
                )  # fmt: skip
        except TimeoutError as error:
            raise ChildFailed("time_limit", f"no answer within {timeout_seconds:g} s.") from error
        log = ended.stdout.decode(errors="replace")
        size = os.fstat(descriptors[1]).st_size
        if not size:
            raise ChildFailed("crashed", f"the process ended with code {ended.returncode} without an answer.", log)
        sink.seek(0)
        answer = json.loads(sink.read())
    if "error" in answer:
        raise ChildFailed("crashed", answer["error"], log, answer.get("line"))
    return ChildAnswer(value=answer["value"], log=log, peak_memory_bytes=0, isolation=probe_isolation())
