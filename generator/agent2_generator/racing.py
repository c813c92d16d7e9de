"""One candidate's race: its first run is compared at a rung with the champion's; what passes trains on every search seed."""

import anyio
from pydantic import Field

from agent2_generator.budget import Forecast
from agent2_generator.designer import Candidate
from agent2_generator.running import Rung, RunPlan, Scored, evaluate, train_and_score_one
from agent2_generator.session import Session
from agent2_schemas import Frozen, Metric, RunComparison, RunStatus

RUNG_SHARE = 0.25
"""Share of a full training after which a candidate is compared with the champion at the same point."""
RUNG_TOLERANCE = 0.15
"""Largest distance of the champion's checkpoint from the rung, as a share of a full training."""
DROP_DEVIATIONS = 2.0
"""A candidate is dropped early only where it trails by more than this many pooled standard deviations."""


class RungDecision(Frozen):
    """Whether a run went on at its rung."""

    goes_on: bool = Field(description="Whether it went on.")
    score: Metric = Field(description="Mean original return at the rung, selection seeds.")
    champion_score: Metric = Field(description="The champion's at the same point.")
    noise: Metric = Field(description="Pooled standard deviation over seeds.")


def trails(score: float | None, champion_score: float | None, noise: float | None, spread: float | None) -> bool:
    """Whether the noise allows to drop a candidate at its rung.

    Args:
        score: its mean original return at the rung; None: the evaluation failed.
        champion_score: the champion's at the same point; None: unknown.
        noise: pooled standard deviation over training seeds; None: unknown, and nothing is dropped.
        spread: standard deviation of the champion's episodes at that point: early checkpoints scatter more than late ones.
    """
    if score is None:
        return True
    if champion_score is None or noise is None:
        return False
    return score < champion_score - DROP_DEVIATIONS * max(noise, spread or 0.0)


def was_dropped(session: Session, candidate: Candidate) -> bool:
    """Whether the rung ended the candidate."""
    known = session.recall(f"rung-{candidate.id}", RungDecision)
    return known is not None and not known.goes_on


async def race(
    session: Session, candidate: Candidate, champion: Candidate, plan: Forecast, slots: anyio.CapacityLimiter
) -> list[Scored]:
    """Train a candidate on all search seeds; the later ones begin as soon as the first has passed its rung.

    Args:
        session: the build.
        candidate: who races.
        champion: whom it is compared with; its first run is the measure at the rung.
        plan: the frozen plan.
        slots: places for trainings, shared with the other candidates of the round.

    Returns:
        What came of each seed; the first one only where the rung ended the candidate or nothing could be scored.
    """
    has_passed, is_out = anyio.Event(), False
    results: dict[int, Scored] = {}
    rung = _rung(session, candidate, champion, plan)

    async def watched(status: RunStatus) -> bool:
        goes_on = await rung(status)
        if goes_on:
            has_passed.set()
        return goes_on

    async def first() -> None:
        nonlocal is_out
        raced = RunPlan(
            candidate_id=candidate.id, seed_index=0, budget_env_steps=plan.run_env_steps, rung=watched,
            rung_env_steps=rung_env_steps(plan),
        )  # fmt: skip
        async with slots:
            results[0] = await train_and_score_one(session, raced)
        is_out = results[0].score is None
        has_passed.set()

    async def later(index: int) -> None:
        await has_passed.wait()
        async with slots:
            if not is_out:
                further = RunPlan(candidate_id=candidate.id, seed_index=index, budget_env_steps=plan.run_env_steps)
                results[index] = await train_and_score_one(session, further)

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        for index in range(1, plan.seeds):
            group.start_soon(later, index)
    return [results[index] for index in sorted(results)]


def rung_env_steps(plan: Forecast) -> int:
    """Environment steps of the rung."""
    return max(1, int(RUNG_SHARE * plan.run_env_steps))


def _rung(session: Session, candidate: Candidate, champion: Candidate, plan: Forecast) -> Rung:
    """Compare a first run with the champion's at the rung; the decision is made once and kept."""

    async def at_rung(status: RunStatus) -> bool:
        known = session.recall(f"rung-{candidate.id}", RungDecision)
        if known is not None:
            return known.goes_on
        reached = min((s for s in status.checkpoints_env_steps if s >= rung_env_steps(plan)), default=0)
        if not reached:
            return True  # the time ended the run before its rung
        steps = session.folder.run(champion.run_ids[0]).read_checkpoint_steps()
        nearest = min(steps, key=lambda value: abs(value - reached), default=0)
        if abs(nearest - reached) > RUNG_TOLERANCE * plan.run_env_steps:
            return True  # the champion left no checkpoint near enough for a fair comparison
        mine = await evaluate(session, status.run_id, checkpoint=str(reached))
        theirs = await evaluate(session, champion.run_ids[0], checkpoint=str(nearest))
        noise = await _noise(session, champion)
        score, other = mine.mean_original_return, theirs.mean_original_return
        goes_on = not trails(score, other, noise, theirs.std_original_return)
        fact = RungDecision(goes_on=goes_on, score=score, champion_score=other, noise=noise)
        session.remember("decision", candidate.id, fact, key=f"rung-{candidate.id}")
        if not goes_on:
            session.display.note(
                f"{candidate.id} dropped at {reached:,} env steps: {_shown(score)} against {_shown(other)}"
            )
        return goes_on

    return at_rung


async def _noise(session: Session, champion: Candidate) -> float | None:
    answer = await session.call("metrics", "compare_runs", RunComparison, candidates=[champion.id], purpose="selection")
    return answer.pooled_noise


def _shown(score: float | None) -> str:
    return "no score" if score is None else f"{score:,.4g}"
