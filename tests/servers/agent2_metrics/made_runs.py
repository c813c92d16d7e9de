"""Event files and projects made at test time, and what a healthy run of ours looks like."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue] - generated, untyped
from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue] - generated, untyped
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from agent2_sandbox.runs import RunProcess
from agent2_schemas import (
    BoxSpace,
    Design,
    DiscreteSpace,
    EnvironmentReference,
    EnvironmentReport,
    EpisodeStatistics,
    Evaluation,
    Isolation,
    MdpDesign,
    NetworkDesign,
    ObservationEntry,
    PPOHyperparameters,
    Project,
    RunProgress,
    RunSpecification,
)
from agent2_workspace import ProjectFolder, RunFolder, Workspace, write_json, write_yaml

POINTS = 40
BUDGET = 40_000
Curves = Mapping[str, tuple[Any, Any]]


def write_log(folder: Path, curves: Curves) -> Path:
    """Write one event file with a scalar series for each tag."""
    writer = EventFileWriter(str(folder))
    for tag, (steps, values) in curves.items():
        for step, value in zip(steps, values, strict=True):
            scalar = Summary.Value(tag=tag, simple_value=float(value))
            writer.add_event(Event(step=int(step), wall_time=1.0, summary=Summary(value=[scalar])))
    writer.close()
    return folder


def steps() -> np.ndarray:
    """Env steps of a healthy run."""
    return np.linspace(BUDGET / POINTS, BUDGET, POINTS)


def healthy_curves() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Curves of a PPO run that learns."""
    x, generator = steps(), np.random.default_rng(0)
    t = x / BUDGET
    noise = generator.normal(size=(16, POINTS))
    returns = 22 + 400 * t + 5 * noise[0]
    series = {
        "rollout/original_return": returns, "rollout/shaped_return": returns, "rollout/episode_length": returns,
        "rollout/terminated_fraction": np.clip(0.9 - 0.5 * t, 0, 1), "rollout/action_clipped_fraction": 0.02 + 0 * t,
        "train/approx_kl": 0.008 + 0.001 * noise[1], "train/clip_fraction": 0.1 + 0.01 * noise[2],
        "train/entropy": 0.69 - 0.35 * t, "train/explained_variance": 0.2 + 0.7 * t,
        "train/value_loss": 5 + 0.3 * noise[3], "train/gradient_norm": 0.6 + 0.05 * noise[4],
        "train/learning_rate": 3e-4 + 0 * t, "time/env_steps_per_second": 2000 + 20 * noise[5],
        "time/memory_bytes": 3e8 + 1e5 * t,
    }  # fmt: skip
    return {tag: (x, values) for tag, values in series.items()}


def design(**changes: Any) -> Design:
    """A design of a discrete task."""
    box = BoxSpace(shape=(4,), dtype="float32", low=-5.0, high=5.0)
    hyperparameters = PPOHyperparameters(
        learning_rate=3e-4, gamma=0.99, num_envs=4, rollout_steps=64, gae_lambda=0.95, entropy_coefficient=0.01,
        value_coefficient=0.5, max_gradient_norm=0.5, minibatch_size=64, epochs=10, clip_range=0.2,
    )  # fmt: skip
    values: dict[str, Any] = {
        "candidate_id": "c1", "algorithm": "PPO", "network": NetworkDesign(), "hyperparameters": hyperparameters,
        "budget_env_steps": BUDGET, "title": "unchanged MDP", "sources": ("RL-Zoo3 preset",),
        "mdp": MdpDesign(environment_observation_space=box, environment_action_space=DiscreteSpace(n=2),
                         observation_space=box, action_space=DiscreteSpace(n=2)),
    }  # fmt: skip
    return Design(**(values | changes))


def episodes(**changes: Any) -> EpisodeStatistics:
    """A random policy on that task."""
    values: dict[str, Any] = {
        "policy": "random", "episodes": 40, "env_steps": 1200, "mean_original_return": 22.0, "std_original_return": 11.0,
        "min_original_return": 9.0, "max_original_return": 60.0, "mean_length": 22.0, "terminated_fraction": 1.0,
        "truncated_fraction": 0.0, "mean_original_reward": 1.0, "std_original_reward": 0.0, "min_original_reward": 1.0,
        "max_original_reward": 1.0, "nonzero_reward_fraction": 1.0,
    }  # fmt: skip
    return EpisodeStatistics(**(values | changes))


def report(**changes: Any) -> EnvironmentReport:
    """The inspection of that task."""
    values: dict[str, Any] = {
        "reference": EnvironmentReference(name="CartPole-v1"),
        "observation_space": BoxSpace(shape=(4,), dtype="float32", low=None, high=None),
        "action_space": DiscreteSpace(n=2), "max_episode_steps": 500, "is_deterministic": True, "step_seconds": 1e-5,
        "reset_seconds": 1e-5, "start_seconds": 0.5, "episodes": (episodes(),),
        "observation_entries": tuple(ObservationEntry(index=i, mean=0.0, std=0.5, min=-2.0, max=2.0) for i in range(4)),
    }  # fmt: skip
    return EnvironmentReport(**(values | changes))


def evaluation(run_id: str = "r1", score: float = 400.0, **changes: Any) -> Evaluation:
    """A finished evaluation."""
    values: dict[str, Any] = {
        "evaluation_id": "e1", "state": "finished", "project": "p", "run_id": run_id, "candidate_id": "c1",
        "checkpoint_env_steps": BUDGET, "purpose": "selection", "mode": "deterministic", "episodes": 20,
        "seeds_sha256": "seeds", "mean_original_return": score, "std_original_return": 10.0, "min_original_return": score - 20,
        "max_original_return": score + 20, "environment_sha256": "environment",
    }  # fmt: skip
    return Evaluation(**(values | changes))


class ProjectMaker:
    """Makes a project with runs as trusted code would leave them."""

    def __init__(self, root: Path) -> None:
        """Open the project."""
        workspace = Workspace(root)
        project = Project(
            name="p", task="balance the pole", environment=EnvironmentReference(name="CartPole-v1"),
            created_at="2026-01-01T00:00:00+00:00", agent2_version="0",
        )  # fmt: skip
        self.folder: ProjectFolder = workspace.open_project(project)
        write_json(self.folder.report_json, report())

    def run(
        self,
        candidate_id: str = "c1",
        *,
        score: float | None = None,
        state: Any = "finished",
        purpose: Any = "search",
        curves: Curves | None = None,
        budget: int = BUDGET,
        seed: int | None = None,
        **changes: Any,
    ) -> RunFolder:
        """Make a run; `changes` go into its evaluation."""
        run = self.folder.new_run()
        number = int(run.id[1:])
        specification = RunSpecification(
            run_id=run.id, project="p", candidate_id=candidate_id, design_sha256=f"design-{candidate_id}",
            training_seed=number if seed is None else seed, seed_index=0, budget_env_steps=budget, lease="keep",
            purpose=purpose, created_at="2026-01-01T00:00:00+00:00",
        )  # fmt: skip
        write_json(run.specification_file, specification)
        isolation = Isolation(tier="A", not_enforced=("network bandwidth",))
        process = RunProcess(
            state=state, outcome="ok" if state == "finished" else "diverged" if state == "failed" else None,
            message="" if state != "failed" else "loss became NaN", pid=1, created=0.0, supervisor_pid=1,
            supervisor_created=0.0, started_at=1000.0, ended_at=1060.0, peak_memory_bytes=1, isolation=isolation,
        )  # fmt: skip
        run.status_file.write_text(json.dumps(dataclasses.asdict(process) | {"isolation": isolation.model_dump()}))
        progress = RunProgress(
            env_steps=budget, updates=100, episodes=50, reported_original_return=score, reported_shaped_return=score,
            env_steps_per_second=1000.0, seconds=60.0, phase="done",
        )  # fmt: skip
        write_json(run.progress_file, progress)
        write_yaml(run.candidate_copy / "design.yaml", design(candidate_id=candidate_id))
        (run.candidate_copy / "mdp.py").write_text('"""No change."""\n')
        write_log(run.tensorboard, healthy_curves() if curves is None else curves)
        if score is not None:
            kind = "verdict" if purpose == "verdict" else "selection"
            values = {"purpose": kind, "candidate_id": candidate_id, "checkpoint_env_steps": budget} | changes
            write_json(run.evaluations / "e1.json", evaluation(run.id, score, **values))
        return run
