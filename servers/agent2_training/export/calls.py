"""What `export_target` does between calls: one export of a run and checkpoint at a time."""

from mcp.server.mcpserver import Context

from agent2_schemas import TargetExported
from agent2_serving import LongCalls
from agent2_training.evaluation.calls import EvaluationCalls
from agent2_training.export.exporting import export
from agent2_workspace import ProjectFolder, RunFolder

WAIT_SECONDS = 25.0


class ExportCalls:
    """Exports of one server."""

    def __init__(self, calls: LongCalls, evaluations: EvaluationCalls) -> None:
        """Nothing is exported yet."""
        self._calls, self._evaluations = calls, evaluations

    async def export_target(
        self, project: ProjectFolder, run: RunFolder, *, checkpoint: str, episodes: int, ctx: Context | None
    ) -> TargetExported:
        """Export, or go on with an equal export."""
        key = f"export|{run.root}|{checkpoint}|{episodes}"
        finished = await self._calls.result(
            key, lambda: export(project, run, checkpoint, episodes, self._evaluations), WAIT_SECONDS, ctx
        )
        if finished is not None:
            return finished
        return TargetExported(
            state="running",
            message="The card evaluation and the packing go on.",
            next_step="Make the same call again; it continues.",
            project=project.name,
            run_id=run.id,
        )


def describe_export(answer: TargetExported) -> str:
    """Say in a line what was delivered."""
    if answer.state == "running":
        return f"Export of {answer.run_id} is running: make the same call again."
    if answer.state == "failed" or answer.card is None:
        return f"Export of {answer.run_id} failed: {answer.message}"
    score = f"{answer.card.mean_original_return:.5g} over {answer.card.episodes} card episodes"
    return f"Target Agent of {answer.run_id} in {answer.folder}: mean original return {score}. {answer.message}".strip()
