"""What the server tells the supervisor, as JSON on one line; standard library only."""

import json
from typing import Any, Literal, NamedTuple, cast

Kind = Literal["run", "call", "peer"]
Tier = Literal["A", "B", "C", "D"]


class Specification(NamedTuple):
    """One process tree to start, watch and end. Paths are absolute strings, sizes bytes, times seconds.

    A named tuple, because importing dataclasses would double the time that a supervisor takes to start.

    Attributes:
        kind: a run has a lease and a heartbeat from the start; a call answers once; a peer talks over `pass_fds`.
        tier: how it is shut in.
        not_enforced: what that does not enforce, in words; goes into the status.
        command: interpreter and its arguments.
        environment: the whole environment of the worker.
        system_roots: interpreter, packages and editable sources, read-only.
        read_only: further paths it may read.
        writable: the one folder it may write.
        folder: where it starts.
        bubblewrap: path of the program (tier A).
        bubblewrap_options: options that this version of the program has.
        grants: what a person allowed beyond the usual: gpu, display, network.
        lease: keep or stop.
        owner_pid: process that started it.
        owner_created: its time of creation.
    """

    kind: Kind
    tier: Tier
    not_enforced: tuple[str, ...]
    command: tuple[str, ...]
    environment: dict[str, str]
    system_roots: tuple[str, ...]
    read_only: tuple[str, ...]
    writable: str | None
    folder: str
    bubblewrap: str
    bubblewrap_options: tuple[str, ...]
    grants: tuple[str, ...]
    lease: Literal["keep", "stop"]
    owner_pid: int
    owner_created: float
    status_file: str
    log_file: str
    request_file: str
    pass_fds: tuple[int, ...]
    child_fds: dict[str, int]
    memory_bytes: int
    processes: int
    folder_bytes: int
    file_bytes: int
    log_bytes: int
    temporary_bytes: int
    stall_seconds: float | None
    wall_seconds: float | None
    sandbox_uid: int | None = None
    keeps_read_capability: bool = False
    memory_group: str | None = None

    def to_line(self) -> bytes:
        """Give the JSON, ended by a line feed."""
        return json.dumps(self._asdict()).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Specification":
        """Read what `to_line` gave; lists become tuples again."""
        data: dict[str, Any] = json.loads(line)
        for key, value in data.items():
            if isinstance(value, list):
                data[key] = tuple(cast("list[Any]", value))
        return cls(**data)

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths whose files are of interest when an error is explained: not the interpreter's, not the system's."""
        return (*self.read_only, *([self.writable] if self.writable else []), self.folder)
