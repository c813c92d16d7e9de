"""Measuring recordings in a child, for suggestions."""

from pathlib import Path

from agent2_mdp.suggestions import Measured
from agent2_sandbox import ChildFailed, Limits, ProcessRequest, call_child
from agent2_schemas import CorrectableError, EnvironmentReport

CHILD_SECONDS = 30.0
GAMMA = 0.99


async def measure(report: EnvironmentReport, files: tuple[Path, ...]) -> Measured:
    """Measure what the published priors ask for.

    Raises:
        CorrectableError: the recordings cannot be read.
    """
    request = ProcessRequest(
        module="agent2_mdp.child.measure",
        read_only=files,
        limits=Limits(memory_bytes=2 * 2**30, processes=16, stall_seconds=20.0),
        is_declared_only=True,
    )
    payload: dict[str, object] = {
        "recordings": [str(path) for path in files],
        "observation_space": report.observation_space.model_dump(mode="json"),
        "gamma": GAMMA,
    }
    try:
        answer = await call_child(request, payload, timeout_seconds=CHILD_SECONDS)
    except ChildFailed as failure:
        raise CorrectableError(
            f"The recorded transitions cannot be measured: {failure.message}",
            f"Call inspect_environment(environment={report.reference.name!r}, project=…) again.",
        ) from failure
    return Measured(report=report, facts=answer.value)
