"""Ctrl-C and SIGTERM while a build runs: the first saves what trains, the second waits for nothing."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

import anyio

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """What a person asked for by signals, as scopes that it cancels.

    The first signal cancels `starting` where the build has not begun, else sets `is_asked`. Any further one cancels
    `pausing`: the runs are then left to their leases, by which they save a checkpoint and end within ten seconds.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        """Create it within a running event loop.

        Args:
            note: says one thing to the person.
        """
        self.is_asked = asyncio.Event()
        self.starting = anyio.CancelScope()
        self.pausing = anyio.CancelScope()
        self.has_begun = False
        self._note = note

    @contextmanager
    def listening(self) -> Generator[None]:
        """Take the signals of the process while the block runs."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with suppress(NotImplementedError):  # no such thing on Windows
                loop.add_signal_handler(number, self.signalled)
        try:
            yield
        finally:
            for number in SIGNALS:
                with suppress(NotImplementedError):
                    loop.remove_signal_handler(number)

    def signalled(self) -> None:
        """A signal has come."""
        if self.is_asked.is_set():
            self._note("leaving at once: runs that still train save their weights by themselves, within ten seconds")
            self.pausing.cancel()
            return
        self.is_asked.set()
        if not self.has_begun:
            self.starting.cancel()
            return
        self._note("stopping: runs save their weights … (once more: leave at once)")
