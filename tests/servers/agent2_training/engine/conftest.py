"""Candidates of the probe environments, complete as a worker finds them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent2_sandbox.child import WorkerControl
from agent2_schemas import Design, RunSpecification
from agent2_targets import render_policy
from agent2_targets.runtime.environment import build_environment
from agent2_targets.runtime.pipeline import ActionPipeline, ObservationPipeline
from agent2_targets.runtime.transforms import Transforms
from agent2_training.catalogue.presets import class_preset
from agent2_training.engine.training import Training

MakeTraining = Callable[..., Training]

QUICK: dict[str, dict[str, Any]] = {
    "PPO": {"num_envs": 4, "rollout_steps": 32, "minibatch_size": 64, "epochs": 4, "learning_rate": 5e-3, "normalise_return": False},
    "A2C": {"num_envs": 4, "rollout_steps": 8, "learning_rate": 5e-3, "normalise_return": False},
    "SAC": {"batch_size": 64, "warmup_env_steps": 100, "learning_rate": 5e-3, "tau": 0.05, "alpha": 0.01, "num_envs": 4},
    "TD3": {"batch_size": 64, "warmup_env_steps": 100, "learning_rate": 5e-3, "tau": 0.05, "num_envs": 4, "policy_noise": 0.05},
    "DQN": {
        "batch_size": 64, "warmup_env_steps": 100, "learning_rate": 5e-3, "target_update_interval": 20, "num_envs": 4,
        "updates_per_env_step": 1.0, "exploration_fraction": 0.5,
    },
}  # fmt: skip


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[..., Path]:
    """Write run.json, reference.json and candidate/ of a probe or of a Gymnasium environment."""

    def write(environment: str, algorithm: str, budget: int, seed: int = 3, mdp_code: str = "", **changed: Any) -> Path:
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        candidate = folder / "candidate"
        candidate.mkdir(parents=True)
        (folder / "work").mkdir()
        (candidate / "mdp.py").write_text(mdp_code or '"""Nothing is changed."""\n')
        arguments = changed.pop("keyword_arguments", {})
        reference = {"name": environment, "keyword_arguments": arguments}
        origin = {"reference": reference, "root": str(Path(__file__).parent)}
        stateful, info_keys = changed.pop("stateful", {}), changed.pop("info_keys", ())
        design = make_design(origin, candidate / "mdp.py", algorithm, budget, stateful, info_keys, changed)
        (candidate / "design.yaml").write_text(yaml.safe_dump(json.loads(design.model_dump_json())))
        (candidate / "policy.py").write_text(render_policy(design))
        run = {
            "run_id": "r1",
            "project": "p",
            "candidate_id": "c1",
            "design_sha256": "",
            "training_seed": seed,
            "seed_index": 0,
        }
        run |= {"budget_env_steps": budget, "lease": "keep", "created_at": ""}
        (folder / "run.json").write_text(RunSpecification.model_validate(run).model_dump_json())
        (folder / "reference.json").write_text(json.dumps(origin))
        return folder

    return write


def make_design(
    origin: dict[str, Any],
    mdp_file: Path,
    algorithm: str,
    budget: int,
    stateful: dict[str, Any],
    info_keys: Any,
    changed: dict[str, Any],
) -> Design:
    adapted = build_environment(origin["reference"], root=origin["root"])
    mdp: dict[str, Any] = {
        "environment_observation_space": adapted.observation_space,
        "environment_action_space": adapted.action_space,
        "max_episode_steps": adapted.max_episode_steps,
        "stateful": stateful,
    }
    transforms = Transforms.load(mdp_file, mdp)
    observation, action = ObservationPipeline(mdp, transforms, 1).space, ActionPipeline(mdp, transforms, 1).space
    del mdp["max_episode_steps"]
    mdp |= {"observation_space": observation, "action_space": action, "parts": transforms.parts, "info_keys": info_keys}
    preset = class_preset(algorithm, action["kind"])  # pyright: ignore[reportArgumentType]
    network = {**preset.network, "hidden_sizes": (32, 32)}
    values = {**preset.hyperparameters, "gamma": 0.5, "algorithm": algorithm, **QUICK[algorithm], **changed}
    mdp["reward_scale"] = values.pop("reward_scale", 1.0)
    return Design.model_validate(
        {
            "candidate_id": "c1",
            "mdp": mdp,
            "algorithm": algorithm,
            "network": network,
            "hyperparameters": values,
            "budget_env_steps": budget,
        }
    )


@pytest.fixture
def make_training(run_folder: Callable[..., Path]) -> Callable[..., Training]:
    """Make a training of a probe in this process; its supervisor is nobody."""

    def make(environment: str, algorithm: str, budget: int, **options: Any) -> Training:
        control = options.pop("control", None) or WorkerControl(None)
        folder = run_folder(environment, algorithm, budget, **options)
        return open_training(folder, control)

    return make


def open_training(folder: Path, control: WorkerControl | None = None) -> Training:
    design = yaml.safe_load((folder / "candidate" / "design.yaml").read_text())
    origin = json.loads((folder / "reference.json").read_text())
    run = json.loads((folder / "run.json").read_text())
    budget = run["budget_env_steps"]
    return Training(
        design,
        folder / "candidate",
        origin,
        folder / "work",
        run["training_seed"],
        budget,
        control or WorkerControl(None),
    )


@pytest.fixture(name="open_training")
def open_training_fixture() -> Callable[..., Training]:
    """Open the training of a run folder in this process."""
    return open_training
