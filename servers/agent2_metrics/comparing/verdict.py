"""The verdict: whether the first arm beats every baseline, on complete, fresh and comparable evidence only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from agent2_metrics.comparing.blockers import find_blockers
from agent2_metrics.comparing.scored_run import RunScore
from agent2_metrics.comparing.statistics import (
    CONFIDENCE,
    RESAMPLES,
    interquartile_mean,
    interval_of_difference,
    interval_of_iqm,
    probability_of_improvement,
)  # fmt: skip
from agent2_schemas import Arm, Comparison, Verdict, VerdictWord

RUNS_FOR_VERDICT = 5
RUNS_FOR_IQM = 4
BASELINES = 2
_WEAKEST_FIRST: tuple[VerdictWord, ...] = ("worse", "not tested", "not shown", "improved")


@dataclass(frozen=True)
class _Scored:
    """An arm with every failure filled in."""

    arm: Arm
    scores: tuple[float, ...]


def judge(
    arms: Mapping[str, Sequence[RunScore]],
    *,
    search_score: float | None = None,
    blockers: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> Verdict:
    """Give the verdict.

    Args:
        arms: by name; the first is the design in question, the others are baselines.
        search_score: what the search believed of the first arm.
        blockers: reasons known to the caller for which no verdict may be given.
        warnings: what else limits the comparison.

    Returns:
        `improved` only where the interval of the difference lies above zero for two baselines or more.
    """
    found, noted = find_blockers(arms)
    reasons = [*blockers, *found]
    scored = _fill_failures(arms)
    names = list(arms)
    comparisons = tuple(_compare(scored[names[0]], scored[name], name, reasons) for name in names[1:])
    words: list[VerdictWord] = [each.word for each in comparisons]
    if words and all(word == "improved" for word in words) and len(words) < BASELINES:
        reasons.append("only one baseline was compared; improved needs the library default and the tuned preset")
        words.append("not tested")
    weakest: list[VerdictWord] = [each for each in _WEAKEST_FIRST if each in words]
    word: VerdictWord = weakest[0] if weakest else "not tested"
    return Verdict(
        word=word,
        reason=_reason(word, comparisons, reasons, arms),
        arms=tuple(each.arm for each in scored.values()),
        comparisons=comparisons,
        confidence=CONFIDENCE,
        resamples=RESAMPLES if any(each.interval_low is not None for each in comparisons) else 0,
        search_score=search_score,
        retest_score=scored[names[0]].arm.mean,
        warnings=(*reasons, *warnings, *noted),
    )


def _fill_failures(arms: Mapping[str, Sequence[RunScore]]) -> dict[str, _Scored]:
    """Every failed run counts as the worst score of all arms."""
    known = [run.score for runs in arms.values() for run in runs if run.score is not None and not run.is_failure]
    worst = min(known, default=None)
    return {name: _scored(name, runs, worst) for name, runs in arms.items()}


def _scored(name: str, runs: Sequence[RunScore], worst: float | None) -> _Scored:
    own = [None if run.is_failure else run.score for run in runs]
    filled = [worst if run.is_failure else run.score for run in runs]
    scores = tuple(sorted(score for score in filled if score is not None))
    candidates, budgets = {run.candidate_id for run in runs}, {run.budget_env_steps for run in runs}
    has_iqm = len(scores) >= RUNS_FOR_IQM
    low, high = interval_of_iqm(scores) if has_iqm else (None, None)
    arm = Arm(
        name=name,
        candidate_id=candidates.pop() if len(candidates) == 1 else None,
        run_ids=tuple(run.run_id for run in runs),
        run_scores=tuple(own),
        failures=sum(run.is_failure for run in runs),
        interquartile_mean=float(interquartile_mean(np.array(scores))) if has_iqm else None,
        mean=float(np.mean(scores)) if scores else None,
        min=scores[0] if scores else None,
        interval_low=low,
        interval_high=high,
        episodes_per_run=min((run.episodes for run in runs if run.score is not None), default=0),
        budget_env_steps=budgets.pop() if len(budgets) == 1 else None,
    )
    return _Scored(arm, scores)


def _compare(first: _Scored, other: _Scored, name: str, blockers: Sequence[str]) -> Comparison:
    if min(len(first.scores), len(other.scores)) < RUNS_FOR_IQM:
        enough = first.scores and other.scores
        return Comparison(
            baseline=name, difference=None, interval_low=None, interval_high=None, word="not tested",
            probability_of_improvement=probability_of_improvement(first.scores, other.scores) if enough else None,
        )  # fmt: skip
    difference = float(interquartile_mean(np.array(first.scores)) - interquartile_mean(np.array(other.scores)))
    low, high = interval_of_difference(first.scores, other.scores)
    word: VerdictWord = "improved" if low > 0 else "worse" if high < 0 else "not shown"
    few = min(len(first.scores), len(other.scores)) < RUNS_FOR_VERDICT
    return Comparison(
        baseline=name, difference=difference, interval_low=low, interval_high=high,
        probability_of_improvement=probability_of_improvement(first.scores, other.scores),
        word="not tested" if few or blockers else word,
    )  # fmt: skip


def _reason(
    word: VerdictWord,
    comparisons: Sequence[Comparison],
    blockers: Sequence[str],
    arms: Mapping[str, Sequence[RunScore]],
) -> str:
    if word == "not tested":
        return "; ".join([*blockers, *_what_it_takes(arms)][:3]) + "."
    shown = [
        f"{each.difference:+.4g} against {each.baseline} (95 % interval {each.interval_low:.4g} to {each.interval_high:.4g})"
        for each in comparisons
        if each.difference is not None
    ]
    seeds = min(len(runs) for runs in arms.values())
    return f"Difference of interquartile means over {seeds} training seeds an arm: {', '.join(shown)}."


def _what_it_takes(arms: Mapping[str, Sequence[RunScore]]) -> list[str]:
    """Say how many runs, env steps and minutes a verdict still needs."""
    missing = {name: RUNS_FOR_VERDICT - sum(not run.is_pending for run in runs) for name, runs in arms.items()}
    missing = {name: count for name, count in missing.items() if count > 0}
    if not missing:
        return []
    every = [run for runs in arms.values() for run in runs]
    steps = max((run.budget_env_steps for run in every), default=0)
    seconds = [run.seconds for run in every if run.seconds is not None and run.state == "finished"]
    total = sum(missing.values())
    time = (
        f", about {max(1, ceil(total * float(np.median(seconds)) / 60))} minutes one after another" if seconds else ""
    )
    needs = ", ".join(f"{count} for {name}" for name, count in missing.items())
    return [f"needs {RUNS_FOR_VERDICT} scored runs an arm: {needs} ({total} runs of {steps} env steps{time})"]
