"""What `evaluate_run` does: the checkpoint is chosen once, the work goes on between calls, equal ones come from a file."""

import asyncio
import os
import secrets

import anyio.to_thread
from mcp.server.mcpserver import Context

from agent2_schemas import Evaluation, Purpose
from agent2_serving import LongCalls
from agent2_training.evaluation.best_recording import is_worth_recording, record_best
from agent2_training.evaluation.evaluations import (
    EvaluationRequest,
    Mode,
    choose_checkpoint,
    evaluate,
    running_evaluation,
    stored_evaluation,
)
from agent2_workspace import ProjectFolder, RunFolder

WAIT_SECONDS = 25.0


class EvaluationCalls:
    """Evaluations of one server, as many at a time as there are cores."""

    def __init__(self, calls: LongCalls) -> None:
        """Nothing is evaluated yet."""
        self._calls = calls
        self._chosen: dict[str, EvaluationRequest] = {}
        self._places = asyncio.Semaphore(max(1, len(os.sched_getaffinity(0))))

    async def evaluate_run(
        self,
        project: ProjectFolder,
        run: RunFolder,
        *,
        checkpoint: str,
        purpose: Purpose,
        mode: Mode,
        episodes: int,
        ctx: Context | None,
    ) -> Evaluation:
        """Evaluate, or go on with an equal evaluation, or answer from its file.

        Returns:
            The evaluation; `running` where it takes longer than one call.
        """
        key = "|".join((str(run.root), checkpoint, purpose, mode, str(episodes)))
        request = self._chosen.get(key)
        if request is None:
            env_steps = await anyio.to_thread.run_sync(choose_checkpoint, run, checkpoint)
            token = secrets.token_hex(3) if purpose == "fresh" else ""
            request = EvaluationRequest(
                checkpoint_env_steps=env_steps, purpose=purpose, mode=mode, episodes=episodes, token=token
            )
            stored = stored_evaluation(run, request)
            if stored is not None:
                return stored
            self._chosen[key] = request
        try:
            finished = await self._calls.result(
                f"evaluate|{key}", lambda: self.evaluate(project, run, request), WAIT_SECONDS, ctx
            )
        except Exception:
            self._chosen.pop(key, None)
            raise
        if finished is None:
            return running_evaluation(project, run, request)
        self._chosen.pop(key, None)
        if is_worth_recording(project, finished):  # in the background: nobody waits for it, nothing depends on it
            name = f"record|{run.root}|{finished.evaluation_id}"
            await self._calls.result(name, lambda: record_best(project, run, finished), 0.0)
        return finished

    async def evaluate(self, project: ProjectFolder, run: RunFolder, request: EvaluationRequest) -> Evaluation:
        """Evaluate to the end, once there is a place; from the file where it is known already."""
        stored = stored_evaluation(run, request)
        if stored is not None:
            return stored
        async with self._places:
            return await evaluate(project, run, request)


def describe_evaluation(evaluation: Evaluation) -> str:
    """Say in a line what an evaluation gave."""
    what = f"{evaluation.run_id} at {evaluation.checkpoint_env_steps:,} env steps, {evaluation.purpose} seeds"
    if evaluation.state == "running":
        return f"Evaluation of {what} is running: make the same call again."
    if evaluation.state == "failed":
        return f"Evaluation of {what} failed: {evaluation.message[:400]}"
    text = (
        f"Score of {what}: mean original return {evaluation.mean_original_return:.5g} over {evaluation.episodes} "
        f"{evaluation.mode} episodes (min {evaluation.min_original_return:.5g}, "
        f"max {evaluation.max_original_return:.5g}, std {evaluation.std_original_return:.3g})."
    )
    if evaluation.clipped_action_fraction:
        text += f" {evaluation.clipped_action_fraction:.0%} of the actions were clipped."
    return f"{text} {evaluation.message}".strip()
