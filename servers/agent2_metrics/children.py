"""Heavy work of this server in child processes: they load TensorBoard, SciPy or Matplotlib, the server never does."""

from pathlib import Path

from agent2_sandbox import ChildFailed, Limits, ProcessRequest, call_child
from agent2_schemas import CorrectableError, PrerequisiteError

CHILD_SECONDS = 300.0
QUICK_SECONDS = 35.0
"""Below the time within which every tool answers."""


async def ask(
    module: str,
    payload: dict[str, object],
    *,
    read_only: tuple[Path, ...] = (),
    writable: Path | None = None,
    timeout_seconds: float = CHILD_SECONDS,
) -> dict[str, object]:
    """Run one of our child modules and give its answer.

    The event files it may parse were written by a worker, so it gets no more than the folders it needs.

    Args:
        module: name below `agent2_metrics`, e.g. `curves.read_child`.
        payload: its arguments, JSON.
        read_only: folders it reads.
        writable: the one folder it writes.
        timeout_seconds: longest time, seconds.

    Raises:
        CorrectableError: the log cannot be read, with the child's own words.
        PrerequisiteError: a package is missing.
        ChildFailed: the child ended without an answer.
    """
    request = ProcessRequest(
        module=f"agent2_metrics.{module}",
        read_only=read_only,
        writable=writable,
        limits=Limits(stall_seconds=None, wall_seconds=timeout_seconds),
        is_declared_only=True,  # our own code: what it reads is data
    )
    try:
        answer = await call_child(request, payload, timeout_seconds=timeout_seconds)
    except ChildFailed as error:
        kind, _, words = error.message.partition(": ")
        if kind == "LogUnreadable":
            raise CorrectableError(words, "Name a folder of TensorBoard event files.") from error
        if kind in {"ModuleNotFoundError", "ImportError"}:
            raise PrerequisiteError(
                f"A package of the metrics extra is missing: {words}.", "pip install 'agent-squared[metrics]'"
            ) from error
        raise
    return answer.value
