"""Stage 4: winner and baselines are trained again on fresh seeds; the verdict alone tests."""

from pydantic import Field

from agent2_generator.budget import VERDICT_SEEDS, Forecast
from agent2_generator.designer import Archive, Candidate
from agent2_generator.running import RunPlan, evaluate, has_weights, train
from agent2_generator.session import ACTOR, Session
from agent2_schemas import Frozen, RunComparison, Verdict

FIRST_VERDICT_SEED = 100
"""Seed indices of the verdict begin here, far from those of the search."""


class Judgement(Frozen):
    """The verdict, or why there is none."""

    word: str = Field(description="improved, not shown, worse, not tested.")
    reason: str = Field(description="Why, with the numbers.")
    verdict: Verdict | None = Field(default=None, description="The comparison behind it.")


async def judge(session: Session, archive: Archive, baselines: dict[str, Candidate], plan: Forecast) -> Judgement:
    """Train the champion and every baseline on fresh seeds at equal budgets and compare them.

    Args:
        session: the build.
        archive: the search.
        baselines: the baselines by name: library default, tuned preset, the user's own.
        plan: the frozen plan.

    Returns:
        The judgement; without training where no verdict fits, or where nothing beat the baseline.
    """
    champion = archive.champion
    assert champion is not None
    same = next((name for name, candidate in baselines.items() if candidate.id == champion.id), None)
    if same is not None:
        return _conclude(
            session,
            Judgement(
                word="not tested",
                reason=f"The search found nothing better than the {same}; the agent is that baseline.",
            ),
        )
    if not plan.is_verdict_planned:
        reason = f"A verdict with {VERDICT_SEEDS} seeds an arm does not fit this budget; it needs about {plan.verdict_needs_minutes:.0f} minutes in all."
        return _conclude(session, Judgement(word="not tested", reason=reason))
    session.stage("verdict")
    named = {"winner": champion} | baselines
    arms = await _train_arms(session, named, plan)
    answer = await session.call("metrics", "compare_runs", RunComparison, arms=arms, purpose="verdict")
    if answer.verdict is None:
        return _conclude(
            session, Judgement(word="not tested", reason=answer.message or "The comparison gave no verdict.")
        )
    return _conclude(session, Judgement(word=answer.verdict.word, reason=answer.verdict.reason, verdict=answer.verdict))


async def _train_arms(session: Session, named: dict[str, Candidate], plan: Forecast) -> dict[str, list[str]]:
    """Train every arm, seed by seed across the arms, so that a cut budget leaves equal arms."""
    plans = [
        (name, RunPlan(candidate_id=candidate.id, seed_index=FIRST_VERDICT_SEED + seed, budget_env_steps=plan.run_env_steps, purpose="verdict"))
        for seed in range(VERDICT_SEEDS)
        for name, candidate in named.items()
    ]  # fmt: skip
    statuses = await train(session, [each for _, each in plans], parallel=plan.parallel_runs)
    arms: dict[str, list[str]] = {name: [] for name in named}
    for (name, each), status in zip(plans, statuses, strict=True):
        arms[name].append(status.run_id)
        if has_weights(status):
            result = await evaluate(session, status.run_id, purpose="verdict")
            session.display.note(f"{name}, seed {each.seed_index}: {result.mean_original_return} (verdict seeds)")
    return arms


def _conclude(session: Session, judgement: Judgement) -> Judgement:
    session.display.note(f"verdict: {judgement.word}. {judgement.reason}")
    session.journal.append(ACTOR, "judgement", session.name, judgement)
    return judgement
