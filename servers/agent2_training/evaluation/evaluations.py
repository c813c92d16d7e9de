"""Evaluate a checkpoint: choose it, choose the seeds, run evaluator and policy host, keep the result."""

import secrets
import shutil
import time
from pathlib import Path
from typing import Literal

import anyio.to_thread
from pydantic import Field, ValidationError

from agent2_schemas import CorrectableError, Evaluation, Frozen, Purpose
from agent2_training.checkpoints import MalformedCheckpoint, accept_checkpoints, accepted_checkpoints
from agent2_training.evaluation.environment_hash import environment_hash, is_environment_unchanged
from agent2_training.evaluation.policy_folder import write_policy_folder
from agent2_training.evaluation.processes import EvaluationOutcome, run_processes
from agent2_training.evaluation.statistics import summarise
from agent2_training.runs.starting import environment_origin
from agent2_workspace import ProjectFolder, RunFolder, fresh_seeds, read_json, sha256_of, write_json

Mode = Literal["deterministic", "stochastic"]
STALE_SECONDS = 2 * 3600.0
SCORE_NOT_COMPARABLE = "The environment changed since the first evaluation of this project: scores do not compare."


class EvaluationRequest(Frozen):
    """What is to be evaluated, with the checkpoint already chosen."""

    checkpoint_env_steps: int = Field(ge=0, description="Which accepted checkpoint.")
    purpose: Purpose = Field(description="Which seed list.")
    mode: Mode = Field(description="Greedy actions, or sampled ones.")
    episodes: int = Field(ge=1, le=1000, description="Episodes.")

    token: str = Field(default="", description="Tells evaluations on fresh seeds apart; empty for the fixed lists.")

    def name(self, run: RunFolder) -> str:
        """Name the evaluation: equal requests have equal names, but for fresh seeds, which are new each time."""
        name = f"{run.id}-{self.purpose}-{self.checkpoint_env_steps}-{self.mode[0]}-{self.episodes}"
        return f"{name}-{self.token}" if self.token else name


def choose_checkpoint(run: RunFolder, wanted: str) -> int:
    """Choose an accepted checkpoint.

    Args:
        run: the run.
        wanted: `latest`, `best` (by the selection evaluations so far; else the latest), or its env steps.

    Raises:
        CorrectableError: there is none, or none of that number.
    """
    accept_checkpoints(run)
    accepted = accepted_checkpoints(run)
    if not accepted:
        raise CorrectableError(
            f"Run {run.id!r} has no accepted checkpoint yet.", "Wait with check_training, or see why the run failed."
        )
    if wanted == "latest":
        return accepted[-1]
    if wanted == "best":
        return _best_checkpoint(run, accepted)
    if not wanted.isdecimal() or int(wanted) not in accepted:
        raise CorrectableError(
            f"Run {run.id!r} has no checkpoint {wanted!r}; it has {', '.join(map(str, accepted[-10:]))}.",
            "Name one of these, `latest` or `best`.",
        )
    return int(wanted)


def stored_evaluations(run: RunFolder) -> tuple[Evaluation, ...]:
    """Read the finished evaluations of a run; what does not parse is left out."""
    found: list[Evaluation] = []
    for path in sorted(run.evaluations.glob("*.json")) if run.evaluations.is_dir() else []:
        try:
            found.append(read_json(path, Evaluation))
        except (OSError, ValidationError):
            continue
    return tuple(found)


def stored_evaluation(run: RunFolder, request: EvaluationRequest) -> Evaluation | None:
    """Find the file of an equal, finished evaluation."""
    path = run.evaluations / f"{request.name(run)}.json"
    return read_json(path, Evaluation) if path.exists() else None


def running_evaluation(project: ProjectFolder, run: RunFolder, request: EvaluationRequest) -> Evaluation:
    """Describe an evaluation that is under way."""
    return Evaluation(
        evaluation_id=request.name(run),
        state="running",
        message="Make the same call again; it continues.",
        project=project.name,
        run_id=run.id,
        candidate_id=run.read_specification().candidate_id,
        **request.model_dump(exclude={"token"}),
    )


async def evaluate(project: ProjectFolder, run: RunFolder, request: EvaluationRequest) -> Evaluation:
    """Evaluate a checkpoint by two processes and keep the result in the run's folder and the journal.

    Returns:
        The evaluation: finished with its scores, or failed with the cause; only finished ones are kept as files.
    """
    begun = time.monotonic()
    blank = running_evaluation(project, run, request)
    seeds = (
        fresh_seeds(request.episodes)
        if request.purpose == "fresh"
        else project.seeds(request.purpose, request.episodes)
    )
    folder = run.root / f".policy-{blank.evaluation_id}-{secrets.token_hex(3)}"
    try:
        sha256 = await anyio.to_thread.run_sync(_prepare, project, run, request, folder)
        outcome = await run_processes(folder, environment_origin(project), seeds, request.mode)
    except MalformedCheckpoint as error:
        outcome, sha256 = EvaluationOutcome(error=f"The checkpoint cannot be used: {error}."), ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - begun
    return await anyio.to_thread.run_sync(_keep, project, run, blank, outcome, seeds, sha256, seconds)


def _prepare(project: ProjectFolder, run: RunFolder, request: EvaluationRequest, folder: Path) -> str:
    for stale in run.root.glob(".policy-*"):  # left by a server that was killed while it evaluated
        if time.time() - stale.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(stale, ignore_errors=True)
    write_policy_folder(folder, run, request.checkpoint_env_steps)
    return environment_hash(project)


def _keep(
    project: ProjectFolder,
    run: RunFolder,
    blank: Evaluation,
    outcome: EvaluationOutcome,
    seeds: tuple[int, ...],
    environment_sha256: str,
    seconds: float,
) -> Evaluation:
    shared = {"seconds": seconds, "environment_sha256": environment_sha256, "isolation": outcome.isolation}
    if outcome.error:
        failed = blank.model_copy(update={**shared, "state": "failed", "message": outcome.error})
        project.journal.append(
            "training", "evaluation", run.id, failed, key=f"evaluation-{failed.evaluation_id}-failed"
        )
        return failed
    is_comparable = is_environment_unchanged(project, environment_sha256)
    finished = blank.model_copy(
        update={
            **shared,
            **summarise(outcome.original_returns),
            "state": "finished",
            "message": "" if is_comparable else SCORE_NOT_COMPARABLE,
            "seeds_sha256": sha256_of(*(str(seed) for seed in seeds)),
            "lengths": outcome.lengths,
            "clipped_action_fraction": outcome.clipped_steps / max(1, sum(outcome.lengths)),
            "is_comparable": is_comparable,
        }
    )
    write_json(run.evaluations / f"{finished.evaluation_id}.json", finished)
    project.journal.append("training", "evaluation", run.id, finished, key=f"evaluation-{finished.evaluation_id}")
    return finished


def _best_checkpoint(run: RunFolder, accepted: tuple[int, ...]) -> int:
    """The checkpoint of the best selection evaluation, greedy ones first; of equals the later one."""
    best: tuple[bool, float, int] | None = None
    for evaluation in stored_evaluations(run):
        mean = evaluation.mean_original_return
        if evaluation.purpose != "selection" or mean is None or evaluation.checkpoint_env_steps not in accepted:
            continue
        key = (evaluation.mode == "deterministic", mean, evaluation.checkpoint_env_steps)
        best = key if best is None else max(best, key)
    return accepted[-1] if best is None else best[2]
