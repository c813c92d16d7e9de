"""Deliver an agent: score it on the card seeds, pack its folder whole, add a video where the environment draws."""

from agent2_schemas import TargetExported
from agent2_training.evaluation.calls import EvaluationCalls
from agent2_workspace import ProjectFolder, RunFolder


async def export(
    project: ProjectFolder, run: RunFolder, checkpoint: str, episodes: int, evaluations: EvaluationCalls
) -> TargetExported:
    """Export one checkpoint of a run.

    Returns:
        Where the agent lies and what it scores; failed where the card evaluation failed.
    """
    raise NotImplementedError
