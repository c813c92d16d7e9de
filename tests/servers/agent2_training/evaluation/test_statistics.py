"""Summaries of returns."""

import pytest

from agent2_training.evaluation.statistics import bootstrap_interval, interquartile_mean, summarise


def test_a_summary_has_every_number_of_an_evaluation() -> None:
    summary = summarise([1.0, 2.0, 3.0, 100.0])

    assert summary["mean_original_return"] == 26.5
    assert summary["interquartile_mean"] == 2.5
    assert (summary["min_original_return"], summary["max_original_return"]) == (1.0, 100.0)
    assert summary["std_original_return"] == pytest.approx(49.006802)


def test_one_episode_has_no_spread() -> None:
    assert summarise([5.0])["std_original_return"] == 0.0


@pytest.mark.parametrize(("values", "mean"), [([1.0], 1.0), ([1.0, 3.0], 2.0), ([9.0, 1.0, 2.0, 3.0, 0.0], 2.0)])
def test_the_middle_half_is_what_is_left_after_a_quarter_at_either_end(values: list[float], mean: float) -> None:
    assert interquartile_mean(values) == mean


def test_the_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [float(value) for value in range(40)]
    low, high = bootstrap_interval(values)

    assert low is not None
    assert high is not None
    assert 14 < low < 19.5 < high < 25
    assert bootstrap_interval(values) == (low, high)


def test_equal_returns_have_an_interval_without_width_and_one_has_none() -> None:
    assert bootstrap_interval([7.0, 7.0, 7.0]) == (7.0, 7.0)
    assert bootstrap_interval([7.0]) == (None, None)
