"""What still fits: times of trainings and verdicts as this build has measured them, before that as forecast."""

import statistics
from collections.abc import Iterable

from agent2_generator.budget import (
    NOISE_SHARE,
    SEARCH_SHARE,
    VERDICT_ARMS,
    VERDICT_SEEDS,
    VERDICT_SHARE_AT_MOST,
    Forecast,
)
from agent2_generator.session import Session

SEARCH_SHARE_WITHOUT_VERDICT = 0.60
"""Where no verdict fits: noise and search together; what is left trains the delivered agent."""


def expected_seconds(session: Session, plan: Forecast, candidate_id: str = "") -> float:
    """Time of one training with its start and its evaluation, seconds.

    Args:
        session: the build.
        plan: the frozen plan.
        candidate_id: whose training; empty, or one that was never trained: the median of all candidates.
    """
    known = session.slot_seconds
    seen = known.get(candidate_id) or [seconds for each in known.values() for seconds in each]
    return statistics.median(seen) if seen else plan.training_seconds


def default_seconds(session: Session, plan: Forecast, library_default_id: str) -> float:
    """The same of the library default, which the search does not train: by its speed beside the tuned preset's."""
    usual = expected_seconds(session, plan, library_default_id)
    if library_default_id in session.slot_seconds or plan.default_env_steps_per_second is None:
        return usual
    slower = plan.run_env_steps / plan.default_env_steps_per_second - plan.run_env_steps / plan.env_steps_per_second
    scale = usual / plan.training_seconds
    return max(0.5 * usual, usual + scale * slower)


def wall_seconds(each_arm: Iterable[float], parallel_runs: int) -> float:
    """Wall time of a verdict, from the seconds of one training of each arm."""
    arms = tuple(each_arm)
    return VERDICT_SEEDS * sum(arms) / parallel_runs + (0.5 * max(arms) if parallel_runs > 1 else 0.0)


def verdict_seconds(session: Session, plan: Forecast) -> float:
    """Expected wall time of a verdict whose winner trains as fast as the usual candidate."""
    usual = expected_seconds(session, plan)
    return wall_seconds(((VERDICT_ARMS - 1) * [usual]) + [default_seconds(session, plan, "")], plan.parallel_runs)


def search_limit(session: Session, plan: Forecast) -> float:
    """Share of the budget at which the search ends: early enough for a verdict, where one can still be reached."""
    seconds = session.clock.budget.seconds
    if seconds is None:
        return NOISE_SHARE + SEARCH_SHARE if plan.is_verdict_planned else SEARCH_SHARE_WITHOUT_VERDICT
    needed = verdict_seconds(session, plan)
    if not plan.is_verdict_planned or needed > VERDICT_SHARE_AT_MOST * seconds:
        return SEARCH_SHARE_WITHOUT_VERDICT
    return min(NOISE_SHARE + SEARCH_SHARE, 1 - (needed + session.finish_seconds) / seconds)


def affordable_trainings(session: Session, plan: Forecast, *, limit: float) -> int:
    """Count the trainings that still fit below a share of the budget."""
    clock = session.clock
    if clock.budget.seconds is None:
        return max(0, int((limit * plan.total_env_steps - clock.env_steps) // plan.run_env_steps))
    left = min(limit * clock.budget.seconds - clock.used_seconds, clock.left_seconds - session.finish_seconds)
    return max(0, int(left // expected_seconds(session, plan))) * plan.parallel_runs
