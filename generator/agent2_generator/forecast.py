"""Stage 2: measure how fast this design trains here, and freeze the plan in environment steps."""

import time

import anyio

from agent2_generator.budget import Forecast, Speed, plan
from agent2_generator.designer import Candidate
from agent2_generator.running import ENDED, MAX_INTERRUPTIONS, POLL_SECONDS, RunPlan, begin, check, cut, own_env_steps
from agent2_generator.session import Session
from agent2_schemas import RunFailed, RunProgress, RunStatus

MEASURE_SECONDS = 4.0
"""Shortest stretch of training, gradient steps included, that gives a speed."""
RESTART_PAYS = 6.0
"""Runs are started anew at another length only where so many times the measuring time is left."""
MEASURE_DEFAULT_FROM_SECONDS = 120.0
"""Smaller budgets give no verdict, so the library default's speed is not asked."""
GIVE_UP_SHARE = 0.25
"""Largest share of the budget that the measurement may take."""


async def forecast(
    session: Session, candidate: Candidate, library_default: Candidate, suggested_env_steps: int
) -> Forecast:
    """Start the first trainings for real, measure them, and plan; a resume finds the plan in the journal.

    Where the plan keeps the published number of steps, the measured runs go on and are the search's first. The library
    default is measured too, then ended: its share of the verdict is often the largest.

    Args:
        session: the build.
        candidate: the tuned preset.
        library_default: the other baseline.
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
    plans, run_env_steps = _measured_plans(session, candidate, library_default, suggested_env_steps)
    started = time.monotonic()
    measured = [Measurement(started) for _ in plans]
    async with anyio.create_task_group() as group:
        for index, each in enumerate(plans):
            group.start_soon(_measure, session, each, measured, index)
    speed = _speed(plans, measured, candidate)
    result = plan(
        session.clock,
        suggested_env_steps=suggested_env_steps,
        speed=speed,
        parallel_runs=session.options.parallel_runs,
    )
    if result.run_env_steps != run_env_steps and not _pays(session, time.monotonic() - started):
        result = result.model_copy(update={"run_env_steps": run_env_steps})
    unwanted = [
        each for each in plans if each.candidate_id != candidate.id or result.run_env_steps != each.budget_env_steps
    ]
    await _cut_all(session, [await begin(session, each, may_restart=False) for each in unwanted])
    session.display.note(_in_words(result))
    return session.remember("forecast", candidate.id, result, key=key)


def _measured_plans(
    session: Session, candidate: Candidate, library_default: Candidate, suggested_env_steps: int
) -> tuple[list[RunPlan], int]:
    """Choose what is started to be measured, and how long it would train."""
    seconds, parallel = session.clock.budget.seconds, session.options.parallel_runs
    run_env_steps = (
        suggested_env_steps if seconds is not None else min(suggested_env_steps, session.clock.budget.env_steps or 1)
    )
    count = parallel if seconds is not None else 1
    plans = [
        RunPlan(candidate_id=candidate.id, seed_index=index, budget_env_steps=run_env_steps) for index in range(count)
    ]
    if seconds is not None and seconds >= MEASURE_DEFAULT_FROM_SECONDS and count > 1:
        default = RunPlan(candidate_id=library_default.id, seed_index=0, budget_env_steps=run_env_steps)
        plans[-1] = default
    return plans, run_env_steps


def _speed(plans: list[RunPlan], measured: list["Measurement"], candidate: Candidate) -> Speed:
    default = next((m.speed for p, m in zip(plans, measured, strict=True) if p.candidate_id != candidate.id), 0.0)
    return Speed(
        env_steps_per_second=measured[0].speed,
        start_seconds=measured[0].start_seconds,
        default_env_steps_per_second=default or None,
    )


def _in_words(result: Forecast) -> str:
    default = result.default_env_steps_per_second
    beside = f" ({default:,.0f} the library default)" if default else ""
    verdict = (
        f"verdict planned, about {result.verdict_seconds:,.0f} s"
        if result.is_verdict_planned
        else f"a verdict does not fit: it needs a budget of about {result.verdict_needs_minutes:.0f} minutes"
    )
    return (
        f"{result.env_steps_per_second:,.0f} env steps/s a run{beside}; {result.run_env_steps:,} env steps a training, "
        f"{result.parallel_runs} side by side; {verdict}"
    )


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


async def _measure(session: Session, plan: RunPlan, measured: list["Measurement"], index: int) -> None:
    """Follow one run until its speed is known; only the first, the tuned preset's, must give one."""
    measurement, is_needed = measured[index], index == 0
    for _ in range(MAX_INTERRUPTIONS + 1):
        status = await begin(session, plan)
        while True:
            if status.state == "failed":
                if not is_needed:
                    measurement.is_over = True
                    return
                raise RunFailed(
                    f"The first training failed: {status.message or status.outcome}.",
                    f"Its log: {status.folder}/log.txt",
                )
            measurement.add(status.progress, are_all_stepping=all(each.is_stepping for each in measured))
            is_done = measurement.is_good or status.state in ENDED or _is_late(session, measurement.started)
            if (measurement.speed and is_done) or (is_done and not is_needed):
                measurement.is_over = True
                return
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
    """Speed of a run from its reports: the stretch with gradient steps beside the other runs, once it is long enough."""

    def __init__(self, started: float) -> None:
        """Begin at a monotonic time."""
        self.started = started
        self._first: RunProgress | None = None
        self._newest: RunProgress | None = None
        self.start_seconds = 0.0
        self.is_over = False
        """Whether the run has ended or its speed is known: nobody waits for its first step any more."""

    @property
    def is_stepping(self) -> bool:
        """Whether the run has reported a step, or never will."""
        return self._newest is not None or self.is_over

    def add(self, progress: RunProgress | None, *, are_all_stepping: bool = True) -> None:
        """Take one report.

        Args:
            progress: the report.
            are_all_stepping: whether the other runs train too: one that still loads its libraries slows this one down
                as no training does, so that stretch does not count.
        """
        if progress is None or not progress.env_steps:
            return
        if not self.start_seconds:
            self.start_seconds = max(0.1, time.monotonic() - self.started - progress.seconds)
        if progress.updates and self._first is None and are_all_stepping:
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
