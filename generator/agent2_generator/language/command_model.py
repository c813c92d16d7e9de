"""`command:PROGRAM`: any model by hand; the prompt on standard input, the answer on standard output."""

import os
import shlex
import shutil
import signal
from contextlib import suppress

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream

from agent2_generator.language.protocol import ModelFailed, Question, Reply, Usage, estimate_tokens, prompt_text
from agent2_schemas import PrerequisiteError

TIMEOUT_SECONDS = 600.0
MAX_ANSWER_BYTES = 2**20


class CommandModel:
    """Runs a program for each question, with a time limit; it gets no tools."""

    def __init__(self, command: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Find the program.

        Raises:
            PrerequisiteError: there is no such program.
        """
        try:
            self._arguments = shlex.split(command)
        except ValueError:
            self._arguments = []
        self._timeout_seconds = timeout_seconds
        if not self._arguments or shutil.which(self._arguments[0]) is None:
            raise PrerequisiteError(f"There is no program {command!r}.", "Write --llm command:/path/to/program.")
        self.name = f"command:{os.path.basename(self._arguments[0])}"  # noqa: PTH119  # a word, not a file

    async def ask(self, question: Question) -> Reply:
        """Answer one question; see `ChatModel.ask`."""
        prompt = prompt_text(question)
        try:
            with anyio.fail_after(self._timeout_seconds):
                code, output, errors = await self._run(prompt.encode())
        except TimeoutError:
            raise ModelFailed(
                f"{self.name} gave no answer within {self._timeout_seconds:g} s.", "Mend the program, then resume."
            ) from None
        except OSError as error:
            raise ModelFailed(f"{self.name} does not start: {error.strerror}.", "Mend the program.") from None
        if code != 0:
            tail = errors.decode(errors="replace").strip()[-300:]
            raise ModelFailed(f"{self.name} ended with exit code {code}: {tail}", "Mend the program, then resume.")
        text = output[:MAX_ANSWER_BYTES].decode(errors="replace").strip()
        return Reply(
            model=self.name,
            text=text,
            content=({"type": "text", "text": text},),
            stop="length" if len(output) > MAX_ANSWER_BYTES else "end",
            usage=Usage(input_tokens=estimate_tokens(prompt), output_tokens=estimate_tokens(text), is_estimated=True),
        )

    async def close(self) -> None:
        """Nothing is kept open."""

    async def _run(self, prompt: bytes) -> tuple[int, bytes, bytes]:
        process = await anyio.open_process(self._arguments, start_new_session=True)
        output, errors = bytearray(), bytearray()
        try:
            assert process.stdin
            assert process.stdout
            assert process.stderr
            async with anyio.create_task_group() as group:
                group.start_soon(_feed, process.stdin, prompt)
                group.start_soon(_collect, process.stdout, output)
                group.start_soon(_collect, process.stderr, errors)
            code = await process.wait()
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # its children too
            with anyio.CancelScope(shield=True):
                await process.aclose()
        return code, bytes(output), bytes(errors)


async def _feed(stream: ByteSendStream, data: bytes) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):  # a program need not read it
        await stream.send(data)
        await stream.aclose()


async def _collect(stream: ByteReceiveStream, into: bytearray) -> None:
    async for chunk in stream:
        if len(into) <= MAX_ANSWER_BYTES:
            into += chunk
