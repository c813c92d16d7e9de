"""The budget: how it is typed, how it is split, and how much of it is left."""

import re
import time
from dataclasses import dataclass, field

from pydantic import Field

from agent2_schemas import Budget, CorrectableError, Frozen

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_MULTIPLES = {"": 1, "k": 1_000, "m": 1_000_000}
_FORMS = "Write it as 90s, 5m, 2h, or as environment steps: 50000-steps, 200k-steps, 1m-steps."

NOISE_SHARE, SEARCH_SHARE, VERDICT_SHARE = 0.10, 0.40, 0.50
"""How the budget is split (DESIGN 5); where the verdict does not fit, its share goes to search and training."""
VERDICT_SEEDS = 5
"""Fewest training seeds an arm for a verdict: five show gains of about two standard deviations."""
VERDICT_ARMS = 3
"""The design in question, the library default, the tuned preset."""


def parse_budget(text: str) -> Budget:
    """Read a budget as a person types it.

    Args:
        text: `90s`, `5m`, `2h`, or `200k-steps`.

    Returns:
        Seconds or environment steps, exactly one of them.

    Raises:
        CorrectableError: the text is no budget, or is not above zero.
    """
    steps = re.fullmatch(r"(\d+(?:\.\d+)?)([km]?)-?steps?", text.strip().lower())
    duration = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip().lower())
    if steps:
        value = float(steps[1]) * _MULTIPLES[steps[2]]
    elif duration:
        value = float(duration[1]) * _SECONDS[duration[2]]
    else:
        raise CorrectableError(f"{text!r} is no budget.", _FORMS)
    if value <= 0 or (steps and value < 1):
        raise CorrectableError(f"A budget of {text!r} leaves nothing to train with.", _FORMS)
    return Budget(env_steps=int(value)) if steps else Budget(seconds=value)


class Forecast(Frozen):
    """The plan in environment steps: made once from measured speed, journalled, then frozen."""

    run_env_steps: int = Field(ge=1, description="Environment steps of one full training.")
    total_env_steps: int = Field(ge=1, description="Environment steps of the whole build.")
    seeds: int = Field(ge=1, description="Training seeds of each candidate in the search.")
    is_verdict_planned: bool = Field(description="Whether a verdict with 5 seeds an arm fits its share.")
    verdict_needs_minutes: float = Field(ge=0, description="What the whole build would need for a verdict, minutes.")
    env_steps_per_second: float = Field(gt=0, description="Measured speed of one run beside the others.")
    start_seconds: float = Field(
        ge=0, description="Measured time from the start of a run to its first report, seconds."
    )
    parallel_runs: int = Field(ge=1, description="Runs side by side.")


@dataclass
class Clock:
    """Wall time and environment steps that a build has used, earlier sessions included."""

    budget: Budget
    used_before_seconds: float = 0.0
    env_steps: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def used_seconds(self) -> float:
        """Wall time used, seconds."""
        return self.used_before_seconds + time.monotonic() - self.started

    @property
    def left_seconds(self) -> float:
        """Wall time left, seconds; infinite where the budget is in environment steps."""
        return float("inf") if self.budget.seconds is None else self.budget.seconds - self.used_seconds

    @property
    def used_share(self) -> float:
        """Share of the budget used, 0 to 1 and beyond."""
        if self.budget.seconds is not None:
            return self.used_seconds / self.budget.seconds
        return self.env_steps / (self.budget.env_steps or 1)


FINISH_SECONDS = 10.0
"""Time kept for packing, filming and reporting; scoring comes on top."""


def plan(
    clock: Clock,
    *,
    suggested_env_steps: int,
    env_steps_per_second: float,
    start_seconds: float,
    parallel_runs: int,
) -> Forecast:
    """Turn the budget into a plan in environment steps.

    A full training takes the published number of steps, up to four times as many where the budget is generous, fewer
    where not even the first runs would fit.

    Args:
        clock: what is left.
        suggested_env_steps: steps after which published runs of this kind have levelled off.
        env_steps_per_second: measured speed of one run beside the others.
        start_seconds: measured time from the start of a run to its first report.
        parallel_runs: runs side by side.

    Returns:
        The plan.
    """
    budget = clock.budget
    if budget.seconds is None:
        total = budget.env_steps or 1
        run_limit = total
    else:
        usable = max(1.0, clock.left_seconds - 2 * FINISH_SECONDS)
        total = max(1, int(usable * env_steps_per_second * parallel_runs))
        run_limit = max(1, int(max(1.0, usable - 1.2 * start_seconds) * env_steps_per_second))
    run_env_steps = min(max(suggested_env_steps, min(total // 40, 4 * suggested_env_steps)), run_limit)
    seeds = 2 if total >= 2 * run_env_steps or (budget.seconds is not None and parallel_runs > 1) else 1
    runs = VERDICT_SEEDS * VERDICT_ARMS
    verdict_seconds = runs * (start_seconds + 4.0 + run_env_steps / env_steps_per_second) / parallel_runs
    if budget.seconds is None:
        fits = runs * run_env_steps <= VERDICT_SHARE * total
    else:
        fits = verdict_seconds <= VERDICT_SHARE * budget.seconds and run_env_steps >= suggested_env_steps
    full_seconds = runs * (start_seconds + 4.0 + max(run_env_steps, suggested_env_steps) / env_steps_per_second)
    return Forecast(
        run_env_steps=run_env_steps,
        total_env_steps=total + clock.env_steps,
        seeds=seeds,
        is_verdict_planned=fits,
        verdict_needs_minutes=round(full_seconds / parallel_runs / VERDICT_SHARE / 60 + 0.5),
        env_steps_per_second=env_steps_per_second,
        start_seconds=start_seconds,
        parallel_runs=parallel_runs,
    )
