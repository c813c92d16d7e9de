"""A run: one training of one candidate with one training seed, and how it stands."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent2_schemas.finding import Isolation
from agent2_schemas.model import Frozen, Identifier, Metric, ProjectName

RunState = Literal["queued", "running", "paused", "finished", "failed", "stopped", "lost"]
Lease = Literal["keep", "stop"]
"""keep: goes on to its budget without its owner; stop: checkpoints and ends within 10 s of losing it."""

Outcome = Literal[
    "ok", "code_rejected", "diverged", "exited_early", "crashed", "stalled", "time_limit", "out_of_memory",
    "too_many_processes", "disk_limit", "cancelled", "server_gone", "supervisor_died",
]  # fmt: skip
"""How the process ended; ok is finished, cancelled and server_gone are stopped or paused, supervisor_died is lost."""


class RunSpecification(Frozen):
    """What a run was asked to do: `runs/<id>/run.json`, written once."""

    run_id: Identifier = Field(description="Folder name of the run.")
    project: ProjectName = Field(description="The project.")
    candidate_id: Identifier = Field(description="The candidate that is trained.")
    design_sha256: str = Field(description="Hash of design.yaml and mdp.py as they were at the start.")
    training_seed: int = Field(ge=0, description="Seed of networks, exploration and training environments.")
    seed_index: int = Field(ge=0, description="Which of the project's training seeds it is.")
    budget_env_steps: int = Field(ge=1, description="Environment steps to train, those before a resume included.")
    lease: Lease = Field(description="What happens when the owner is lost.")
    resume_from: Identifier | None = Field(default=None, description="Run whose last checkpoint it starts from.")
    purpose: Literal["search", "verdict", "smoke"] = Field(default="search", description="What the run is for.")
    created_at: str = Field(description="UTC time of creation, ISO 8601.")


class RunProgress(Frozen):
    """What the worker reports: `work/progress.json`. Reported, never a score."""

    env_steps: int = Field(ge=0, description="Environment steps taken.")
    updates: int = Field(ge=0, description="Gradient steps taken.")
    episodes: int = Field(ge=0, description="Finished training episodes.")
    reported_original_return: Metric = Field(description="Mean original return of the last 20 training episodes.")
    reported_shaped_return: Metric = Field(description="Mean return of the learning reward over the same episodes.")
    env_steps_per_second: Metric = Field(description="Steps per second of wall time over the whole run.")
    seconds: float = Field(ge=0, description="Wall time in training, seconds.")
    checkpoint_env_steps: int | None = Field(default=None, description="Steps of the newest checkpoint.")
    phase: Literal["starting", "smoke", "training", "done"] = Field(description="What the worker is doing.")


class RunStatus(Frozen):
    """How a run stands, read from its folder."""

    run_id: Identifier = Field(description="The run.")
    project: ProjectName = Field(description="The project.")
    candidate_id: Identifier = Field(description="The candidate that is trained.")
    state: RunState = Field(description="Where it stands.")
    outcome: Outcome | None = Field(default=None, description="How the process ended; null while it runs.")
    message: str = Field(default="", description="What happened, for a person: cause, line, limit.")
    is_environment_fault: bool = Field(
        default=False, description="Whether designs that differ crashed alike, so that the design is not to blame."
    )
    progress: RunProgress | None = Field(default=None, description="Newest report of the worker.")
    budget_env_steps: int = Field(ge=1, description="Environment steps to train.")
    training_seed: int = Field(ge=0, description="Seed of the run.")
    lease: Lease = Field(description="What happens when the owner is lost.")
    checkpoints_env_steps: tuple[int, ...] = Field(default=(), description="Steps of the accepted checkpoints.")
    seconds: Metric = Field(default=None, description="Wall time since the start, or until the end, seconds.")
    peak_memory_bytes: int | None = Field(default=None, description="Largest resident memory of the process tree.")
    log_tail: tuple[str, ...] = Field(default=(), description="Last lines of the worker's log.")
    folder: str = Field(description="Absolute path of the run folder.")
    isolation: Isolation | None = Field(default=None, description="How the worker is shut in.")
    next_step: str = Field(default="", description="Which tool to call next.")
