"""Work that may outlast one call: it runs on in the background, and the same call again picks it up."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp.server.mcpserver import Context

T = TypeVar("T")

WAIT_SECONDS = 25.0
PROGRESS_SECONDS = 5.0
KEPT_SECONDS = 3600.0


class LongCalls:
    """Background work of one server by key; the values live in memory, so what must last belongs on disk.

    A key is started once. Its value, or its exception, is handed out once; then the key is forgotten, so that a later
    equal call starts anew. A value that nobody fetches is dropped after an hour.
    """

    def __init__(self) -> None:
        """Start with nothing at work."""
        self._tasks: dict[str, asyncio.Task[Any]] = {}
        self._ended_at: dict[str, float] = {}

    async def result(
        self,
        key: str,
        start: Callable[[], Awaitable[T]],
        wait_seconds: float = WAIT_SECONDS,
        ctx: Context | None = None,
    ) -> T | None:
        """Wait for the value of `key`, starting its work where none is under way.

        Args:
            key: what makes two calls equal, such as the tool's name and its arguments.
            start: begins the work; its value must not be None.
            wait_seconds: longest wait of this call; the work goes on after it.
            ctx: context of the call; progress is reported while waiting, which keeps idle timers of hosts alive.

        Returns:
            The value, or None while the work still runs.

        Raises:
            Exception: whatever the work raised, to one caller.
        """
        self._drop_stale()
        task = self._tasks.get(key)
        if task is None:
            task = self._begin(key, start)
        begun = time.monotonic()
        while not task.done() and (left := begun + wait_seconds - time.monotonic()) > 0:
            await asyncio.wait({task}, timeout=min(left, PROGRESS_SECONDS))
            if ctx is not None and not task.done():
                elapsed = time.monotonic() - begun
                await ctx.report_progress(elapsed, wait_seconds, f"still at work after {elapsed:.0f} s")
        if not task.done():
            return None
        if self._tasks.get(key) is task:
            del self._tasks[key]
            self._ended_at.pop(key, None)
        if task.cancelled():
            raise RuntimeError("The work was cancelled before it ended; call again to start it anew.")
        return task.result()

    def is_running(self, key: str) -> bool:
        """Whether work of this key is under way."""
        task = self._tasks.get(key)
        return task is not None and not task.done()

    def _begin(self, key: str, start: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        async def work() -> T:
            return await start()

        task = asyncio.get_running_loop().create_task(work(), name=f"long call {key}")
        self._tasks[key] = task
        task.add_done_callback(lambda ended: self._note_end(key, ended))
        return task

    def _note_end(self, key: str, task: asyncio.Task[Any]) -> None:
        # Looking at the exception keeps the loop from complaining when no call ever comes back for it.
        if not task.cancelled():
            task.exception()
        if self._tasks.get(key) is task:
            self._ended_at[key] = time.monotonic()

    def _drop_stale(self) -> None:
        loop = asyncio.get_running_loop()
        now = time.monotonic()
        for key, task in list(self._tasks.items()):
            is_of_a_dead_loop = task.get_loop() is not loop
            if is_of_a_dead_loop or now - self._ended_at.get(key, now) > KEPT_SECONDS:
                del self._tasks[key]
                self._ended_at.pop(key, None)
