"""Stage 3: candidates race; nothing is kept on one seed, nothing dropped before the noise allows."""

from collections.abc import Sequence

import anyio

from agent2_generator.affording import affordable_trainings, search_limit
from agent2_generator.budget import Forecast
from agent2_generator.designer import Archive, Candidate, Facts
from agent2_generator.racing import race, was_dropped
from agent2_generator.recipe import Recipe
from agent2_generator.running import RunPlan, Scored, train_and_score, was_started
from agent2_generator.session import ACTOR, Session
from agent2_generator.understand import create
from agent2_schemas import DiagnosisAnswer, RunComparison, RunFailed

MAX_POLISH_SEEDS = 6


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
    known = len({event.subject for event in session.journal.events(kind="attempt")})
    while not _target_reached(session, archive):
        fitting = affordable_trainings(session, plan, limit=search_limit(session, plan)) // plan.seeds
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
        count = plan.parallel_runs if was_started(session, begun) else affordable_trainings(session, plan, limit=0.95)
        if count <= 0:
            return
        count = min(count, plan.parallel_runs)
        if first == 10:
            session.stage("train the delivered agent")
        await _train_seeds(session, champion, range(first, first + count), plan)
        first += count


async def _try(session: Session, archive: Archive, recipes: Sequence[Recipe], plan: Forecast) -> None:
    """Race some recipes against the champion, side by side on all cores."""
    champion = archive.champion
    assert champion is not None
    round_: list[Candidate] = []
    for recipe in recipes:
        candidate = await create(session, recipe, budget_env_steps=plan.run_env_steps)
        archive.candidates[candidate.id] = candidate
        if candidate.attempt.decision == "open":
            session.display.note(f"{candidate.id}: {recipe.change}")
            round_.append(candidate)
    slots = anyio.CapacityLimiter(plan.parallel_runs)
    raced: dict[str, list[Scored]] = {}

    async def one(candidate: Candidate) -> None:
        raced[candidate.id] = await race(session, candidate, champion, plan, slots)

    async with anyio.create_task_group() as group:
        for candidate in round_:
            group.start_soon(one, candidate)
    for candidate in round_:
        _enter(session, candidate, raced[candidate.id])
    finished = [candidate for candidate in round_ if len(candidate.run_ids) >= plan.seeds]
    await _rank(session, archive, [*(c for c in archive.candidates.values() if c.score is not None), *finished])
    for candidate in round_:
        await _judge_candidate(session, archive, candidate, is_complete=candidate in finished)


async def _judge_candidate(session: Session, archive: Archive, candidate: Candidate, *, is_complete: bool) -> None:
    champion = archive.champion
    assert champion is not None
    if is_complete and takes_over(candidate, champion):
        session.display.note(
            f"{candidate.id} is the new champion: {candidate.score:,.4g} over {champion.score or 0:,.4g}"
        )
        archive.champion = candidate
        await _diagnose(session, candidate)
        session.decide(candidate, decision="kept")
    elif not candidate.run_ids and not was_dropped(session, candidate):
        session.decide(candidate, decision="rejected")
    else:
        session.decide(candidate, decision="dropped")


def takes_over(candidate: Candidate, champion: Candidate) -> bool:
    """Whether a candidate becomes the champion.

    Its shrunken mean must be higher, over at least as many search seeds as the champion had, at most two: nothing is
    kept on one seed.
    """
    if candidate.score is None or len(candidate.run_ids) < min(2, len(champion.run_ids)):
        return False
    return candidate.score > (float("-inf") if champion.score is None else champion.score)


async def _train_seeds(session: Session, candidate: Candidate, seeds: range, plan: Forecast) -> None:
    plans = [RunPlan(candidate_id=candidate.id, seed_index=i, budget_env_steps=plan.run_env_steps) for i in seeds]
    slots = anyio.CapacityLimiter(plan.parallel_runs)
    _enter(session, candidate, await train_and_score(session, plans, slots=slots))


def _enter(session: Session, candidate: Candidate, results: Sequence[Scored]) -> None:
    """Enter scored runs into their candidate, in the order of the seeds."""
    for each in results:
        if each.status is not None and each.score is not None:
            candidate.run_ids.append(each.status.run_id)
            session.decide(candidate, run_ids=tuple(candidate.run_ids), scores=(*candidate.attempt.scores, each.score))


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
    archive.noise = comparison.pooled_noise
    session.journal.append(ACTOR, "ranking", "search", comparison)


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
