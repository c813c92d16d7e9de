"""Reading TensorBoard event files into canonical series; runs in a child process, because workers write the files."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportAttributeAccessIssue=false, reportMissingTypeStubs=false
# TensorBoard ships no types for its protocol buffers.

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.util import tensor_util

from agent2_metrics.curves.canonical import RLLIB, Meaning, meaning_of, recognise_library, x_unit
from agent2_metrics.curves.series import Series

EVENT_FILES_AT_MOST = 2000
EVENT_BYTES_AT_MOST = 2 * 2**30
HOLE_MINIMUM_POINTS = 5

RawPoints = dict[str, tuple[list[float], list[float]]]
"""By tag: steps and values."""


class LogUnreadable(Exception):
    """The folder holds no event file, or more than can be read."""


@dataclass(frozen=True)
class LogRun:
    """One folder of event files: one run."""

    folder: str
    """Path relative to the log folder; empty for the folder itself."""
    library: str
    series: tuple[Series, ...]

    def named(self) -> dict[str, Series]:
        """Series by canonical name."""
        return {each.name: each for each in self.series}


def read_log(folder: Path) -> tuple[LogRun, ...]:
    """Read all event files below a folder.

    Folders whose tags do not overlap belong to one run (some writers give each scalar group a folder of its own);
    folders with the same tags are different runs.

    Args:
        folder: any TensorBoard log directory, nested or flat.

    Returns:
        The runs by folder name; at least one.

    Raises:
        LogUnreadable: no event file, or too many.
    """
    raw = {name: _read_files(files) for name, files in sorted(_event_files(folder).items())}
    raw = {name: points for name, points in raw.items() if points}
    if not raw:
        raise LogUnreadable(f"{folder} holds no event file with scalars yet.")
    tags = [tag for points in raw.values() for tag in points]
    if len(tags) == len(set(tags)):
        raw = {"": {tag: value for points in raw.values() for tag, value in points.items()}}
    return tuple(_run(name, points) for name, points in raw.items())


def _event_files(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = defaultdict(list)
    count = size = 0
    for here, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(names):
            path = Path(here) / name
            # A link could name a file outside the log; a worker that planted one gains nothing.
            if "tfevents" not in name or path.is_symlink() or not path.is_file():
                continue
            relative = Path(here).relative_to(folder).as_posix()
            found["" if relative == "." else relative].append(path)
            count, size = count + 1, size + path.stat().st_size
    if count > EVENT_FILES_AT_MOST or size > EVENT_BYTES_AT_MOST:
        raise LogUnreadable(
            f"{folder} holds {count} event files of {size / 2**20:.0f} MiB, more than can be read at once; name a folder inside it."
        )
    return found


def _read_files(files: list[Path]) -> RawPoints:
    """Read the files of one run in order; a file that starts again at an earlier step replaces what came after it."""
    steps: dict[str, list[float]] = defaultdict(list)
    values: dict[str, list[float]] = defaultdict(list)
    for path in files:
        fresh: set[str] = set()
        for tag, step, value in _scalars(path):
            if tag not in fresh:
                fresh.add(tag)
                while steps[tag] and steps[tag][-1] > step:
                    steps[tag].pop()
                    values[tag].pop()
            steps[tag].append(step)
            values[tag].append(value)
    return {tag: (steps[tag], values[tag]) for tag in steps}


def _scalars(path: Path) -> Iterator[tuple[str, float, float]]:
    for event in EventFileLoader(str(path)).Load():
        if not event.HasField("summary"):
            continue
        for value in event.summary.value:
            # The loader turns old scalars into tensors, so that one form is left; images and texts are no numbers.
            plugin = value.metadata.plugin_data.plugin_name
            if value.HasField("simple_value"):
                yield value.tag, float(event.step), float(value.simple_value)
            elif value.HasField("tensor") and plugin in {"scalars", ""}:
                array = np.asarray(tensor_util.make_ndarray(value.tensor))
                if array.size == 1 and array.dtype.kind in "fiub":
                    yield value.tag, float(event.step), float(array.reshape(())[()])


def _run(folder: str, points: RawPoints) -> LogRun:
    library = recognise_library(list(points))
    meanings = {tag: meaning_of(tag, library) for tag in points}
    holes = _holes(points) if library == RLLIB else {}
    taken: set[str] = set()
    series: list[Series] = []
    for tag in sorted(points, key=lambda tag: (meanings[tag].rank, tag)):
        meaning = meanings[tag]
        if meaning.name in taken:  # a second critic, a second action dimension: known by its tag
            meaning = Meaning(tag, meaning.sign, meaning.rank, meaning.is_known)
        taken.add(meaning.name)
        series.append(_series(tag, meaning, library, points[tag], holes.get(tag, 0)))
    return LogRun(folder, library, _with_loss_of_dqn(tuple(series)))


def _series(tag: str, meaning: Meaning, library: str, points: tuple[list[float], list[float]], holes: int) -> Series:
    x, y = np.asarray(points[0], dtype=np.float64), np.asarray(points[1], dtype=np.float64)
    order = np.argsort(x, kind="stable")
    return Series(
        name=meaning.name, tag=tag, x_unit=x_unit(tag, library, points[0]), x=x[order], y=meaning.sign * y[order],
        hole_count=holes, is_known=meaning.is_known,
    )  # fmt: skip


def _with_loss_of_dqn(series: tuple[Series, ...]) -> tuple[Series, ...]:
    """SB3 calls the DQN loss `train/loss`, and PPO's total loss likewise: a rate of exploration tells them apart."""
    names = {each.name for each in series}
    is_dqn = "exploration_rate" in names and "critic_loss" not in names
    return tuple(_renamed(each, "critic_loss") if is_dqn and each.name == "loss" else each for each in series)


def _renamed(series: Series, name: str) -> Series:
    return Series(
        name=name, tag=series.tag, x_unit=series.x_unit, x=series.x, y=series.y, hole_count=series.hole_count,
        is_known=series.is_known,
    )  # fmt: skip


def _holes(points: RawPoints) -> dict[str, int]:
    """Count the steps at which most tags of the same group have a value and this one has none.

    Tune's writer drops NaN, so a hole is evidence, also where a metric never comes back.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for tag in points:
        groups[tag.rpartition("/")[0]].append(tag)
    holes: dict[str, int] = {}
    for tags in groups.values():
        present = {tag: set(points[tag][0]) for tag in tags}
        every = sorted(set().union(*present.values()))
        usual = {step for step in every if sum(step in steps for steps in present.values()) * 2 > len(tags)}
        for tag in tags:
            expected = {step for step in usual if step >= points[tag][0][0]}
            if len(present[tag]) >= HOLE_MINIMUM_POINTS:
                holes[tag] = len(expected - present[tag])
    return holes
