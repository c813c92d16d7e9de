"""What a report is made of; whatever is missing is said in the report, never invented."""

from pydantic import Field

from agent2_schemas import (
    Attempt,
    Design,
    Diagnosis,
    EnvironmentReport,
    Evaluation,
    Finding,
    Frozen,
    Metric,
    Project,
    RunStatus,
    TargetManifest,
    Verdict,
)


class ReportCurve(Frozen):
    """One learning curve."""

    run_id: str = Field(description="The run.")
    candidate_id: str = Field(description="Its candidate.")
    purpose: str = Field(description="search or verdict.")
    x: tuple[float, ...] = Field(description="Environment steps.")
    values: tuple[Metric, ...] = Field(description="Original return in training, as the run reported it.")


class Spent(Frozen):
    """What the project used."""

    env_steps: int = Field(default=0, ge=0, description="Environment steps over all runs.")
    run_seconds: float = Field(default=0.0, ge=0, description="Wall time of all runs added up, seconds.")
    build_seconds: Metric = Field(default=None, description="Wall time of the build; null where no build recorded it.")
    tokens: int | None = Field(default=None, description="Language-model tokens; null where none were recorded.")
    usd: Metric = Field(default=None, description="Price of the language-model calls; null: unknown.")
    model_calls: int = Field(default=0, ge=0, description="Language-model calls.")


class ReportData(Frozen):
    """All facts of a report."""

    project: Project = Field(description="Task and environment.")
    created_at: str = Field(description="UTC time, ISO 8601.")
    environment: EnvironmentReport | None = Field(default=None, description="The inspection.")
    target: TargetManifest | None = Field(default=None, description="The delivered agent.")
    card: Evaluation | None = Field(default=None, description="Its own score.")
    verdict_word: str = Field(default="not tested", description="The verdict.")
    verdict_reason: str = Field(default="", description="Why.")
    verdict: Verdict | None = Field(default=None, description="The comparison behind it.")
    design: Design | None = Field(
        default=None, description="Design of the delivered agent, else of the best candidate."
    )
    mdp_code: str = Field(default="", description="Text of its mdp.py.")
    verification_findings: tuple[Finding, ...] = Field(default=(), description="What the verification found.")
    attempts: tuple[Attempt, ...] = Field(default=(), description="Every candidate's story, oldest first.")
    diagnosis: Diagnosis | None = Field(default=None, description="Newest diagnosis of the delivered run.")
    diagnosis_run: str = Field(default="", description="The run it is about.")
    runs: tuple[RunStatus, ...] = Field(default=(), description="All runs.")
    purposes: dict[str, str] = Field(default_factory=dict, description="Purpose of each run.")
    scores: dict[str, Metric] = Field(default_factory=dict, description="Score of each run, on its purpose's seeds.")
    curves: tuple[ReportCurve, ...] = Field(default=(), description="Learning curves of search and verdict runs.")
    not_enforced: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="By what was run: the tier and what it did not enforce."
    )
    spent: Spent = Field(default_factory=Spent, description="What it cost.")
