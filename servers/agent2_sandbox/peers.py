"""A child that talks over descriptors which the caller made."""

import json
from types import TracebackType
from typing import Self, cast

from agent2_sandbox.probing import isolation_advice, probe_isolation
from agent2_sandbox.request import ProcessRequest
from agent2_sandbox.starting import Folder, Supervised, build_specification
from agent2_schemas import Isolation, Outcome, PrerequisiteError

_WORDS = {"network": "network, all that this machine reaches: it cannot be limited to localhost"}


def allowed_isolation(request: ProcessRequest) -> Isolation:
    """Give the tier in which this request may run here.

    Raises:
        PrerequisiteError: free-form code, and no boundary on this machine that a person has not waived.
    """
    isolation = probe_isolation()
    if isolation.tier == "D" and not request.is_declared_only and request.isolation_policy == "require":
        raise PrerequisiteError(
            "Generated code is not run here, because this machine has no sandbox that holds.", isolation_advice()
        )
    if request.grants:
        granted = tuple(f"granted by the user's configuration: {_WORDS.get(name, name)}" for name in request.grants)
        isolation = isolation.model_copy(update={"not_enforced": isolation.not_enforced + granted})
    return isolation


class Peer:
    """A running process with which the caller shares descriptors."""

    def __init__(self, request: ProcessRequest, pass_fds: tuple[int, ...]) -> None:
        """Start it."""
        self.isolation = allowed_isolation(request)
        self._folder = Folder()
        self._end: tuple[Outcome, str, str] | None = None
        self.peak_memory_bytes = 0
        specification = build_specification(
            request, self.isolation, kind="peer", lease="stop", status_file=self._folder.path / "status.json",
            log_file=self._folder.path / "log", scratch=self._folder.scratch, pass_fds=pass_fds,
        )  # fmt: skip
        self._supervised = Supervised(specification)

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until it has ended; False where it still runs after `timeout_seconds`."""
        if self._end is None and self._supervised.wait(timeout_seconds):
            self._collect()
        return self._end is not None

    def pid(self) -> int | None:
        """Tell the worker's process, as it is numbered outside of the sandbox; None while it is not known."""
        try:
            return json.loads((self._folder.path / "status.json").read_text(encoding="utf-8"))["pid"]
        except (OSError, ValueError, KeyError):
            return None

    def stop(self) -> None:
        """End it, with its whole tree; all well where it has ended already."""
        if self._end is None:
            self._supervised.end()
            self._supervised.wait(15.0)
            self._collect()

    def failure(self) -> tuple[Outcome, str, str] | None:
        """Tell how it ended, as (outcome, message, log); None while it runs, where all went well, or where we ended it."""
        self.wait(0)
        return None if self._end is None or self._end[0] in ("ok", "server_gone") else self._end

    def _collect(self) -> None:
        status, log = self._supervised.status(), self._supervised.log()
        if status is None:
            self._end = ("supervisor_died", "the supervisor ended without a status.", log)
        else:
            self._end = (cast("Outcome", status["outcome"]), str(status["message"]), log)
            self.peak_memory_bytes = cast("int", status["peak_memory_bytes"])
        self._supervised.close()
        self._folder.remove()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.stop()


def start_peer(request: ProcessRequest, *, pass_fds: tuple[int, ...]) -> Peer:
    """Start a process that inherits `pass_fds` under the same numbers; name them in its arguments.

    Close your own copies of the child's ends afterwards. The stall limit counts from its first heartbeat, if it sends any.

    Raises:
        PrerequisiteError: free-form code, and no boundary on this machine.
    """
    return Peer(request, pass_fds)
