"""Ranking and verdict: what they say, what they refuse to say, and how often they err."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_runs import ProjectMaker

from agent2_metrics.comparing.compare import rank
from agent2_metrics.comparing.ranking import pooled_noise, shrink
from agent2_metrics.comparing.scored_run import RunScore
from agent2_metrics.comparing.statistics import (
    interquartile_mean,
    interval_of_difference,
    interval_of_iqm,
    probability_of_improvement,
)  # fmt: skip
from agent2_metrics.comparing.verdict import judge
from agent2_schemas import CorrectableError, Verdict

GOOD, PLAIN = [410.0, 420.0, 430.0, 440.0, 425.0], [300.0, 310.0, 290.0, 305.0, 295.0]


def run(arm: str, seed: int, score: float | None, **changes: Any) -> RunScore:
    values: dict[str, Any] = {
        "run_id": f"{arm[0]}{seed}", "candidate_id": arm[:1], "design_sha256": arm, "state": "finished",
        "run_purpose": "verdict", "training_seed": seed, "budget_env_steps": 1000, "seconds": 60.0, "score": score,
        "checkpoint_env_steps": 1000, "episodes": 20, "mode": "deterministic", "seeds_sha256": "s",
        "environment_sha256": "e", "evaluations": 1,
    }  # fmt: skip
    return RunScore(**(values | changes))


def arms(
    winner: list[Any], default: list[Any], tuned: list[Any] | None = None, **changes: Any
) -> dict[str, list[RunScore]]:
    named = {"winner": winner, "library default": default, "tuned preset": tuned if tuned is not None else default}
    return {
        name: [run(name, seed, score, **(changes if name == "winner" else {})) for seed, score in enumerate(scores)]
        for name, scores in named.items()
    }


def judged(*scores: list[Any], **changes: Any) -> Verdict:
    return judge(arms(*scores, **changes))


def test_a_clear_gain_over_both_baselines_is_improved() -> None:
    verdict = judged(GOOD, PLAIN)
    assert verdict.word == "improved"
    assert [each.word for each in verdict.comparisons] == ["improved", "improved"]
    assert verdict.comparisons[0].probability_of_improvement == 1.0
    assert verdict.comparisons[0].difference == pytest.approx(425 - 300)


def test_a_gain_over_one_baseline_only_is_not_shown() -> None:
    assert judged(GOOD, PLAIN, [*GOOD[1:], 415.0]).word == "not shown"


def test_a_clear_loss_to_one_baseline_is_worse_whatever_the_other_says() -> None:
    assert judged(PLAIN, [score - 100 for score in PLAIN], GOOD).word == "worse"


def test_one_baseline_is_not_enough_for_improved() -> None:
    both = arms(GOOD, PLAIN)
    del both["tuned preset"]
    verdict = judge(both)
    assert verdict.word == "not tested"
    assert "tuned preset" in verdict.reason


def test_fewer_than_five_runs_are_not_tested_and_say_what_it_takes() -> None:
    verdict = judged(GOOD[:3], PLAIN[:3])
    assert verdict.word == "not tested"
    assert "needs 5 scored runs an arm" in verdict.reason
    assert "6 runs of 1000 env steps, about 6 minutes" in verdict.reason


def test_a_failed_run_counts_as_the_worst_score_of_all_arms() -> None:
    both = arms(GOOD, PLAIN)
    both["winner"][0] = run("winner", 0, None, state="failed")
    verdict = judge(both)
    arm = verdict.arms[0]
    assert (arm.failures, arm.min, arm.run_scores[0]) == (1, 290.0, None)
    assert any("failed and counted" in warning for warning in verdict.warnings)


def test_a_failed_run_with_a_score_still_counts_as_failed() -> None:
    both = arms(GOOD, PLAIN)
    both["winner"][0] = run("winner", 0, 999.0, state="failed")
    assert judge(both).arms[0].min == 290.0


def test_failures_of_the_baseline_do_not_buy_an_improvement_over_nothing() -> None:
    verdict = judged(GOOD, [None] * 5)
    assert verdict.word == "not tested"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"budget_env_steps": 2000}, "unequal budgets"),
        ({"is_comparable": False}, "changed environment"),
        ({"environment_sha256": "other"}, "different versions"),
        ({"seeds_sha256": "other"}, "different episode seeds"),
        ({"run_purpose": "search"}, "took part in the search"),
        ({"training_seed": 7}, "share a training seed"),
        ({"state": "stopped"}, "before its budget"),
        ({"state": "running"}, "under way"),
        ({"score": None}, "not evaluated"),
    ],
)
def test_evidence_that_does_not_compare_gives_no_verdict(changes: dict[str, Any], word: str) -> None:
    both = arms(GOOD, PLAIN)
    both["winner"] = [each.model_copy(update=changes) for each in both["winner"]]
    verdict = judge(both)
    assert verdict.word == "not tested"
    assert any(word in warning for warning in verdict.warnings)


def test_the_order_of_runs_and_of_baselines_changes_nothing() -> None:
    expected = judged(GOOD, PLAIN, [*PLAIN[:4], 420.0])
    generator = np.random.default_rng(0)
    for _ in range(5):
        shuffled = {
            name: [runs[i] for i in generator.permutation(len(runs))]
            for name, runs in arms(GOOD, PLAIN, [*PLAIN[:4], 420.0]).items()
        }
        names = ["winner", *generator.permutation(["library default", "tuned preset"])]
        found = judge({str(name): shuffled[str(name)] for name in names})
        assert found.word == expected.word
        assert {each.baseline: each for each in found.comparisons} == {
            each.baseline: each for each in expected.comparisons
        }
        assert found.arms[0].interval_low == expected.arms[0].interval_low


def test_the_interquartile_mean_is_the_mean_of_the_middle_half() -> None:
    assert float(interquartile_mean(np.array([0.0, 1, 2, 3, 100, -50, 1.5, 2.5]))) == pytest.approx(
        (1 + 1.5 + 2 + 2.5) / 4
    )
    assert float(interquartile_mean(np.array([1.0, 2, 3, 4, 1000]))) == 3.0


def test_equal_scores_have_an_interval_of_one_point() -> None:
    assert interval_of_iqm([5.0] * 5) == (5.0, 5.0)
    assert interval_of_difference([5.0] * 5, [3.0] * 5) == (2.0, 2.0)


def test_ties_count_half_in_the_probability_of_improvement() -> None:
    assert probability_of_improvement([1.0, 2.0], [1.0, 2.0]) == 0.5
    assert probability_of_improvement([1.0, 1.0], [1.0, 0.0]) == 0.75


def false_improvements(seeds: int, repeats: int, resamples: int) -> float:
    generator = np.random.default_rng(1)
    wrong = 0
    for _ in range(repeats):
        first, other = generator.normal(size=(2, seeds))
        wrong += interval_of_difference(list(first), list(other), resamples=resamples)[0] > 0
    return wrong / repeats


@pytest.mark.parametrize("seeds", [5, 10])
def test_equal_arms_are_rarely_called_improved(seeds: int) -> None:
    assert false_improvements(seeds, repeats=200, resamples=300) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [5, 10])
def test_equal_arms_are_called_improved_in_less_than_five_of_a_hundred(seeds: int) -> None:
    assert false_improvements(seeds, repeats=3000, resamples=1000) <= 0.05


def test_a_gain_of_two_standard_deviations_is_mostly_found_with_five_seeds() -> None:
    generator = np.random.default_rng(2)
    found = [
        interval_of_difference(list(generator.normal(size=5) + 2), list(generator.normal(size=5)), resamples=500)[0] > 0
        for _ in range(60)
    ]
    assert np.mean(found) > 0.65


def test_shrinking_draws_a_lucky_single_run_towards_the_others() -> None:
    scores = {"a": [100.0, 110.0, 90.0], "b": [80.0, 95.0, 92.0], "lucky": [115.0]}
    found = shrink(scores)
    assert found.noise == pytest.approx(pooled_noise(scores))
    pulls = {name: abs(found.shrunken[name] - found.means[name]) for name in scores}
    assert pulls["lucky"] == max(pulls.values())
    assert found.shrunken["lucky"] < 115


def test_candidates_that_differ_by_noise_only_share_one_shrunken_mean() -> None:
    found = shrink({"a": [0.0, 100.0], "b": [10.0, 95.0], "c": [5.0, 90.0]})
    assert len({round(value, 9) for value in found.shrunken.values()}) == 1
    assert found.order[0] == "b"


def test_without_replicates_nothing_is_shrunken() -> None:
    found = shrink({"a": [1.0], "b": [2.0]})
    assert found.noise is None
    assert found.order == ("b", "a")


def test_the_order_of_runs_and_candidates_changes_no_ranking() -> None:
    scores = {"a": [1.0, 3.0, 2.5], "b": [2.0, 2.2], "c": [5.0, 4.0]}
    results = {(shrink({name: list(reversed(scores[name])) for name in order}).order) for order in permutations(scores)}
    assert len(results) == 1


def test_the_ranking_reads_search_runs_of_a_project_and_counts_failures_as_the_worst(maker: ProjectMaker) -> None:
    for candidate, scores in {"c1": (300.0, 310.0), "c2": (400.0, None), "c3": (360.0, 350.0)}.items():
        for score in scores:
            maker.run(candidate, score=score, state="failed" if score is None else "finished", curves={})
    maker.run("c1", score=999.0, purpose="verdict", curves={})
    found = rank(maker.folder, (), "selection")
    assert found.ranking[0].candidate_id == "c3"
    second = next(each for each in found.ranking if each.candidate_id == "c2")
    assert second.scores == (400.0, None)
    assert second.mean == 350.0
    assert "r4" in found.message


def test_a_search_without_scores_says_what_to_call(maker: ProjectMaker) -> None:
    maker.run("c1", curves={})
    with pytest.raises(CorrectableError, match="evaluate_run"):
        rank(maker.folder, (), "selection")


def test_the_newest_checkpoint_counts_and_never_the_best(maker: ProjectMaker) -> None:
    run_folder = maker.run("c1", score=300.0, curves={})
    best = (run_folder.evaluations / "e1.json").read_text()
    early = best.replace('"checkpoint_env_steps": 40000', '"checkpoint_env_steps": 20000').replace("300.0", "900.0")
    Path(run_folder.evaluations / "e0.json").write_text(early)
    assert rank(maker.folder, (), "selection").ranking[0].scores == (300.0,)
