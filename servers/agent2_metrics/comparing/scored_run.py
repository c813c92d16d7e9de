"""One run as the comparison sees it."""

from pydantic import Field

from agent2_schemas import Frozen, Identifier, Metric, RunState


class RunScore(Frozen):
    """One run as the comparison sees it."""

    run_id: Identifier = Field(description="The run.")
    candidate_id: Identifier = Field(description="Its candidate.")
    design_sha256: str = Field(description="Hash of the trained design.")
    state: RunState = Field(description="Where the run stands.")
    run_purpose: str = Field(description="search, verdict or smoke.")
    training_seed: int = Field(description="Seed of the training.")
    budget_env_steps: int = Field(description="Env steps of the run.")
    seconds: Metric = Field(default=None, description="Wall time of the run.")
    score: Metric = Field(default=None, description="Mean original return; null: no score.")
    checkpoint_env_steps: int = Field(default=0, description="Steps of the evaluated checkpoint.")
    episodes: int = Field(default=0, description="Held-out episodes.")
    mode: str = Field(default="", description="deterministic or stochastic.")
    seeds_sha256: str = Field(default="", description="Hash of the episode seeds.")
    environment_sha256: str = Field(default="", description="Hash of the environment.")
    is_comparable: bool = Field(default=True, description="Whether the environment is the project's own.")
    evaluations: int = Field(default=0, description="Evaluations of this purpose and mode.")
    is_failed_evaluation: bool = Field(default=False, description="Whether the evaluation itself failed.")

    @property
    def is_failure(self) -> bool:
        """Whether the run is to count as the worst score: the training or its evaluation failed."""
        return self.state == "failed" or (self.score is None and self.is_failed_evaluation)

    @property
    def is_pending(self) -> bool:
        """Whether it may still give a score."""
        return not self.is_failure and (self.score is None or self.state != "finished")
