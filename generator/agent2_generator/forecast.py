"""Stage 2: measure how fast this design trains here, and freeze the plan in environment steps."""

import time

import anyio

from agent2_generator.budget import Forecast, plan
from agent2_generator.designer import Candidate
from agent2_generator.running import ENDED, MAX_INTERRUPTIONS, POLL_SECONDS, RunPlan, begin, check, cut, own_env_steps
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
    key = f"forecast-{session.clock.budget.model_dump_json()}"
    known = session.recall(key, Forecast)
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
    statuses = [await begin(session, each) for each in plans]
    speed, start_seconds = await _measure(session, plans[0], started)
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
    return session.remember("forecast", candidate.id, result, key=key)


def _pays(session: Session, measured_seconds: float) -> bool:
    """Whether to start the measured runs anew at another length: not where they have used much of the time.

    Kept runs end with the budget instead, earlier than their schedules planned.
    """
    return session.clock.left_seconds >= RESTART_PAYS * measured_seconds


async def _cut_all(session: Session, statuses: list[RunStatus]) -> None:
    async def end(status: RunStatus) -> None:
        if status.state not in ENDED:
            session.clock.env_steps += own_env_steps(session, await cut(session, status.run_id))
        session.active_runs.discard(status.run_id)
        session.display.forget(status.run_id)

    async with anyio.create_task_group() as group:
        for status in statuses:
            group.start_soon(end, status)


async def _measure(session: Session, plan: RunPlan, started: float) -> tuple[float, float]:
    """Give env steps per second with gradient steps included, and the seconds until the first report."""
    measurement = Measurement(started)
    for _ in range(MAX_INTERRUPTIONS + 1):
        status = await begin(session, plan)
        while True:
            if status.state == "failed":
                raise RunFailed(
                    f"The first training failed: {status.message or status.outcome}.",
                    f"Its log: {status.folder}/log.txt",
                )
            measurement.add(status.progress)
            if measurement.is_good or (measurement.speed and (status.state in ENDED or _is_late(session, started))):
                return measurement.speed, measurement.start_seconds
            if session.clock.left_seconds < session.finish_seconds:
                raise RunFailed(
                    f"The budget was used up while the first training was {status.state} without a step.",
                    "Give a larger --budget, or end other builds that hold the machine's places for runs.",
                )
            if status.state in ENDED:
                break
            status = await check(session, status.run_id, wait_seconds=POLL_SECONDS)
            session.display.run(plan.label, status)
    raise RunFailed("The first training was interrupted again and again.", f"See `agent2 runs {session.name}`.")


def _is_late(session: Session, started: float) -> bool:
    budget_seconds = session.clock.budget.seconds or 1200.0
    return time.monotonic() - started > max(20.0, GIVE_UP_SHARE * min(budget_seconds, 1200.0))


class Measurement:
    """Speed of a run from its reports: the stretch with gradient steps counts, once it is long enough."""

    def __init__(self, started: float) -> None:
        """Begin at a monotonic time."""
        self._started = started
        self._first: RunProgress | None = None
        self._newest: RunProgress | None = None
        self.start_seconds = 0.0

    def add(self, progress: RunProgress | None) -> None:
        """Take one report."""
        if progress is None or not progress.env_steps:
            return
        if not self.start_seconds:
            self.start_seconds = max(0.1, time.monotonic() - self._started - progress.seconds)
        if progress.updates and self._first is None:
            self._first = progress
        self._newest = progress

    @property
    def is_good(self) -> bool:
        """Whether the stretch with gradient steps is long enough."""
        return bool(
            self._first and self._newest and self._newest.seconds - self._first.seconds >= MEASURE_SECONDS
            and self._newest.env_steps > self._first.env_steps
        )  # fmt: skip

    @property
    def speed(self) -> float:
        """Environment steps per second; 0 before the first report."""
        if self._newest is None:
            return 0.0
        if self.is_good and self._first is not None:
            return (self._newest.env_steps - self._first.env_steps) / (self._newest.seconds - self._first.seconds)
        return self._newest.env_steps / max(0.1, self._newest.seconds)
