"""What the folders say about the runs that are compared: one score each, or why there is none."""

from collections.abc import Sequence

from agent2_metrics.comparing.scored_run import RunScore
from agent2_metrics.run_status import read_evaluations, read_run_status
from agent2_schemas import Evaluation, Purpose
from agent2_workspace import ProjectFolder


def read_run_score(project: ProjectFolder, run_id: str, purpose: Purpose, mode: str) -> RunScore:
    """Read a run's score of one purpose: that of its newest evaluated checkpoint, never the best of several.

    Args:
        project: the project.
        run_id: the run.
        purpose: which seed list.
        mode: deterministic or stochastic.

    Raises:
        NotFound: there is no such run.
    """
    run = project.run(run_id)
    status, specification = read_run_status(project, run), run.read_specification()
    found = [each for each in read_evaluations(run, purpose) if each.mode == mode]
    good = [each for each in found if each.state == "finished" and each.mean_original_return is not None]
    chosen = _newest(good)
    return RunScore(
        run_id=run_id,
        candidate_id=status.candidate_id,
        design_sha256=specification.design_sha256,
        state=status.state,
        run_purpose=specification.purpose,
        training_seed=specification.training_seed,
        budget_env_steps=specification.budget_env_steps,
        seconds=status.seconds,
        score=chosen.mean_original_return if chosen else None,
        checkpoint_env_steps=chosen.checkpoint_env_steps if chosen else 0,
        episodes=chosen.episodes if chosen else 0,
        mode=mode,
        seeds_sha256=chosen.seeds_sha256 if chosen else "",
        environment_sha256=chosen.environment_sha256 if chosen else "",
        is_comparable=chosen.is_comparable if chosen else True,
        evaluations=len(good),
        is_failed_evaluation=bool(found) and not good,
    )


def shared_mode(project: ProjectFolder, run_ids: Sequence[str], purpose: Purpose) -> str:
    """Choose the mode in which most runs were evaluated; greedy actions where both are."""
    counts = {"deterministic": 0, "stochastic": 0}
    for run_id in run_ids:
        for mode in {each.mode for each in read_evaluations(project.run(run_id), purpose)}:
            counts[mode] += 1
    return "stochastic" if counts["stochastic"] > counts["deterministic"] else "deterministic"


def _newest(evaluations: list[Evaluation]) -> Evaluation | None:
    """The evaluation of the newest checkpoint; of two of one checkpoint the first, so that a repeat cannot improve it."""
    if not evaluations:
        return None
    newest = max(each.checkpoint_env_steps for each in evaluations)
    return next(each for each in evaluations if each.checkpoint_env_steps == newest)
