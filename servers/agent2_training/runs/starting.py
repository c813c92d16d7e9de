"""Start a run: check the candidate, freeze a copy of it, write what is asked for, once per idempotency key."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from agent2_schemas import (
    CodeRejected,
    CorrectableError,
    Design,
    Frozen,
    Identifier,
    Lease,
    ProjectName,
    RunSpecification,
)
from agent2_training.checkpoints import accept_checkpoints, accepted_checkpoints, checkpoint_file
from agent2_training.runs.ownership import own
from agent2_training.runs.status import is_ended, read_status
from agent2_workspace import CandidateFolder, ProjectFolder, RunFolder, sha256_of, short_lock, write_json, write_whole

RunPurpose = Literal["search", "verdict", "smoke"]
RESUME_FILE = "resume.safetensors"


class RunRequest(Frozen):
    """What `start_training` was asked for."""

    project: ProjectName = Field(description="The project.")
    candidate: Identifier = Field(description="The candidate to train.")
    budget_env_steps: int | None = Field(default=None, ge=1, description="Steps; null: as the design says.")
    seed_index: int = Field(default=0, ge=0, le=9999, description="Which training seed of the project.")
    purpose: RunPurpose = Field(default="search", description="What the run is for.")
    lease: Lease = Field(default="keep", description="What happens when the owner is lost.")
    resume_from: str = Field(default="", description="Run whose last accepted checkpoint it starts from.")
    idempotency_key: str = Field(default="", max_length=200, description="Equal keys give the same run.")


def prepare_run(project: ProjectFolder, request: RunRequest) -> RunFolder:
    """Make the folder of a run; it is queued from then on.

    Args:
        project: the project.
        request: what is asked for.

    Returns:
        The folder; that of the earlier run where the idempotency key is known.

    Raises:
        CodeRejected: the candidate was not verified, or verification found errors.
        CorrectableError: no design, an unusable `resume_from`, or another specification under the same key.
    """
    candidate = project.candidate(request.candidate)
    design = candidate.read_design()
    with short_lock(project.root / ".runs.lock"):
        known = _known_run(project, request, candidate, design)
        if known is not None:
            return known
        refuse_unverified(candidate)
        resume = resume_checkpoint(project, request, _budget(request, design)) if request.resume_from else None
        run = project.new_run()
        try:
            specification = _freeze(
                project, run, candidate, _specification(project, run, request, candidate, design), resume
            )
        except BaseException:
            shutil.rmtree(run.root, ignore_errors=True)
            raise
        # Journalled before run.json makes the run visible: a repeated call finds the key even after a crash between.
        key = f"run-{request.idempotency_key}" if request.idempotency_key else None
        project.journal.append("training", "run-started", run.id, specification, key=key)
        write_json(run.specification_file, specification)
    return run


def refuse_unverified(candidate: CandidateFolder) -> None:
    """Raise where a candidate may not be trained.

    Raises:
        CodeRejected: it was not verified, or verification found errors, which are named.
    """
    if not candidate.verification_file.exists():
        raise CodeRejected(f"Candidate {candidate.id!r} was not verified.", "Call write_mdp first.")
    report = candidate.read_verification()
    if not report.is_accepted:
        errors = [finding.message for finding in report.findings if finding.severity == "error"]
        raise CodeRejected(
            f"Candidate {candidate.id!r} failed verification: {'; '.join(errors[:5]) or 'see read_candidate'}.",
            f'Mend its mdp.py and call write_mdp(parent="{candidate.id}").',
        )


def resume_checkpoint(project: ProjectFolder, request: RunRequest, budget_env_steps: int) -> Path:
    """Find the checkpoint that a run goes on from.

    Raises:
        CorrectableError: that run is still running, has no checkpoint, or has used up the budget already.
    """
    source = project.run(request.resume_from)
    status = read_status(project, source)
    if not is_ended(status.state):
        raise CorrectableError(f"Run {source.id!r} is {status.state}.", 'Stop it first: stop_training(mode="pause").')
    accept_checkpoints(source)
    accepted = accepted_checkpoints(source)
    inherited = source.root / RESUME_FILE
    if not accepted and inherited.exists():
        return inherited
    if not accepted:
        raise CorrectableError(f"Run {source.id!r} has no accepted checkpoint.", "Start anew without resume_from.")
    if accepted[-1] >= budget_env_steps:
        raise CorrectableError(
            f"Run {source.id!r} has {accepted[-1]} env steps already, the budget is {budget_env_steps}.",
            f"Steps before a resume count: raise budget_env_steps above {accepted[-1]}.",
        )
    return checkpoint_file(source, accepted[-1])


def _known_run(
    project: ProjectFolder, request: RunRequest, candidate: CandidateFolder, design: Design
) -> RunFolder | None:
    event = project.journal.find(f"run-{request.idempotency_key}") if request.idempotency_key else None
    if event is None:
        return None
    specification = RunSpecification.model_validate(event.payload)
    run = RunFolder(project.root / "runs" / specification.run_id)
    asked = _specification(project, run, request, candidate, design)
    differing = _differences(specification, asked)
    if differing:
        raise CorrectableError(
            f"idempotency_key {request.idempotency_key!r} already started run {run.id!r} with other values: "
            f"{'; '.join(differing)}.",
            "Use another key for another run.",
        )
    if not run.specification_file.exists():
        write_json(run.specification_file, specification)
    return run


def _differences(first: RunSpecification, second: RunSpecification) -> list[str]:
    before, after = first.model_dump(mode="json"), second.model_dump(mode="json")
    names = [name for name in before if name not in ("run_id", "created_at") and before[name] != after[name]]
    return [f"{name} {before[name]!r}, now {after[name]!r}" for name in names]


def _budget(request: RunRequest, design: Design) -> int:
    return request.budget_env_steps or design.budget_env_steps


def _specification(
    project: ProjectFolder, run: RunFolder, request: RunRequest, candidate: CandidateFolder, design: Design
) -> RunSpecification:
    return RunSpecification(
        run_id=run.id,
        project=project.name,
        candidate_id=candidate.id,
        design_sha256=sha256_of(candidate.design_file.read_bytes(), candidate.mdp_file.read_bytes()),
        training_seed=project.seeds("training", request.seed_index + 1)[request.seed_index],
        seed_index=request.seed_index,
        budget_env_steps=_budget(request, design),
        lease=request.lease,
        resume_from=request.resume_from or None,
        purpose=request.purpose,
        created_at=datetime.now(UTC).isoformat(),
    )


def _freeze(
    project: ProjectFolder,
    run: RunFolder,
    candidate: CandidateFolder,
    specification: RunSpecification,
    resume: Path | None,
) -> RunSpecification:
    """Copy what the run depends on, so that later changes of the candidate cannot reach it."""
    for source in (candidate.design_file, candidate.mdp_file, candidate.policy_file):
        write_whole(run.candidate_copy / source.name, source.read_bytes())
    if resume is not None:
        write_whole(run.root / RESUME_FILE, resume.read_bytes())
    write_whole(run.root / "reference.json", json.dumps(environment_origin(project)))
    run.work.mkdir()
    own(run)
    return specification


def environment_origin(project: ProjectFolder) -> dict[str, Any]:
    """Tell a child process how to build the project's environment: reference, and where its files lie."""
    reference = project.read().environment.model_dump(mode="json")
    root = str(project.snapshot) if project.snapshot.is_dir() else None
    return {"reference": reference, "root": root}
