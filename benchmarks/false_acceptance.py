"""How often the product says "improved" where nothing is: simulated searches with verdicts, every candidate equal.

python benchmarks/false_acceptance.py [--searches 2000] [--shapes normal skewed bimodal]

Every run's score is drawn from one distribution, whatever the candidate: only the seed differs. The decisions are the
product's own functions: the rung (`racing.trails`), the ranking (`ranking.shrink`), the champion (`search.takes_over`), who
is put to the test (`judge.find_challenger`) and the verdict (`verdict.judge`, five fresh seeds an arm). A finished shape
that stands in results/false_acceptance.csv with as many searches is not repeated.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# SciPy ships no types.

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from scipy import stats

from agent2_generator.budget import VERDICT_SEEDS
from agent2_generator.designer import Archive, Candidate
from agent2_generator.judge import find_challenger
from agent2_generator.racing import trails
from agent2_generator.recipe import Recipe
from agent2_generator.search import takes_over
from agent2_metrics.comparing.ranking import shrink
from agent2_metrics.comparing.scored_run import RunScore
from agent2_metrics.comparing.verdict import judge
from agent2_schemas import Attempt, VerdictWord

RESULTS = Path(__file__).parent / "results" / "false_acceptance.csv"
COLUMNS = (
    "date", "shape", "candidates", "search_seeds", "verdict_seeds", "searches", "tested", "improved", "rate", "low", "high",
    "wall_seconds",
)  # fmt: skip
CANDIDATES, SEARCH_SEEDS, PARALLEL = 10, 2, 2
"""Sizes of a ten-minute project on two cores: candidates tried, search seeds of each, candidates a round."""
EPISODES, EPISODE_DEVIATION = 20, 1.0
"""Of an evaluation, in units of the standard deviation over training seeds."""

Draw = Callable[[np.random.Generator], float]
SHAPES: dict[str, Draw] = {
    "normal": lambda random: float(random.normal()),
    "skewed": lambda random: float(-random.lognormal(0.0, 0.8)),
    "bimodal": lambda random: float(random.normal(0.0, 0.3) - 5.0 * (random.random() < 0.3)),
}
"""Scores over training seeds: symmetric; a long tail of bad seeds; three seeds in ten that fail to learn."""


def search_and_judge(draw: Draw, random: np.random.Generator) -> VerdictWord:
    """Simulate one search with its verdict.

    Args:
        draw: the score of a training, the same for every design.
        random: source of all scores.

    Returns:
        The word of the verdict; `not tested` where a baseline leads and nothing came near it.
    """
    preset, default = _candidate("c1"), _candidate("c2")
    archive = Archive({"c1": preset, "c2": default}, champion=preset)
    _train(preset, draw, random)
    _rank(archive)
    number = 2
    while number < CANDIDATES:
        round_ = [_candidate(f"c{number + offset + 1}") for offset in range(PARALLEL)]
        number += PARALLEL
        for candidate in round_:
            archive.candidates[candidate.id] = candidate
            if not trails(draw(random), draw(random), archive.noise, EPISODE_DEVIATION):
                _train(candidate, draw, random)
        _rank(archive)
        for candidate in round_:
            if archive.champion is not None and takes_over(candidate, archive.champion):
                archive.champion = candidate
    baselines = {"tuned preset": preset, "library default": default}
    tested = archive.champion if archive.champion not in baselines.values() else find_challenger(archive, baselines)
    if tested is None:
        return "not tested"
    return judge({name: _fresh(name, draw, random) for name in (tested.id, *baselines)}).word


def _candidate(name: str) -> Candidate:
    recipe = Recipe(key=name, title=name, change=name, reason=name, algorithm="SAC")
    return Candidate(name, recipe, Attempt(candidate_id=name, parent_id=None, change=name, reason=name))


def _train(candidate: Candidate, draw: Draw, random: np.random.Generator) -> None:
    scores = tuple(draw(random) for _ in range(SEARCH_SEEDS))
    candidate.run_ids = [f"{candidate.id}-{index}" for index in range(SEARCH_SEEDS)]
    candidate.attempt = candidate.attempt.model_copy(update={"scores": scores})


def _rank(archive: Archive) -> None:
    trained = {name: c.attempt.scores for name, c in archive.candidates.items() if c.run_ids}
    found = shrink({name: [score for score in scores if score is not None] for name, scores in trained.items()})
    archive.noise = found.noise
    for name in trained:
        archive.candidates[name].score = found.shrunken[name]


def _fresh(name: str, draw: Draw, random: np.random.Generator) -> list[RunScore]:
    """Runs of one arm as the verdict sees them."""
    design = name.replace(" ", "-")
    return [
        RunScore(
            run_id=f"{design}-v{seed}", candidate_id=design, design_sha256=design, state="finished", run_purpose="verdict",
            training_seed=seed, budget_env_steps=1, score=draw(random), checkpoint_env_steps=1, episodes=EPISODES,
            mode="deterministic", evaluations=1,
        )
        for seed in range(VERDICT_SEEDS)
    ]  # fmt: skip


def rate_of_improved(shape: str, searches: int, *, seed: int = 0) -> tuple[int, int, float, float]:
    """Simulate many searches.

    Args:
        shape: one of SHAPES.
        searches: how many.
        seed: of the random numbers.

    Returns:
        How many were tested, how many `improved`, and the 95 % bounds (Clopper and Pearson) of the rate of `improved`.
    """
    random = np.random.default_rng([seed, list(SHAPES).index(shape)])
    words = [search_and_judge(SHAPES[shape], random) for _ in range(searches)]
    improved = words.count("improved")
    bounds = stats.binomtest(improved, searches).proportion_ci(confidence_level=0.95, method="exact")
    return searches - words.count("not tested"), improved, float(bounds.low), float(bounds.high)


def main() -> None:
    """Run what is missing, append its row, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=2000)
    parser.add_argument("--shapes", nargs="*", choices=list(SHAPES), default=list(SHAPES))
    arguments = parser.parse_args()
    for shape in arguments.shapes:
        if any(row["shape"] == shape and int(row["searches"]) >= arguments.searches for row in _rows()):
            continue
        begun = time.monotonic()
        tested, improved, low, high = rate_of_improved(shape, arguments.searches)
        _append(
            datetime.now(UTC).date().isoformat(), shape, CANDIDATES, SEARCH_SEEDS, VERDICT_SEEDS, arguments.searches, tested,
            improved, round(improved / arguments.searches, 5), round(low, 5), round(high, 5),
            round(time.monotonic() - begun, 1),
        )  # fmt: skip
    for row in _rows():
        print(
            f"{row['shape']}: improved in {row['improved']} of {row['searches']} searches ({row['tested']} tested), "
            f"{float(row['rate']):.2%} (95 % bounds {float(row['low']):.2%} to {float(row['high']):.2%})"
        )


def _rows() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _append(*row: object) -> None:
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(COLUMNS)
        writer.writerow(row)


if __name__ == "__main__":
    main()
