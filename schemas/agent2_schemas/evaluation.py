"""Returns by the trusted evaluator on given seeds."""

from typing import Literal

from pydantic import Field

from agent2_schemas.finding import Isolation
from agent2_schemas.model import Frozen, Identifier, Metric, ProjectName

Purpose = Literal["selection", "verdict", "card", "fresh"]
"""Which secret seed list: search and shipping; comparison; the agent's own score, once; none of the three."""


class Evaluation(Frozen):
    """One evaluation of one checkpoint; its numbers are scores."""

    evaluation_id: Identifier = Field(description="File name of the evaluation.")
    state: Literal["running", "finished", "failed"] = Field(description="Where it stands.")
    message: str = Field(default="", description="What went wrong, or which call comes next.")
    project: ProjectName = Field(description="The project.")
    run_id: Identifier = Field(description="The run whose checkpoint was evaluated.")
    candidate_id: Identifier = Field(description="The candidate.")
    checkpoint_env_steps: int = Field(ge=0, description="Steps of the checkpoint.")
    purpose: Purpose = Field(description="Which seed list was used.")
    mode: Literal["deterministic", "stochastic"] = Field(description="Greedy actions, or sampled ones.")
    episodes: int = Field(ge=0, description="Episodes, each run once to its end on its own seed.")
    seeds_sha256: str = Field(default="", description="Hash of the seed list, so that equal lists can be told.")
    original_returns: tuple[float, ...] = Field(default=(), description="Undiscounted original return of each episode.")
    lengths: tuple[int, ...] = Field(default=(), description="Environment steps of each episode.")
    mean_original_return: Metric = Field(default=None, description="Mean of the returns: the score.")
    interquartile_mean: Metric = Field(default=None, description="Mean of the middle half of the returns.")
    std_original_return: Metric = Field(default=None, description="Standard deviation over episodes.")
    interval_low: Metric = Field(
        default=None, description="Lower end of the 95 % bootstrap interval of the mean over episodes."
    )
    interval_high: Metric = Field(default=None, description="Upper end of that interval.")
    min_original_return: Metric = Field(default=None, description="Smallest return.")
    max_original_return: Metric = Field(default=None, description="Largest return.")
    clipped_action_fraction: Metric = Field(default=None, description="Share of steps whose action had to be clipped.")
    environment_sha256: str = Field(default="", description="Hash of the environment that was stepped.")
    is_comparable: bool = Field(default=True, description="Whether the environment is the project's own, unchanged.")
    seconds: Metric = Field(default=None, description="Wall time, seconds.")
    isolation: Isolation | None = Field(default=None, description="How the policy host was shut in.")
