"""A CartPole project as the other servers would leave it, with a verified candidate; and checkpoints to score."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from agent2_schemas import (
    EnvironmentReference,
    EnvironmentReport,
    EpisodeStatistics,
    MdpDesign,
    Project,
    RunSpecification,
    VerificationReport,
)
from agent2_targets.runtime.environment import build_environment
from agent2_training import designs
from agent2_workspace import (
    CandidateFolder,
    ProjectFolder,
    RunFolder,
    Workspace,
    find_workspace,
    write_json,
    write_whole,
    write_yaml,
)

RANDOM = EpisodeStatistics(
    policy="random",
    episodes=20,
    env_steps=440,
    mean_original_return=22.0,
    std_original_return=11.0,
    min_original_return=9.0,
    max_original_return=60.0,
    mean_length=22.0,
    terminated_fraction=1.0,
    truncated_fraction=0.0,
    mean_original_reward=1.0,
    std_original_reward=0.0,
    min_original_reward=1.0,
    max_original_reward=1.0,
    nonzero_reward_fraction=1.0,
)


def make_project(name: str, reference: EnvironmentReference, *, source: str = "", seed: int = 0) -> ProjectFolder:
    """Open a project as `inspect_environment` does, without its measurements."""
    workspace = find_workspace(for_server=True)
    project = workspace.open_project(
        Project(
            name=name,
            task="balance the pole",
            environment=reference,
            seed=seed,
            created_at=datetime.now(UTC).isoformat(),
            agent2_version="0",
        )
    )
    if source:
        write_whole(project.snapshot / reference.name.partition(":")[0], source)
    adapted = build_environment(reference.model_dump(mode="json"), root=str(project.snapshot) if source else None)
    report = {
        "reference": reference.model_dump(),
        "project": name,
        "observation_space": adapted.observation_space,
        "action_space": adapted.action_space,
        "max_episode_steps": adapted.max_episode_steps,
        "is_deterministic": True,
        "step_seconds": 1e-5,
        "reset_seconds": 1e-5,
        "start_seconds": 0.1,
        "episodes": [RANDOM.model_dump()],
    }
    write_json(project.report_json, EnvironmentReport.model_validate(report))
    adapted.env.close()
    return project


def make_candidate(project: ProjectFolder, *, code: str = '"""The environment as it is."""\n') -> CandidateFolder:
    """Write a candidate as `write_mdp` does, accepted."""
    report = designs.read_report(project)
    observation, action = report.observation_space, report.action_space
    size = int(np.prod(getattr(observation, "shape", (1,))))
    candidate = project.new_candidate()
    parts = tuple(part for part in ("observe", "act", "reward", "potential") if f"def {part}(" in code)
    policy_action: dict[str, Any] = (
        {"kind": "discrete", "n": action.n}
        if action.kind == "discrete"
        else {"kind": "box", "shape": action.shape, "dtype": "float32", "low": -1.0, "high": 1.0}  # pyright: ignore[reportAttributeAccessIssue]
    )
    mdp = MdpDesign.model_validate(
        {
            "parts": parts,
            "is_declared_only": not parts,
            "environment_observation_space": observation.model_dump(),
            "environment_action_space": action.model_dump(),
            "observation_space": {"kind": "box", "shape": (size,), "dtype": "float32", "low": None, "high": None},
            "action_space": policy_action,
        }
    )
    write_whole(candidate.mdp_file, code)
    write_yaml(candidate.mdp_design_file, mdp)
    verify(candidate, is_accepted=True)
    return candidate


def verify(candidate: CandidateFolder, *, is_accepted: bool) -> None:
    """Write the verification report of a candidate."""
    report = VerificationReport(
        candidate_id=candidate.id,
        is_accepted=is_accepted,
        levels_passed=("syntax",),
        parts=(),
        observation_space=None,
        action_space=None,
        recorded_transitions=1000,
    )
    write_json(candidate.verification_file, report)


def make_run(
    project: ProjectFolder, candidate: CandidateFolder, *, lease: str = "keep", design_sha256: str = "0"
) -> RunFolder:
    """Make a run folder as `start_training` leaves it, without a process."""
    run = project.new_run()
    for source in (candidate.design_file, candidate.mdp_file, candidate.policy_file):
        write_whole(run.candidate_copy / source.name, source.read_bytes())
    run.work.mkdir()
    specification = RunSpecification(
        run_id=run.id,
        project=project.name,
        candidate_id=candidate.id,
        design_sha256=design_sha256,
        training_seed=1,
        seed_index=0,
        budget_env_steps=1000,
        lease=lease,  # pyright: ignore[reportArgumentType]
        created_at=datetime.now(UTC).isoformat(),
    )
    write_json(run.specification_file, specification)
    return run


def checkpoint_bytes(tensors: dict[str, Any], env_steps: int, **metadata: str) -> bytes:
    """Make the bytes of a checkpoint out of arrays by name."""
    strings = {"format": "agent2-checkpoint-1", "env_steps": str(env_steps), "normaliser": "null", **metadata}
    return save({name: np.ascontiguousarray(value) for name, value in tensors.items()}, metadata=strings)


def leave_checkpoint(run: RunFolder, content: bytes, env_steps: int) -> Path:
    """Put a checkpoint where a worker puts it."""
    path = run.work / "checkpoints" / f"{env_steps}.safetensors"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def actor_tensors(candidate: CandidateFolder, seed: int = 0) -> dict[str, Any]:
    """Give the tensors of a freshly initialised actor of a candidate."""
    import torch  # noqa: PLC0415 (only tests that need weights pay for it)

    torch.manual_seed(seed)
    scope: dict[str, Any] = {"__name__": "policy"}
    exec(compile(candidate.policy_file.read_text(), str(candidate.policy_file), "exec"), scope)
    return {f"actor.{name}": tensor.numpy() for name, tensor in scope["Actor"]().state_dict().items()}


def write_design(project: ProjectFolder, candidate: CandidateFolder, **request: Any) -> None:
    """Complete the design of a candidate, as `write_training` does."""
    answer = designs.write_training(project, candidate, **{"algorithm": "PPO", "budget_env_steps": 10_000, **request})
    assert answer.design is not None, answer.message


class Lab:
    """The functions of this file, for tests: files of a folder without `__init__.py` cannot import one another."""

    project = staticmethod(make_project)
    candidate = staticmethod(make_candidate)
    verify = staticmethod(verify)
    run = staticmethod(make_run)
    checkpoint_bytes = staticmethod(checkpoint_bytes)
    leave_checkpoint = staticmethod(leave_checkpoint)
    actor_tensors = staticmethod(actor_tensors)
    write_design = staticmethod(write_design)


@pytest.fixture
def lab() -> Lab:
    """Functions that make projects, candidates, runs and checkpoints."""
    return Lab()


@pytest.fixture
def workspace(workspace_folder: Path) -> Workspace:
    """The workspace of this test."""
    return find_workspace(for_server=True)


@pytest.fixture
def cartpole(workspace: Workspace) -> ProjectFolder:
    """An inspected CartPole project."""
    return make_project("pole", EnvironmentReference(name="CartPole-v1"))


@pytest.fixture
def candidate(cartpole: ProjectFolder) -> CandidateFolder:
    """A verified candidate with a PPO design."""
    made = make_candidate(cartpole)
    write_design(cartpole, made)
    return made


@pytest.fixture
def run(cartpole: ProjectFolder, candidate: CandidateFolder) -> RunFolder:
    """A run with one checkpoint of an untrained actor, left by its worker at 100 env steps."""
    made = make_run(cartpole, candidate)
    leave_checkpoint(made, checkpoint_bytes(actor_tensors(candidate), 100), 100)
    return made
