"""Gather what a Target Agent is made of and pack it; loaded at the first export, because it needs NumPy."""

from typing import Any

import numpy as np

from agent2_schemas import Design, EnvironmentReport, Evaluation, Verdict
from agent2_targets import TargetContent, pack_target
from agent2_training.checkpoints import MalformedCheckpoint, checkpoint_file, read_safetensors
from agent2_training.checkpoints.safetensors_file import Tensor
from agent2_training.evaluation.policy_folder import read_normaliser
from agent2_workspace import ProjectFolder, RunFolder, read_json, read_yaml

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8",
    "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip


def pack(
    project: ProjectFolder, run: RunFolder, env_steps: int, card: Evaluation, stochastic: Evaluation | None
) -> None:
    """Write the Target Agent of a project whole; an older one is replaced.

    Args:
        project: the project, whose `target/` it becomes.
        run: the run that is delivered, by its frozen copy of the candidate.
        env_steps: its checkpoint.
        card: the agent's own score.
        stochastic: the same seeds with sampled actions, where that could be measured.

    Raises:
        MalformedCheckpoint: the checkpoint does not hold what it should.
        OSError: the disk is full; an older agent is untouched.
    """
    description = project.read()
    specification = run.read_specification()
    design = read_yaml(run.candidate_copy / "design.yaml", Design)
    file = read_safetensors(checkpoint_file(run, env_steps).read_bytes())
    report = read_json(project.report_json, EnvironmentReport) if project.report_json.exists() else None
    update = {"training_seed": specification.training_seed, "budget_env_steps": specification.budget_env_steps}
    pack_target(
        project.target,
        TargetContent(
            name=project.name,
            task=description.task,
            environment=description.environment,
            snapshot=project.snapshot if project.snapshot.is_dir() else None,
            environment_sha256=card.environment_sha256,
            design=design.model_copy(update=update),
            mdp_code=(run.candidate_copy / "mdp.py").read_text(encoding="utf-8"),
            policy_code=(run.candidate_copy / "policy.py").read_text(encoding="utf-8"),
            weights={name: to_array(tensor) for name, tensor in file.select("actor.").tensors.items()},
            normaliser=read_normaliser(file.metadata.get("normaliser", "")),
            run_id=run.id,
            checkpoint_env_steps=env_steps,
            card=card,
            card_stochastic=stochastic,
            packages=report.packages if report else {},
            adaptations=report.adaptations if report else (),
            notes=_notes(project, card),
        ),
    )


def to_array(tensor: Tensor) -> Any:
    """Turn a tensor of a checkpoint into an array.

    Raises:
        MalformedCheckpoint: NumPy has no such type.
    """
    if tensor.dtype not in DTYPES:
        raise MalformedCheckpoint(f"it holds weights of type {tensor.dtype}")
    return np.frombuffer(tensor.data, dtype=DTYPES[tensor.dtype]).reshape(tensor.shape)


def _notes(project: ProjectFolder, card: Evaluation) -> list[str]:
    events = project.journal.events(kind="verdict")
    notes = [card.message] if card.message else []
    if events:
        verdict = Verdict.model_validate(events[-1].payload.get("verdict", events[-1].payload))
        return [*notes, f"Verdict on the design: {verdict.word}. {verdict.reason}"]
    return [*notes, "Verdict on the design: not tested."]
