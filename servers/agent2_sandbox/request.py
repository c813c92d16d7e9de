"""What a caller asks for and gets: a module to run in a child, its folders and limits, its answer or its failure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from agent2_schemas import Isolation, Outcome, RunFailed

IsolationPolicy = Literal["require", "best_effort"]
"""require: free-form code is refused where there is no boundary; best_effort: a person has allowed it."""


GRANTS = ("gpu", "display", "network")
"""What a person may allow beyond the usual, in the user's configuration."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one process tree; each is watched from outside the tree.

    Attributes:
        memory_bytes: resident memory of the whole tree.
        processes: processes of the tree.
        folder_bytes: size of the writable folder.
        file_bytes: size of one file.
        log_bytes: what is kept of standard output and error: the first 80 % and the last 20 %.
        temporary_bytes: size of the temporary folder and of shared memory, each, where they are the sandbox's own.
        stall_seconds: longest time without a heartbeat; None: no such limit.
        wall_seconds: longest time altogether; None: no such limit.
    """

    memory_bytes: int = 4 * 2**30
    processes: int = 128
    folder_bytes: int = 2 * 2**30
    file_bytes: int = 2**30
    log_bytes: int = 2 * 2**20
    temporary_bytes: int = 2**30
    stall_seconds: float | None = 120.0
    wall_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class ProcessRequest:
    """A module to run in a child as `python -I -B -m module arguments…`.

    Attributes:
        module: dotted name of the module.
        arguments: its arguments.
        read_only: files and folders it may read, besides the interpreter, the system and the installed packages.
        writable: the one folder it may write; None: none (its temporary folder apart).
        working_directory: where it starts; None: the writable folder, else the temporary folder.
        limits: limits of the process tree.
        environment: further environment variables; never secrets.
        is_declared_only: nothing that a model or a stranger wrote runs in it, so that any tier will do.
        isolation_policy: what to do where this machine has no boundary; from the user's configuration only.
        grants: what a person allowed beyond the usual: of `GRANTS`, and words for what is granted by other arguments.
    """

    module: str
    arguments: tuple[str, ...] = ()
    read_only: tuple[Path, ...] = ()
    writable: Path | None = None
    working_directory: Path | None = None
    limits: Limits = Limits()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    is_declared_only: bool = False
    isolation_policy: IsolationPolicy = "require"
    grants: tuple[str, ...] = ()


def timed(request: ProcessRequest, wall_seconds: float) -> ProcessRequest:
    """Give the request with a limit on its wall time, unless it has a shorter one."""
    limits = request.limits
    shorter = wall_seconds if limits.wall_seconds is None else min(wall_seconds, limits.wall_seconds)
    return replace(request, limits=replace(limits, wall_seconds=shorter))


@dataclass(frozen=True, kw_only=True)
class ChildAnswer:
    """What a child function returned, and how it went."""

    value: dict[str, object]
    log: str
    peak_memory_bytes: int
    isolation: Isolation


class ChildFailed(RunFailed):
    """The child ended without an answer, or its function raised.

    Args:
        outcome: how the process ended.
        message: what happened, for a person: cause, line, limit.
        log: the kept part of its standard output and error.
        line: line of the code under test where it happened, where known.
        isolation: how it was shut in.
    """

    def __init__(
        self,
        outcome: Outcome,
        message: str,
        log: str = "",
        line: int | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        """Keep the evidence apart from the sentence."""
        super().__init__(message)
        self.outcome: Outcome = outcome
        self.log = log
        self.line = line
        self.isolation = isolation
