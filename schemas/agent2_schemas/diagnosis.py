"""What the rules read out of curves, design and evaluations; each finding with a machine-applicable fix."""

from typing import Literal

from pydantic import Field, JsonValue

from agent2_schemas.finding import Severity
from agent2_schemas.model import Frozen, Metric


class DesignPatch(Frozen):
    """One change of a design that may cure a finding."""

    path: str = Field(description="Dotted path in design.yaml, e.g. `hyperparameters.learning_rate`.")
    operation: Literal["set", "multiply"] = Field(description="Set the value, or multiply the present one.")
    value: JsonValue = Field(description="The value, or the factor.")
    reason: str = Field(default="", description="Why, in a few words.")


class DiagnosisFinding(Frozen):
    """One symptom with its numbers, cause and fixes in the order to try."""

    rule: str = Field(description="Stable kebab-case name of the rule.")
    severity: Severity = Field(description="error: the run is not worth keeping as it is.")
    symptom: str = Field(description="What the numbers show, in one sentence.")
    cause: str = Field(description="Most likely cause.")
    numbers: dict[str, Metric] = Field(description="The measurements that fired the rule, by name.")
    window_start: Metric = Field(default=None, description="Start of the evidence window, environment steps.")
    window_end: Metric = Field(default=None, description="End of the evidence window, environment steps.")
    fixes: tuple[DesignPatch, ...] = Field(
        default=(), description="Changes in the order to try; a patch for one design at a time."
    )
    advice: str = Field(default="", description="What to do where no patch says it.")
    source: str = Field(description="Where the rule comes from.")


class Diagnosis(Frozen):
    """All findings on one run, in the order of answering, and what could not be checked."""

    source: str = Field(description="Run id, or absolute path of the log directory.")
    findings: tuple[DiagnosisFinding, ...] = Field(
        description="Environment and reward first, then optimisation, then evaluation."
    )
    healthy: tuple[str, ...] = Field(description="Rules that were checked and did not fire.")
    not_checked: dict[str, str] = Field(
        description="Rules whose metric is absent, and what is missing; never `healthy`."
    )
