"""Budgets are read as typed, and planned so that what is promised fits."""

import pytest

from agent2_generator.budget import Clock, parse_budget, plan
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
        env_steps_per_second=2000,
        start_seconds=5,
        parallel_runs=2,
    )
    assert result.is_verdict_planned
    assert 50_000 <= result.run_env_steps <= 200_000
    assert 15 * (9 + result.run_env_steps / 2000) / 2 <= 1800


def test_a_small_budget_shortens_the_training_and_says_what_a_verdict_needs() -> None:
    result = plan(
        Clock(Budget(seconds=60)),
        suggested_env_steps=100_000,
        env_steps_per_second=1000,
        start_seconds=5,
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
            env_steps_per_second=1000,
            start_seconds=5,
            parallel_runs=2,
        )
        assert result.run_env_steps * result.seeds <= total
        assert result.is_verdict_planned == (15 * result.run_env_steps <= total / 2)
