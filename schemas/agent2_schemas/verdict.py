"""Whether the design beats both baselines, on fresh training seeds and held-out episodes."""

from typing import Literal

from pydantic import Field

from agent2_schemas.model import Frozen, Identifier, Metric

VerdictWord = Literal["improved", "not shown", "worse", "not tested"]


class Arm(Frozen):
    """One design, trained on several fresh seeds at the same env-step budget."""

    name: str = Field(description="What the arm is, e.g. `winner`, `library default`, `tuned preset`.")
    candidate_id: Identifier | None = Field(description="The candidate, where all runs share one.")
    run_ids: tuple[Identifier, ...] = Field(description="The runs, failed ones included.")
    run_scores: tuple[Metric, ...] = Field(description="Mean original return of each run; null for a failed one.")
    failures: int = Field(ge=0, description="Runs that gave no score; each counts as the worst score of all arms.")
    interquartile_mean: Metric = Field(description="Mean of the middle half of the run scores (needs 4 runs).")
    mean: Metric = Field(description="Mean of the run scores.")
    min: Metric = Field(description="Smallest run score.")
    interval_low: Metric = Field(description="Lower end of the 95 % bootstrap interval of the interquartile mean.")
    interval_high: Metric = Field(description="Upper end of that interval.")
    episodes_per_run: int = Field(ge=0, description="Held-out episodes of each run.")
    budget_env_steps: int | None = Field(
        default=None, description="Environment steps of each run; null if they differ."
    )


class Comparison(Frozen):
    """The first arm against one other."""

    baseline: str = Field(description="Name of the other arm.")
    difference: Metric = Field(description="Difference of the interquartile means, first arm minus the other.")
    interval_low: Metric = Field(description="Lower end of its 95 % stratified bootstrap interval.")
    interval_high: Metric = Field(description="Upper end of that interval.")
    probability_of_improvement: Metric = Field(description="P(first > other) + P(equal) / 2 over pairs of runs.")
    word: VerdictWord = Field(description="What this comparison alone says.")


class Verdict(Frozen):
    """The answer, the evidence, and what it would take to know more."""

    word: VerdictWord = Field(description="improved only over every baseline; else what the weakest comparison says.")
    reason: str = Field(description="Why, in one or two sentences with the numbers.")
    arms: tuple[Arm, ...] = Field(description="The first is the design in question.")
    comparisons: tuple[Comparison, ...] = Field(description="One per baseline.")
    confidence: float = Field(default=0.95, description="Level of the intervals.")
    resamples: int = Field(ge=0, description="Bootstrap resamples.")
    search_score: Metric = Field(
        default=None, description="What the search believed: the winner's mean on selection seeds."
    )
    retest_score: Metric = Field(default=None, description="What the re-test on fresh seeds gave.")
    warnings: tuple[str, ...] = Field(
        default=(), description="What limits the comparison: few seeds, failures, other budgets."
    )
