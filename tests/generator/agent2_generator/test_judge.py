"""What is put to the test: the search's leader, or the best candidate that noise does not rule out against a baseline."""

import pytest

from agent2_generator.designer import Archive, Candidate
from agent2_generator.judge import find_challenger
from agent2_generator.racing import trails
from agent2_generator.recipe import Recipe
from agent2_schemas import Attempt


def _candidate(name: str, *scores: float) -> Candidate:
    recipe = Recipe(key=name, title=name, change=name, reason=name, algorithm="SAC")
    attempt = Attempt(candidate_id=name, parent_id=None, change=name, reason=name, scores=scores)
    return Candidate(
        id=name, recipe=recipe, attempt=attempt, run_ids=[f"{name}r{i}" for i in range(len(scores))]
    )  # fmt: skip


def _archive(*candidates: Candidate, noise: float | None) -> Archive:
    archive = Archive({each.id: each for each in candidates}, champion=candidates[0])
    archive.noise = noise
    return archive


def test_a_candidate_within_the_noise_of_the_leading_baseline_is_put_to_the_test() -> None:
    preset, close, far = _candidate("c1", 100, 102), _candidate("c2", 97, 99), _candidate("c3", 10, 12)
    assert find_challenger(_archive(preset, far, close, noise=2.0), {"tuned preset": preset}) is close


def test_no_time_is_spent_on_testing_what_the_noise_rules_out() -> None:
    preset, far = _candidate("c1", 100, 102), _candidate("c3", 10, 12)
    assert find_challenger(_archive(preset, far, noise=2.0), {"tuned preset": preset}) is None


def test_neither_a_baseline_nor_a_candidate_of_one_seed_challenges() -> None:
    preset, default, single = _candidate("c1", 100, 102), _candidate("c2", 101, 101), _candidate("c3", 200)
    archive = _archive(preset, default, single, noise=2.0)
    assert find_challenger(archive, {"tuned preset": preset, "library default": default}) is None


@pytest.mark.parametrize(
    ("score", "champion_score", "noise", "spread", "is_dropped"),
    [
        (10.0, 100.0, 5.0, 1.0, True),
        (91.0, 100.0, 5.0, 1.0, False),
        (10.0, 100.0, 5.0, 60.0, False),
        (10.0, 100.0, None, 1.0, False),
        (10.0, None, 5.0, None, False),
        (None, 100.0, 5.0, 1.0, True),
    ],
)
def test_a_rung_drops_only_what_the_noise_allows(
    score: float | None, champion_score: float | None, noise: float | None, spread: float | None, *, is_dropped: bool
) -> None:
    assert trails(score, champion_score, noise, spread) is is_dropped
