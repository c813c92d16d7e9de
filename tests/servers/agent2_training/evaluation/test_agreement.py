"""Training mode and split evaluation agree on one checkpoint: what was trained is what is scored."""

from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
import torch

from agent2_sandbox.child import WorkerControl
from agent2_schemas import EnvironmentReference, MdpDesign
from agent2_targets.runtime.normaliser import Normaliser
from agent2_training.checkpoints import accept_checkpoints
from agent2_training.engine.checkpoint import save_checkpoint
from agent2_training.engine.networks import load_policy_module
from agent2_training.engine.training import Training
from agent2_training.evaluation.policy_folder import write_policy_folder
from agent2_training.evaluation.processes import run_processes
from agent2_training.runs.starting import environment_origin
from agent2_workspace import RunFolder, read_yaml, write_yaml

SEED = 11
CODE = '''"""The angle twice, from two observations in a row; half the torque."""
import numpy as np

OBSERVATION_SPACE = {"shape": [8], "dtype": "float32"}


def observe(observation):
    newest = observation[:, -1]
    angle = np.arctan2(newest[:, 1], newest[:, 0])[:, None]
    return np.concatenate([observation.reshape(len(observation), -1), angle, angle**2], axis=1).astype(np.float32)


def act(action, observation):
    return action * 0.5 - 0.1 * observation[:, 2:]
'''


def greedy_original_return(training: Training, policy: Any) -> tuple[float, int]:
    """Step the training's own environments by greedy actions until every first episode has ended."""
    simulation = training.simulation
    simulation.reset()
    while simulation.episodes.finished < simulation.count:
        with torch.no_grad():
            output = training.learner.modules["actor"](torch.from_numpy(simulation.observations))
        simulation.step(policy.select_action(output, True).numpy())
    mean, _ = simulation.episodes.reported()
    assert mean is not None
    return mean, simulation.count


@pytest.mark.anyio
async def test_greedy_returns_of_training_and_of_the_split_evaluation_are_equal(
    workspace: Any, lab: Any, tmp_path: Path
) -> None:
    project = lab.project("swing", EnvironmentReference(name="Pendulum-v1"))
    candidate = lab.candidate(project, code=CODE)
    mdp = read_yaml(candidate.mdp_design_file, MdpDesign)
    stateful = mdp.stateful.model_copy(
        update={"history": 2, "previous_action": True, "time_left": True, "normalise_observation": "running"}
    )
    space = mdp.observation_space.model_copy(update={"shape": (10,)})
    update = {"stateful": stateful, "observation_space": space, "max_episode_steps": 200}
    write_yaml(candidate.mdp_design_file, mdp.model_copy(update=update))
    lab.write_design(project, candidate, algorithm="SAC", hyperparameters={"num_envs": 4})
    run: RunFolder = lab.run(project, candidate)

    design = candidate.read_design().model_dump(mode="json")
    training = Training(
        design, run.candidate_copy, environment_origin(project), run.work, SEED, 1000, WorkerControl(None)
    )
    normaliser = Normaliser(10)
    normaliser.update(np.random.default_rng(0).normal(0.5, 2.0, (100, 10)))
    training.simulation.normaliser = normaliser
    state = {"env_steps": 100, "updates": 1}
    (run.work / "checkpoints").mkdir(exist_ok=True)
    save_checkpoint(run.work / "checkpoints" / "100.safetensors", training.learner, normaliser, state, SEED)
    assert accept_checkpoints(run) == {}
    write_policy_folder(tmp_path / "policy", run, 100)

    mean, count = greedy_original_return(training, load_policy_module(run.candidate_copy / "policy.py"))
    seeds = tuple(int(seed >> 1) for seed in np.random.SeedSequence([SEED, 0]).generate_state(count))
    with anyio.fail_after(60):
        outcome = await run_processes(tmp_path / "policy", environment_origin(project), seeds, "deterministic")
    training.simulation.close()

    assert outcome.error == ""
    assert np.mean(outcome.original_returns) == pytest.approx(mean, rel=1e-6)
    assert len(set(outcome.original_returns)) == count
