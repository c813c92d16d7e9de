"""Stage 4: winner and baselines are trained again on fresh seeds; the verdict alone tests."""

from math import sqrt
from statistics import fmean

import anyio
from pydantic import Field

from agent2_generator.affording import default_seconds, expected_seconds, wall_seconds
from agent2_generator.budget import VERDICT_SEEDS, VERDICT_SHARE_AT_MOST, Forecast
from agent2_generator.designer import Archive, Candidate
from agent2_generator.running import RunPlan, train_and_score
from agent2_generator.session import ACTOR, Session
from agent2_schemas import Frozen, RunComparison, Verdict

TOLERATED = 1.05
"""A verdict begins also where it is expected to need this much of what is left: it ends with the budget anyway."""
FIRST_VERDICT_SEED = 100
"""Seed indices of the verdict begin here, far from those of the search."""


class Judgement(Frozen):
    """The verdict, or why there is none."""

    word: str = Field(description="improved, not shown, worse, not tested.")
    reason: str = Field(description="Why, with the numbers.")
    verdict: Verdict | None = Field(default=None, description="The comparison behind it.")


class VerdictCost(Frozen):
    """Whether a verdict was begun: decided once, from what the trainings of this build took."""

    fits: bool = Field(description="Whether it fits what is left of the budget.")
    needs_seconds: float = Field(ge=0, description="What its trainings are expected to take, seconds.")
    left_seconds: float | None = Field(description="What was left of the budget, seconds; null: a budget in steps.")


async def judge(session: Session, archive: Archive, baselines: dict[str, Candidate], plan: Forecast) -> Judgement:
    """Train the design in question and every baseline on fresh seeds at equal budgets and compare them.

    Where a baseline leads the search, the best other candidate is in question unless the noise rules it out: it becomes
    the champion only if the verdict finds it improved.

    Args:
        session: the build.
        archive: the search; its champion may change.
        baselines: the baselines by name: library default, tuned preset, the user's own.
        plan: the frozen plan.

    Returns:
        The judgement; without training where no verdict fits, or where nothing came near the leading baseline.
    """
    champion = archive.champion
    assert champion is not None
    leading = next((name for name, candidate in baselines.items() if candidate.id == champion.id), None)
    tested = champion if leading is None else find_challenger(archive, baselines)
    if tested is None:
        reason = f"No candidate of the search came near the {leading}; the agent is that baseline."
        return _conclude(session, Judgement(word="not tested", reason=reason))
    named = {"winner" if leading is None else tested.id: tested} | baselines
    cost = _cost(session, named, plan)
    if not cost.fits:
        return _conclude(session, Judgement(word="not tested", reason=_too_dear(session, cost, leading)))
    session.stage("verdict")
    arms = await _train_arms(session, named, plan)
    if not all(arms.values()):
        reason = "The budget ended before every arm had a training."
        return _conclude(session, Judgement(word="not tested", reason=reason))
    answer = await session.call("metrics", "compare_runs", RunComparison, arms=arms, purpose="verdict")
    verdict = answer.verdict
    if verdict is None:
        reason = answer.message or "The comparison gave no verdict."
        return _conclude(session, Judgement(word="not tested", reason=reason))
    reason = verdict.reason
    if leading is not None:
        reason = f"{reason} {_what_ships(archive, tested, leading, is_improved=verdict.word == 'improved')}"
    return _conclude(session, Judgement(word=verdict.word, reason=reason, verdict=verdict))


def find_challenger(archive: Archive, baselines: dict[str, Candidate]) -> Candidate | None:
    """The best candidate that is no baseline and that the noise does not rule out against the leading baseline.

    Returns:
        None where every candidate trails by more than two standard deviations of the difference of means.
    """
    champion = archive.champion
    own = {candidate.id for candidate in baselines.values()}
    found = [c for c in archive.candidates.values() if c.id not in own and len(c.run_ids) > 1]
    if champion is None or not found:
        return None
    best = max(found, key=_mean)
    deviation = (archive.noise or 0.0) * sqrt(1 / len(best.run_ids) + 1 / max(1, len(champion.run_ids)))
    return best if _mean(best) >= _mean(champion) - 2 * deviation else None


def _mean(candidate: Candidate) -> float:
    scores = [score for score in candidate.attempt.scores if score is not None]
    return fmean(scores) if scores else float("-inf")


def _what_ships(archive: Archive, tested: Candidate, leading: str, *, is_improved: bool) -> str:
    said = f"In question was {tested.id} ({tested.recipe.change})"
    if is_improved:
        archive.champion = tested
        return f"{said}, second to the {leading} in the search; it is the agent."
    return f"{said}, the search's best besides the {leading}; the agent is the {leading}."


def _cost(session: Session, named: dict[str, Candidate], plan: Forecast) -> VerdictCost:
    """Decide whether the verdict fits; a resumed build finds the decision in the journal."""
    key = f"verdict-cost-{session.clock.budget.model_dump_json()}"
    known = session.recall(key, VerdictCost)
    if known is not None:
        return known
    clock = session.clock
    if clock.budget.seconds is None:
        steps = VERDICT_SEEDS * len(named) * plan.run_env_steps
        fits = plan.is_verdict_planned or steps <= plan.total_env_steps - clock.env_steps
        return session.remember("verdict-cost", session.name, VerdictCost(fits=fits, needs_seconds=0.0, left_seconds=None), key=key)  # fmt: skip
    each_arm = [
        default_seconds(session, plan, candidate.id)
        if name == "library default"
        else expected_seconds(session, plan, candidate.id)
        for name, candidate in named.items()
    ]
    needs, left = wall_seconds(each_arm, plan.parallel_runs), max(0.0, clock.left_seconds - session.finish_seconds)
    cost = VerdictCost(fits=needs <= left * TOLERATED, needs_seconds=needs, left_seconds=left)
    return session.remember("verdict-cost", session.name, cost, key=key)


def _too_dear(session: Session, cost: VerdictCost, leading: str | None) -> str:
    ships = "" if leading is None else f" The search's leader is the {leading}, and the agent is that baseline."
    if cost.left_seconds is None:
        return f"A verdict with {VERDICT_SEEDS} seeds an arm does not fit this budget of env steps.{ships}"
    minutes = max(1, round(cost.needs_seconds / VERDICT_SHARE_AT_MOST / 60 + 0.5))
    return (
        f"A verdict with {VERDICT_SEEDS} seeds an arm needs about {cost.needs_seconds:,.0f} s at the speed of this build's "
        f"trainings, and {cost.left_seconds:,.0f} s were left: give a budget of about {minutes} minutes in all.{ships}"
    )


async def _train_arms(session: Session, named: dict[str, Candidate], plan: Forecast) -> dict[str, list[str]]:
    """Train every arm, seed by seed across the arms, so that a cut budget leaves equal arms; the slowest begin first."""
    by_length = sorted(named, key=lambda name: name != "library default")
    plans = [
        (name, RunPlan(candidate_id=named[name].id, seed_index=FIRST_VERDICT_SEED + seed, budget_env_steps=plan.run_env_steps, purpose="verdict"))
        for seed in range(VERDICT_SEEDS)
        for name in by_length
    ]  # fmt: skip
    slots = anyio.CapacityLimiter(plan.parallel_runs)
    results = await train_and_score(
        session, [each for _, each in plans], slots=slots, seconds_needed=plan.start_seconds
    )
    arms: dict[str, list[str]] = {name: [] for name in named}
    for (name, _), result in zip(plans, results, strict=True):
        if result.status is not None:
            arms[name].append(result.status.run_id)
    return arms


def _conclude(session: Session, judgement: Judgement) -> Judgement:
    session.display.note(f"verdict: {judgement.word}. {judgement.reason}")
    session.journal.append(ACTOR, "judgement", session.name, judgement)
    return judgement
