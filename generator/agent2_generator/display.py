"""What a person sees while a build runs: a live table on a terminal, plain lines elsewhere; always on stderr."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from agent2_generator.budget import Clock
from agent2_schemas import RunStatus

PLAIN_INTERVAL_SECONDS = 10.0
"""Least time between two plain lines about runs in progress."""


class Display:
    """Shows stage, candidates, steps per second, return and the budget left."""

    def __init__(self, console: Console, *, is_quiet: bool = False) -> None:
        """Choose the form by the console: live on a terminal, plain lines elsewhere."""
        self._console = console
        self._is_quiet = is_quiet
        self._is_live = console.is_terminal and not is_quiet
        self._live = Live(console=console, refresh_per_second=4, transient=True) if self._is_live else None
        self._stage = "starting"
        self._runs: dict[str, tuple[str, RunStatus]] = {}
        self._clock: Clock | None = None
        self._last_line = 0.0

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the live table and leave the terminal as it was."""
        if self._live:
            self._live.stop()

    def watch(self, clock: Clock) -> None:
        """Show what is left of this budget from now on."""
        self._clock = clock

    def stage(self, name: str) -> None:
        """A new stage begins."""
        self._stage = name
        self._runs.clear()
        self._say(name, style="bold")

    def note(self, text: str) -> None:
        """Say one thing that stays on the screen, word for word: it may be a language model's."""
        self._say(text)

    def _say(self, text: str, style: str = "") -> None:
        if not self._is_quiet:
            line = Text.assemble(f"{self._left():>8}  ", (text, style))
            self._console.print(line, highlight=False, soft_wrap=True)
        self._draw()

    def run(self, label: str, status: RunStatus) -> None:
        """Show how a run stands."""
        self._runs[status.run_id] = (label, status)
        self._draw()
        due = time.monotonic() - self._last_line >= PLAIN_INTERVAL_SECONDS
        if not self._is_live and not self._is_quiet and due and status.progress:
            self._last_line = time.monotonic()
            for name, shown in self._runs.values():
                self._console.print(
                    f"{self._left():>8}  {name}: {_describe(shown)}", highlight=False, markup=False, soft_wrap=True
                )

    def forget(self, run_id: str) -> None:
        """A run has ended; its row goes."""
        self._runs.pop(run_id, None)
        self._draw()

    def _left(self) -> str:
        if self._clock is None:
            return ""
        if self._clock.budget.seconds is None:
            return f"{max(0.0, 1 - self._clock.used_share):.0%} left"
        seconds = max(0, int(self._clock.left_seconds))
        return f"{seconds // 60}:{seconds % 60:02d} left"

    def _draw(self) -> None:
        if self._live:
            self._live.update(self._table())

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 1), title=f"{self._stage} · {self._left()}", title_justify="left")
        for heading in ("run", "", "env steps", "steps/s", "return (reported)"):
            table.add_column(heading, justify="left" if heading in ("run", "") else "right")
        for label, status in self._runs.values():
            progress = status.progress
            done = progress.env_steps if progress else 0
            bar = ProgressBar(total=status.budget_env_steps, completed=done, width=24)
            speed = f"{progress.env_steps_per_second:,.0f}" if progress and progress.env_steps_per_second else ""
            value = progress.reported_original_return if progress else None
            table.add_row(Text(label), bar, f"{done:,}", speed, "" if value is None else f"{value:,.1f}")
        return table


def _describe(status: RunStatus) -> str:
    progress = status.progress
    if progress is None:
        return status.state
    speed = f", {progress.env_steps_per_second:,.0f} steps/s" if progress.env_steps_per_second else ""
    value = progress.reported_original_return
    shown = "" if value is None else f", reported return {value:,.1f}"
    return f"{progress.env_steps:,} of {status.budget_env_steps:,} env steps{speed}{shown}"
