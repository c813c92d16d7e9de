"""Budgets are read as typed, and planned so that what is promised fits."""

import pytest

from agent2_generator.budget import Clock, Speed, parse_budget, plan
from agent2_schemas import Budget, CorrectableError


@pytest.mark.parametrize(
    ("text", "seconds", "env_steps"),
    [
        ("90s", 90, None),
        ("5m", 300, None),
        ("1.5h", 5400, None),
        ("200k-steps", None, 200_000),
        ("1M-steps", None, 1_000_000),
        ("50-steps", None, 50),
    ],
)
def test_a_budget_is_read_as_typed(text: str, seconds: float | None, env_steps: int | None) -> None:
    assert parse_budget(text) == Budget(seconds=seconds, env_steps=env_steps)


@pytest.mark.parametrize("text", ["0s", "0-steps", "", "5", "m5", "-3m", "5 minutes", "nan"])
def test_what_is_no_budget_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(CorrectableError, match="90s, 5m, 2h"):
        parse_budget(text)


def test_a_generous_budget_plans_a_verdict_within_its_half() -> None:
    result = plan(
        Clock(Budget(seconds=3600)),
        suggested_env_steps=50_000,
        speed=Speed(env_steps_per_second=2000, start_seconds=5),
        parallel_runs=2,
    )
    assert result.is_verdict_planned
    assert 50_000 <= result.run_env_steps <= 200_000
    assert result.verdict_seconds <= 1800
    assert result.verdict_seconds >= 15 * (9 + result.run_env_steps / 2000) / 2


def test_a_small_budget_shortens_the_training_and_says_what_a_verdict_needs() -> None:
    result = plan(
        Clock(Budget(seconds=60)),
        suggested_env_steps=100_000,
        speed=Speed(env_steps_per_second=1000, start_seconds=5),
        parallel_runs=2,
    )
    assert not result.is_verdict_planned
    assert result.run_env_steps <= 40_000
    assert result.verdict_needs_minutes >= 20


def test_a_budget_in_steps_is_never_planned_beyond() -> None:
    for total in (1_000, 60_000, 2_000_000):
        result = plan(
            Clock(Budget(env_steps=total)),
            suggested_env_steps=50_000,
            speed=Speed(env_steps_per_second=1000, start_seconds=5),
            parallel_runs=2,
        )
        assert result.run_env_steps * result.seeds <= total
        assert result.is_verdict_planned == (15 * result.run_env_steps <= total / 2)


def test_a_slow_library_default_is_part_of_what_a_verdict_costs() -> None:
    alike, slow = Speed(env_steps_per_second=500, start_seconds=5), Speed(
        env_steps_per_second=500, start_seconds=5, default_env_steps_per_second=100
    )  # fmt: skip
    more = slow.verdict_seconds(8_000, 2) - alike.verdict_seconds(8_000, 2)
    assert more >= 5 * (80 - 16) / 2, "five trainings of the default, each 64 s longer, on two cores"


def test_a_verdict_that_needs_more_than_half_takes_it_from_the_search() -> None:
    speed = Speed(env_steps_per_second=600, start_seconds=5, default_env_steps_per_second=110)
    result = plan(Clock(Budget(seconds=600)), suggested_env_steps=8_000, speed=speed, parallel_runs=2)
    assert result.is_verdict_planned
    assert 300 < result.verdict_seconds <= 0.65 * 600
    assert result.run_env_steps == 8_000


def test_trainings_are_shortened_for_a_verdict_but_never_below_seven_tenths() -> None:
    def planned(speed: float) -> tuple[bool, int]:
        found = plan(
            Clock(Budget(seconds=600)), suggested_env_steps=8_000, parallel_runs=2,
            speed=Speed(env_steps_per_second=speed, start_seconds=5),
        )  # fmt: skip
        return found.is_verdict_planned, found.run_env_steps

    fits, run_env_steps = planned(190)
    assert fits
    assert 5_600 <= run_env_steps < 8_000
    assert planned(100) == (False, 8_000), "half a training proves nothing: the published length stays"
