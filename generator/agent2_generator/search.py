"""Stage 3: candidates race; nothing is kept on one seed, nothing dropped before the noise allows."""

from collections.abc import Sequence

from pydantic import Field

from agent2_generator.budget import NOISE_SHARE, SEARCH_SHARE, Forecast
from agent2_generator.designer import Archive, Candidate, Facts
from agent2_generator.recipe import Recipe
from agent2_generator.running import RunPlan, evaluate, has_weights, train, was_started
from agent2_generator.session import ACTOR, Session
from agent2_generator.understand import create
from agent2_schemas import DiagnosisAnswer, Frozen, Metric, RunComparison, RunFailed, RunStatus

RUNG_SHARE = 0.25
"""Share of a full training after which a candidate is compared with the champion at the same point."""
RUNG_TOLERANCE = 0.15
"""Largest distance of the champion's checkpoint from the rung, as a share of a full training."""
DROP_DEVIATIONS = 2.0
"""A candidate is dropped early only where it trails by more than this many pooled standard deviations."""
SEARCH_SHARE_WITHOUT_VERDICT = 0.60
"""Where no verdict fits: noise and search together; what is left trains the delivered agent."""
MAX_POLISH_SEEDS = 6


class RungDecision(Frozen):
    """Whether a run went on at its rung."""

    goes_on: bool = Field(description="Whether it went on.")
    score: Metric = Field(description="Mean original return at the rung, selection seeds.")
    champion_score: Metric = Field(description="The champion's at the same point.")
    noise: Metric = Field(description="Pooled standard deviation over seeds.")


async def measure_noise(session: Session, archive: Archive, champion: Candidate, plan: Forecast) -> None:
    """Train the tuned preset on every search seed: the noise floor, and the first champion.

    Raises:
        RunFailed: no run left weights that can be scored.
    """
    session.stage("noise floor")
    archive.champion = champion
    await _train_seeds(session, champion, range(plan.seeds), plan)
    if not champion.run_ids:
        raise RunFailed("Every training of the first design failed.", f"See `agent2 runs {session.name}`.")
    await _rank(session, archive, [champion])
    await _diagnose(session, champion)
    session.decide(champion, decision="kept")


async def search(session: Session, facts: Facts, archive: Archive, plan: Forecast) -> None:
    """Try the designer's proposals while the search's share of the budget lasts or until the target is reached.

    After an interruption, every candidate that was tried before is taken up again, whatever time is left.
    """
    session.stage("search")
    limit = NOISE_SHARE + SEARCH_SHARE if plan.is_verdict_planned else SEARCH_SHARE_WITHOUT_VERDICT
    known = len({event.subject for event in session.journal.events(kind="attempt")})
    while not _target_reached(session, archive):
        fitting = _affordable(session, plan, limit=limit) // plan.seeds
        count = max(fitting, known - len(archive.candidates))
        if count <= 0:
            return
        recipes = await session.designer.propose(facts, archive, min(count, plan.parallel_runs))
        if not recipes:
            session.display.note("nothing left to propose")
            return
        await _try(session, archive, recipes, plan)


async def polish(session: Session, archive: Archive, plan: Forecast) -> None:
    """Train the champion on further seeds with what is left, so that the best of more runs is delivered."""
    champion = archive.champion
    first = 10
    while champion and first < 10 + MAX_POLISH_SEEDS and not _target_reached(session, archive):
        begun = RunPlan(candidate_id=champion.id, seed_index=first, budget_env_steps=plan.run_env_steps)
        count = plan.parallel_runs if was_started(session, begun) else _affordable(session, plan, limit=0.95)
        if count <= 0:
            return
        count = min(count, plan.parallel_runs)
        if first == 10:
            session.stage("train the delivered agent")
        await _train_seeds(session, champion, range(first, first + count), plan)
        first += count


async def _try(session: Session, archive: Archive, recipes: Sequence[Recipe], plan: Forecast) -> None:
    """Race some recipes against the champion."""
    champion = archive.champion
    assert champion is not None
    round_: list[Candidate] = []
    for recipe in recipes:
        candidate = await create(session, recipe, budget_env_steps=plan.run_env_steps)
        archive.candidates[candidate.id] = candidate
        if candidate.attempt.decision == "open":
            session.display.note(f"{candidate.id}: {recipe.change}")
            round_.append(candidate)
    plans = [_raced(session, candidate, champion, plan) for candidate in round_]
    await _collect(session, round_, plans, await train(session, plans, parallel=plan.parallel_runs))
    for index in range(1, plan.seeds):
        alive = [candidate for candidate in round_ if len(candidate.run_ids) == index]
        seconds = [RunPlan(candidate_id=c.id, seed_index=index, budget_env_steps=plan.run_env_steps) for c in alive]
        await _collect(session, alive, seconds, await train(session, seconds, parallel=plan.parallel_runs))
    finished = [candidate for candidate in round_ if len(candidate.run_ids) >= plan.seeds]
    await _rank(session, archive, [*(c for c in archive.candidates.values() if c.score is not None), *finished])
    for candidate in round_:
        await _judge_candidate(session, archive, candidate, is_complete=candidate in finished)


async def _judge_candidate(session: Session, archive: Archive, candidate: Candidate, *, is_complete: bool) -> None:
    champion = archive.champion
    assert champion is not None
    beats = is_complete and candidate.score is not None and candidate.score > (champion.score or float("-inf"))
    if beats and plan_is_paired(candidate, champion):
        session.display.note(
            f"{candidate.id} is the new champion: {candidate.score:,.4g} over {champion.score or 0:,.4g}"
        )
        archive.champion = candidate
        await _diagnose(session, candidate)
        session.decide(candidate, decision="kept")
    elif not candidate.run_ids:
        session.decide(candidate, decision="rejected")
    else:
        session.decide(candidate, decision="dropped")


def plan_is_paired(candidate: Candidate, champion: Candidate) -> bool:
    """Whether a candidate was tried on at least as many search seeds as the champion had: nothing is kept on one seed."""
    return len(candidate.run_ids) >= min(2, len(champion.run_ids))


def _raced(session: Session, candidate: Candidate, champion: Candidate, plan: Forecast) -> RunPlan:
    """Plan a first run that is compared with the champion at the rung."""
    rung_env_steps = max(1, int(RUNG_SHARE * plan.run_env_steps))

    async def at_rung(status: RunStatus) -> bool:
        known = session.recall(f"rung-{candidate.id}", RungDecision)
        if known is not None:
            return known.goes_on
        reached = min(s for s in status.checkpoints_env_steps if s >= rung_env_steps)
        mine = await evaluate(session, status.run_id, checkpoint=str(reached))
        steps = session.folder.run(champion.run_ids[0]).read_checkpoint_steps()
        nearest = min(steps, key=lambda value: abs(value - reached), default=0)
        if abs(nearest - reached) > RUNG_TOLERANCE * plan.run_env_steps:
            return True  # the champion left no checkpoint near enough for a fair comparison
        theirs = await evaluate(session, champion.run_ids[0], checkpoint=str(nearest))
        noise = await _noise(session, champion)
        score, other = mine.mean_original_return, theirs.mean_original_return
        goes_on = score is not None and (
            other is None
            or noise is None
            or score >= other - DROP_DEVIATIONS * max(noise, theirs.std_original_return or 0.0)
        )
        fact = RungDecision(goes_on=goes_on, score=score, champion_score=other, noise=noise)
        session.remember("decision", candidate.id, fact, key=f"rung-{candidate.id}")
        if not goes_on:
            session.display.note(f"{candidate.id} dropped at {reached:,} env steps: {score} against {other}")
        return goes_on

    return RunPlan(
        candidate_id=candidate.id, seed_index=0, budget_env_steps=plan.run_env_steps, rung=at_rung,
        rung_env_steps=rung_env_steps,
    )  # fmt: skip


async def _train_seeds(session: Session, candidate: Candidate, seeds: range, plan: Forecast) -> None:
    plans = [RunPlan(candidate_id=candidate.id, seed_index=i, budget_env_steps=plan.run_env_steps) for i in seeds]
    statuses = await train(session, plans, parallel=plan.parallel_runs)
    await _collect(session, [candidate] * len(plans), plans, statuses)


async def _collect(
    session: Session, candidates: Sequence[Candidate], plans: Sequence[RunPlan], statuses: Sequence[RunStatus]
) -> None:
    """Score finished runs on the selection seeds and enter them into their candidates."""
    for candidate, plan, status in zip(candidates, plans, statuses, strict=True):
        known = session.recall(f"rung-{candidate.id}", RungDecision)
        if known is not None and not known.goes_on:
            continue
        if not has_weights(status):
            session.display.note(f"{plan.label} {status.state}: {status.message or status.outcome or ''}")
            continue
        result = await evaluate(session, status.run_id)
        if result.state == "finished" and result.mean_original_return is not None:
            candidate.run_ids.append(status.run_id)
            session.decide(
                candidate,
                run_ids=tuple(candidate.run_ids),
                scores=(*candidate.attempt.scores, result.mean_original_return),
            )
            session.display.note(
                f"{plan.label}: score {result.mean_original_return:,.4g} ± {result.std_original_return:,.3g} over {result.episodes} episodes"
            )
        else:
            session.display.note(f"{plan.label} could not be scored: {result.message}")


async def _rank(session: Session, archive: Archive, candidates: Sequence[Candidate]) -> None:
    """Give every candidate its shrunken mean, as the metrics server computes it."""
    by_id = {candidate.id: candidate for candidate in candidates if candidate.run_ids}
    if not by_id:
        return
    comparison = await session.call(
        "metrics", "compare_runs", RunComparison, candidates=list(by_id), purpose="selection"
    )
    for ranked in comparison.ranking:
        candidate = by_id[ranked.candidate_id]
        candidate.score = ranked.shrunken_mean
        candidate.attempt = candidate.attempt.model_copy(update={"shrunken_mean": ranked.shrunken_mean})
    session.journal.append(ACTOR, "ranking", "search", comparison)


async def _noise(session: Session, champion: Candidate) -> float | None:
    answer = await session.call("metrics", "compare_runs", RunComparison, candidates=[champion.id], purpose="selection")
    return answer.pooled_noise


async def _diagnose(session: Session, candidate: Candidate) -> None:
    answer = await session.call("metrics", "diagnose_run", DiagnosisAnswer, may_fail=True, run=candidate.run_ids[0])
    candidate.diagnosis = answer.diagnosis
    for finding in answer.diagnosis.findings if answer.diagnosis else ():
        if finding.severity != "note":
            session.display.note(f"diagnosis of {candidate.id}: {finding.symptom}")


def _target_reached(session: Session, archive: Archive) -> bool:
    target, champion = session.options.target_return, archive.champion
    scores = [score for score in champion.attempt.scores if score is not None] if champion else []
    return target is not None and bool(scores) and min(scores) >= target


def _affordable(session: Session, plan: Forecast, *, limit: float) -> int:
    """Count the trainings that still fit below a share of the budget."""
    clock = session.clock
    if clock.budget.seconds is None:
        return max(0, int((limit * plan.total_env_steps - clock.env_steps) // plan.run_env_steps))
    left = min(limit * clock.budget.seconds - clock.used_seconds, clock.left_seconds - session.finish_seconds)
    wave = plan.start_seconds + plan.run_env_steps / plan.env_steps_per_second + session.evaluation_seconds
    return max(0, int(left // wave)) * plan.parallel_runs
