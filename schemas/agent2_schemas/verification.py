"""What the verification of a candidate's `mdp.py` found."""

from pydantic import Field

from agent2_schemas.design import MdpPart
from agent2_schemas.environment import Space
from agent2_schemas.finding import Finding, Isolation
from agent2_schemas.model import Frozen, Identifier, Metric


class RewardComponent(Frozen):
    """Statistics of one weighted reward component over recorded transitions."""

    name: str = Field(description="Name of the component, as `reward` returns it.")
    weight: float = Field(description="Its weight from REWARD_WEIGHTS; 1 where none is given.")
    mean: Metric = Field(description="Mean weighted value per step.")
    std: Metric = Field(description="Standard deviation over steps.")
    min: Metric = Field(description="Smallest value.")
    max: Metric = Field(description="Largest value.")
    share: Metric = Field(description="Share of the sum of absolute weighted components.")
    correlation_with_original: Metric = Field(
        description="Spearman correlation with the original reward; null if constant."
    )


class VerificationReport(Frozen):
    """All findings on one candidate, and what was measured."""

    candidate_id: Identifier = Field(description="The candidate.")
    is_accepted: bool = Field(description="Whether no finding is an error, so that training may start.")
    levels_passed: tuple[str, ...] = Field(
        description="Levels that found no error: syntax, import, contract, behaviour."
    )
    parts: tuple[MdpPart, ...] = Field(description="Functions that mdp.py defines.")
    observation_space: Space | None = Field(description="Space the policy will see; null where it could not be told.")
    action_space: Space | None = Field(description="Space the policy will act in; null where it could not be told.")
    reward_components: tuple[RewardComponent, ...] = Field(default=(), description="Statistics per reward component.")
    shaped_correlation_with_original: Metric = Field(
        default=None, description="Spearman correlation of the shaped reward with the original reward over steps."
    )
    seconds_per_step: Metric = Field(
        default=None, description="Wall time of all functions for one environment step, seconds."
    )
    recorded_transitions: int = Field(ge=0, description="Recorded transitions that the functions were tried on.")
    findings: tuple[Finding, ...] = Field(default=(), description="All findings at once.")
    isolation: Isolation | None = Field(default=None, description="How the verification was shut in.")
