"""Telling a broken environment or installation from a bad design: trainings of different designs that end alike."""

import re

from agent2_schemas import RunStatus
from agent2_workspace import ProjectFolder

MIN_DESIGNS = 3
"""Different designs that must fail alike before the design is no longer blamed."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?")


def find_shared_fault(project: ProjectFolder, status: RunStatus) -> tuple[str, ...]:
    """Find the crashes of other designs that read as this one does.

    Nobody but the environment and the installation is common to designs that differ. Where any training of the project
    has finished, both are known to work, and a crash stays the design's.

    Args:
        project: whose journal holds the ends of its runs.
        status: a run that ended; only a crash is looked at, for every other end names its cause itself.

    Returns:
        Runs of different designs that crashed alike, this one among them, in the order in which they ended; none where
        there are fewer than `MIN_DESIGNS`.
    """
    if status.state != "failed" or status.outcome != "crashed":
        return ()
    alike: dict[str, str] = {}
    for event in project.journal.events(kind="run-ended"):
        ended = RunStatus.model_validate(event.payload)
        if ended.state == "finished":
            return ()
        if ended.outcome == "crashed" and _signature(ended) == _signature(status):
            alike.setdefault(project.run(ended.run_id).read_specification().design_sha256, ended.run_id)
    return tuple(alike.values()) if len(alike) >= MIN_DESIGNS else ()


def shared_fault_text(run_ids: tuple[str, ...]) -> str:
    """Say whose fault it is, in a sentence that stands before the crash's own message."""
    return (
        f"environment-fault: runs {', '.join(run_ids[:8])} train designs that differ and crash alike, so the environment or "
        "the installation is at fault, not the design. "
    )


def _signature(status: RunStatus) -> str:
    """The message without step numbers, addresses and process numbers."""
    return _NUMBERS.sub("#", status.message)
