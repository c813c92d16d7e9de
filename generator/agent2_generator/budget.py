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
VERDICT_SHARE_AT_MOST = 0.65
"""Where a verdict needs more than half of the budget, the search gives up so much that it still fits."""
SHORTEST_TRAINING = 0.7
"""Trainings may be shortened to this share of the published steps where that makes place for a verdict."""
USUAL_EVALUATION_SECONDS = 4.0
"""An evaluation before one was measured."""


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
    default_env_steps_per_second: float | None = Field(
        default=None, gt=0, description="Measured speed of the library default; null: taken to be the same."
    )
    verdict_seconds: float = Field(default=0.0, ge=0, description="What the verdict is expected to take, seconds.")

    @property
    def training_seconds(self) -> float:
        """Expected time of one training with its start and its evaluation, seconds."""
        return self.start_seconds + USUAL_EVALUATION_SECONDS + self.run_env_steps / self.env_steps_per_second


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


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What was measured of the first trainings."""

    env_steps_per_second: float
    """Of one run of the tuned preset beside the others."""
    start_seconds: float
    """From the start of a run to its first report."""
    default_env_steps_per_second: float | None = None
    """The same of the library default, whose network is often much larger; None: not measured."""

    def verdict_seconds(self, run_env_steps: int, parallel_runs: int) -> float:
        """Expected wall time of a verdict: every arm at its own speed, and half a training of waiting for the last."""
        overhead = self.start_seconds + USUAL_EVALUATION_SECONDS
        usual = overhead + run_env_steps / self.env_steps_per_second
        default = overhead + run_env_steps / (self.default_env_steps_per_second or self.env_steps_per_second)
        busy = VERDICT_SEEDS * ((VERDICT_ARMS - 1) * usual + default)
        return busy / parallel_runs + (0.5 * max(usual, default) if parallel_runs > 1 else 0.0)

    def longest_verdict(self, seconds: float, parallel_runs: int) -> int:
        """Most environment steps a training for which a verdict takes at most so many seconds."""
        fixed = self.verdict_seconds(0, parallel_runs)
        per_step = self.verdict_seconds(1_000_000, parallel_runs) - fixed
        return max(0, int((seconds - fixed) / per_step * 1_000_000))


def plan(clock: Clock, *, suggested_env_steps: int, speed: Speed, parallel_runs: int) -> Forecast:
    """Turn the budget into a plan in environment steps.

    A full training takes the published number of steps, up to four times as many where the budget is generous, fewer
    where that makes place for a verdict or where not even the first runs would fit.

    Args:
        clock: what is left.
        suggested_env_steps: steps after which published runs of this kind have levelled off.
        speed: what was measured.
        parallel_runs: runs side by side.

    Returns:
        The plan.
    """
    if clock.budget.seconds is None:
        return _plan_in_env_steps(clock, suggested_env_steps, speed, parallel_runs)
    budget_seconds = clock.budget.seconds
    usable = max(1.0, clock.left_seconds - 2 * FINISH_SECONDS)
    total = max(1, int(usable * speed.env_steps_per_second * parallel_runs))
    run_limit = max(1, int(max(1.0, usable - 1.2 * speed.start_seconds) * speed.env_steps_per_second))
    half = speed.longest_verdict(VERDICT_SHARE * budget_seconds, parallel_runs)
    most = speed.longest_verdict(min(VERDICT_SHARE_AT_MOST * budget_seconds, usable), parallel_runs)
    wished = max(suggested_env_steps, min(total // 40, 4 * suggested_env_steps, half))
    fits = most >= SHORTEST_TRAINING * suggested_env_steps
    run_env_steps = min(wished, run_limit, *((most,) if fits else ()))
    return _forecast(
        run_env_steps, total + clock.env_steps, speed, parallel_runs,
        seeds=2 if total >= 2 * run_env_steps or parallel_runs > 1 else 1,
        is_verdict_planned=fits and run_env_steps >= SHORTEST_TRAINING * suggested_env_steps,
        suggested_env_steps=suggested_env_steps,
    )  # fmt: skip


def _plan_in_env_steps(clock: Clock, suggested_env_steps: int, speed: Speed, parallel_runs: int) -> Forecast:
    total = clock.budget.env_steps or 1
    run_env_steps = min(max(suggested_env_steps, min(total // 40, 4 * suggested_env_steps)), total)
    return _forecast(
        run_env_steps, total + clock.env_steps, speed, parallel_runs,
        seeds=2 if total >= 2 * run_env_steps else 1,
        is_verdict_planned=VERDICT_SEEDS * VERDICT_ARMS * run_env_steps <= VERDICT_SHARE * total,
        suggested_env_steps=suggested_env_steps,
    )  # fmt: skip


def _forecast(
    run_env_steps: int, total_env_steps: int, speed: Speed, parallel_runs: int, *,
    seeds: int, is_verdict_planned: bool, suggested_env_steps: int,
) -> Forecast:  # fmt: skip
    full_seconds = speed.verdict_seconds(max(run_env_steps, suggested_env_steps), parallel_runs)
    return Forecast(
        run_env_steps=run_env_steps,
        total_env_steps=total_env_steps,
        seeds=seeds,
        is_verdict_planned=is_verdict_planned,
        verdict_needs_minutes=round(full_seconds / VERDICT_SHARE_AT_MOST / 60 + 0.5),
        env_steps_per_second=speed.env_steps_per_second,
        start_seconds=speed.start_seconds,
        parallel_runs=parallel_runs,
        default_env_steps_per_second=speed.default_env_steps_per_second,
        verdict_seconds=speed.verdict_seconds(run_env_steps, parallel_runs),
    )
