"""What a run tells about itself while it trains: progress.json and TensorBoard."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Any

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from agent2_schemas import RunProgress

# Generated at run time by protobuf.
Event: Any = vars(event_pb2)["Event"]
Summary: Any = vars(summary_pb2)["Summary"]
PROGRESS_SECONDS = 0.5
LOGGED_POINTS = 400


class Reports:
    """Writes progress.json at most twice a second, and TensorBoard scalars at even steps.

    Args:
        work: the run's writable folder.
        budget_env_steps: steps of the whole run; sets the distance of TensorBoard points.
    """

    def __init__(self, work: Path, budget_env_steps: int) -> None:
        """Open the TensorBoard file."""
        self._file = work / "progress.json"
        (work / "tensorboard").mkdir(parents=True, exist_ok=True)
        self._writer = EventFileWriter(str(work / "tensorboard"), flush_secs=2)
        self._distance = max(1, budget_env_steps // LOGGED_POINTS)
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._next_point, self._last_progress = 0, 0.0

    def begin(self, env_steps: int) -> None:
        """Log from here on."""
        self._next_point = env_steps + self._distance

    def add(self, values: dict[str, float]) -> None:
        """Average what an update measured into the next point."""
        for name, value in values.items():
            if math.isfinite(value):
                self._sums[name] = self._sums.get(name, 0.0) + value
                self._counts[name] = self._counts.get(name, 0) + 1

    def is_due(self, env_steps: int) -> bool:
        """Whether the next TensorBoard point is due."""
        return env_steps >= self._next_point

    def write_point(self, env_steps: int, values: dict[str, float]) -> None:
        """Write one point: the averages since the last one, and these values."""
        means = {name: total / self._counts[name] for name, total in self._sums.items()}
        finite = {name: value for name, value in {**means, **values}.items() if math.isfinite(value)}
        scalars = [Summary.Value(tag=tag, simple_value=value) for tag, value in finite.items()]
        self._writer.add_event(Event(wall_time=time(), step=env_steps, summary=Summary(value=scalars)))
        self._sums, self._counts = {}, {}
        self._next_point = env_steps + self._distance

    def progress(self, make: Callable[[], RunProgress], now: float, *, is_forced: bool = False) -> None:
        """Write progress.json whole, unless it was written within the last half second."""
        if not is_forced and now - self._last_progress < PROGRESS_SECONDS:
            return
        self._last_progress = now
        temporary = self._file.with_name(".progress.json.new")
        temporary.write_text(make().model_dump_json(), encoding="utf-8")
        temporary.replace(self._file)

    def close(self) -> None:
        """Flush TensorBoard."""
        self._writer.close()


def resident_bytes() -> int:
    """Resident memory of this process in bytes; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
