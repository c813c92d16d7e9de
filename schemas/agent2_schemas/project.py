"""A project: task, environment, budget and seeds, and the one result object of a build."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent2_schemas.environment import EnvironmentReference
from agent2_schemas.model import Frozen, Metric, ProjectName


class Budget(Frozen):
    """The total budget of a build: wall time or environment steps, exactly one."""

    seconds: float | None = Field(default=None, gt=0, description="Wall time, seconds.")
    env_steps: int | None = Field(default=None, ge=1, description="Environment steps over all runs.")


class Project(Frozen):
    """`project.yaml`: written whole when the project opens; later changes are appended to the journal."""

    name: ProjectName = Field(description="Folder name.")
    task: str = Field(default="", description="What the user wants, in words.")
    context: str = Field(default="", description="Constraints and prior knowledge, in words.")
    environment: EnvironmentReference = Field(description="The environment, unmodified.")
    snapshot: str = Field(
        default="", description="Folder of the copied source inside the project; empty for installed packages."
    )
    environment_sha256: str = Field(default="", description="Hash of the environment at the opening.")
    seed: int = Field(default=0, ge=0, description="Root of all seed lists of the project.")
    created_at: str = Field(description="UTC time of creation, ISO 8601.")
    agent2_version: str = Field(description="Version that opened it.")


class BuildResult(Frozen):
    """What `agent2 build --json` prints once, at the end."""

    project: ProjectName = Field(description="The project.")
    state: Literal["delivered", "stopped", "failed"] = Field(description="How the build ended.")
    message: str = Field(default="", description="What happened and what to type next.")
    target: str = Field(default="", description="Absolute path of the Target Agent.")
    report: str = Field(default="", description="Absolute path of report.html.")
    algorithm: str = Field(default="", description="Algorithm of the delivered agent.")
    score: Metric = Field(default=None, description="Mean original return of the delivered agent on its card seeds.")
    score_episodes: int = Field(default=0, description="Episodes behind the score.")
    score_interval_low: Metric = Field(
        default=None, description="Lower end of the 95 % bootstrap interval over episodes."
    )
    score_interval_high: Metric = Field(default=None, description="Upper end of that interval.")
    verdict: str = Field(default="not tested", description="improved, not shown, worse or not tested.")
    verdict_reason: str = Field(default="", description="Why, with the numbers.")
    target_return_reached: bool | None = Field(
        default=None, description="Whether the score meets --target-return; null if none."
    )
    env_steps: int = Field(default=0, description="Environment steps over all runs.")
    seconds: float = Field(default=0.0, description="Wall time, seconds.")
    candidates: int = Field(default=0, description="Candidates tried.")
    tokens: int = Field(default=0, description="Language-model tokens.")
    usd: Metric = Field(default=0.0, description="Price of the language-model calls, US dollars; null: unknown.")
