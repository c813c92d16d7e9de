"""One step of refinement: parent, change, reason, results, decision."""

from typing import Literal

from pydantic import Field

from agent2_schemas.diagnosis import DesignPatch
from agent2_schemas.model import Frozen, Identifier, Metric


class Attempt(Frozen):
    """What was tried and what came of it."""

    candidate_id: Identifier = Field(description="The candidate of this attempt.")
    parent_id: Identifier | None = Field(description="The candidate it was derived from; null for a first design.")
    change: str = Field(description="What was changed, in one sentence.")
    reason: str = Field(description="Why: the finding, the prior or the model's own words.")
    patches: tuple[DesignPatch, ...] = Field(default=(), description="The change as data, where it is one.")
    run_ids: tuple[Identifier, ...] = Field(default=(), description="Runs of the candidate in the search.")
    scores: tuple[Metric, ...] = Field(default=(), description="Mean original return of each run on selection seeds.")
    shrunken_mean: Metric = Field(
        default=None, description="Mean of the scores, shrunken towards the mean of all candidates."
    )
    decision: Literal["open", "kept", "dropped", "rejected", "winner"] = Field(
        default="open", description="rejected: failed verification or every run failed."
    )
