"""Stage 2: measure how fast this design trains here, and freeze the plan in environment steps."""

import time

import anyio

from agent2_generator.budget import Forecast, plan
from agent2_generator.designer import Candidate
from agent2_generator.running import POLL_SECONDS, RunPlan, check, cut, start
from agent2_generator.session import Session
from agent2_schemas import RunFailed, RunProgress, RunStatus

MEASURE_SECONDS = 4.0
"""Shortest stretch of training, gradient steps included, that gives a speed."""
RESTART_PAYS = 6.0
"""Runs are started anew at another length only where so many times the measuring time is left."""
GIVE_UP_SHARE = 0.25
"""Largest share of the budget that the measurement may take."""


async def forecast(session: Session, candidate: Candidate, suggested_env_steps: int) -> Forecast:
    """Start the first trainings for real, measure them, and plan; a resume finds the plan in the journal.

    Where the plan keeps the published number of steps, the measured runs go on and are the search's first.

    Args:
        session: the build.
        candidate: the tuned preset.
        suggested_env_steps: steps after which published runs of this kind have levelled off.

    Returns:
        The plan.

    Raises:
        RunFailed: every run failed while it was measured.
    """
    known = session.recall("forecast", Forecast)
    if known is not None:
        return known
    session.stage("forecast")
    parallel = session.options.parallel_runs
    in_seconds = session.clock.budget.seconds is not None
    run_env_steps = suggested_env_steps if in_seconds else min(suggested_env_steps, session.clock.budget.env_steps or 1)
    plans = [
        RunPlan(candidate_id=candidate.id, seed_index=index, budget_env_steps=run_env_steps)
        for index in range(parallel if in_seconds else 1)
    ]
    started = time.monotonic()
    statuses = [await start(session, each) for each in plans]
    speed, start_seconds = await _measure(session, statuses, started)
    result = plan(
        session.clock,
        suggested_env_steps=suggested_env_steps,
        env_steps_per_second=speed,
        start_seconds=start_seconds,
        parallel_runs=parallel,
    )
    if result.run_env_steps != run_env_steps and not _pays(session, time.monotonic() - started):
        result = result.model_copy(update={"run_env_steps": run_env_steps})
    if result.run_env_steps != run_env_steps:
        await _cut_all(session, statuses)
    session.display.note(
        f"{speed:,.0f} env steps/s a run; {result.run_env_steps:,} env steps a training, "
        f"{parallel} side by side; verdict {'planned' if result.is_verdict_planned else 'does not fit'}"
    )
    return session.remember("forecast", candidate.id, result, key="forecast")


def _pays(session: Session, measured_seconds: float) -> bool:
    """Whether to start the measured runs anew at another length: not where they have used much of the time.

    Kept runs end with the budget instead, earlier than their schedules planned.
    """
    return session.clock.left_seconds >= RESTART_PAYS * measured_seconds


async def _cut_all(session: Session, statuses: list[RunStatus]) -> None:
    async with anyio.create_task_group() as group:
        for status in statuses:
            group.start_soon(cut, session, status.run_id)
    for status in statuses:
        session.active_runs.discard(status.run_id)
        session.display.forget(status.run_id)


async def _measure(session: Session, statuses: list[RunStatus], started: float) -> tuple[float, float]:
    """Give env steps per second with gradient steps included, and the seconds until the first report."""
    budget_seconds = session.clock.budget.seconds or float("inf")
    first: RunProgress | None = None
    start_seconds = 0.0
    while True:
        status = await check(session, statuses[0].run_id, wait_seconds=POLL_SECONDS)
        session.display.run(status.run_id, status)
        progress = status.progress
        if status.state in ("failed", "lost"):
            raise RunFailed(
                f"The first training failed: {status.message or status.outcome}.", f"Its log: {status.folder}/log.txt"
            )
        if progress and progress.env_steps and not start_seconds:
            start_seconds = max(0.1, time.monotonic() - started - progress.seconds)
        if progress and progress.updates and (first is None or first.updates == 0):
            first = progress
        if first and progress and progress.seconds - first.seconds >= MEASURE_SECONDS:
            return (progress.env_steps - first.env_steps) / (progress.seconds - first.seconds), start_seconds
        is_late = time.monotonic() - started > max(20.0, GIVE_UP_SHARE * min(budget_seconds, 1200.0))
        if (status.state in ("finished", "stopped") or is_late) and progress and progress.env_steps:
            return progress.env_steps / max(0.1, progress.seconds), start_seconds
        await anyio.sleep(0)
