"""One trained checkpoint of each algorithm gives the same returns in training mode and by the split evaluation."""

from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from agent2_sandbox.child import WorkerControl
from agent2_schemas import EnvironmentReference, MdpDesign
from agent2_training.checkpoints import accept_checkpoints, accepted_checkpoints, checkpoint_file
from agent2_training.engine.episodes import EpisodeRecorder
from agent2_training.engine.networks import load_policy_module
from agent2_training.engine.training import Training
from agent2_training.evaluation.policy_folder import write_policy_folder
from agent2_training.evaluation.processes import run_processes
from agent2_training.runs.starting import environment_origin
from agent2_workspace import CandidateFolder, ProjectFolder, read_yaml, write_yaml

SEED = 11
ENVIRONMENTS = {
    "PPO": "CartPole-v1", "A2C": "Pendulum-v1", "DQN": "CartPole-v1", "SAC": "Pendulum-v1", "TD3": "Pendulum-v1",
}  # fmt: skip
HYPERPARAMETERS: dict[str, dict[str, Any]] = {
    "PPO": {"num_envs": 4, "rollout_steps": 32, "minibatch_size": 64, "epochs": 1},
    "A2C": {"num_envs": 4, "rollout_steps": 16},
    "DQN": {"num_envs": 4, "warmup_env_steps": 200, "updates_per_env_step": 0.1, "batch_size": 32},
    "SAC": {"num_envs": 4, "warmup_env_steps": 200, "updates_per_env_step": 0.1, "batch_size": 32},
    "TD3": {"num_envs": 4, "warmup_env_steps": 200, "updates_per_env_step": 0.1, "batch_size": 32},
}


class FirstEpisodes(EpisodeRecorder):
    """Keeps the original return and the length of each environment's first episode."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.first: dict[int, tuple[float, int]] = {}

    def finish(self, rows: NDArray[Any], terminated: NDArray[np.bool_]) -> None:
        for row in rows:
            self.first.setdefault(int(row), (float(self._original[row]), int(self._length[row])))
        super().finish(rows, terminated)


def stateful_candidate(
    lab: Any, project: ProjectFolder, algorithm: str, normalise: str, history: int, repeat: int
) -> CandidateFolder:
    """Write a candidate with normalisation, history and action repeat, and its training half."""
    candidate = lab.candidate(project)
    mdp = read_yaml(candidate.mdp_design_file, MdpDesign)
    changed = {"normalise_observation": normalise, "history": history, "action_repeat": repeat}
    stateful = mdp.stateful.model_copy(update=changed)
    size = mdp.observation_space.model_dump()["shape"][0] * history
    space = mdp.observation_space.model_copy(update={"shape": (size,)})
    write_yaml(candidate.mdp_design_file, mdp.model_copy(update={"stateful": stateful, "observation_space": space}))
    lab.write_design(
        project, candidate, algorithm=algorithm, hyperparameters=HYPERPARAMETERS[algorithm], budget_env_steps=600,
        normalise_observation=normalise,
    )  # fmt: skip
    return candidate


def first_episodes(training: Training, policy: Any) -> list[tuple[float, int]]:
    """Step the training's own environments by greedy actions until each has finished an episode."""
    simulation = training.simulation
    recorder = simulation.episodes = FirstEpisodes(simulation.count)
    simulation.reset()
    while len(recorder.first) < simulation.count:
        with torch.no_grad():
            output = training.learner.modules["actor"](torch.from_numpy(simulation.observations))
        simulation.step(policy.select_action(output, True).numpy())
    return [recorder.first[row] for row in range(simulation.count)]


@pytest.mark.anyio
@pytest.mark.parametrize(("normalise", "history", "repeat"), [("running", 3, 2), ("warmup", 2, 3)])
@pytest.mark.parametrize("algorithm", list(ENVIRONMENTS))
@pytest.mark.slow
async def test_a_trained_checkpoint_gives_the_same_returns_on_the_same_seeds(
    workspace: Any, lab: Any, tmp_path: Path, algorithm: str, normalise: str, history: int, repeat: int
) -> None:
    project = lab.project("both", EnvironmentReference(name=ENVIRONMENTS[algorithm]))
    run = lab.run(project, stateful_candidate(lab, project, algorithm, normalise, history, repeat))
    arguments = (run.candidate_copy, environment_origin(project), run.work, SEED, 600, WorkerControl(None))
    design = run_design(run)
    Training(design, *arguments).run()
    assert accept_checkpoints(run) == {}
    env_steps = accepted_checkpoints(run)[-1]

    training = Training(design, *arguments)
    training.resume(checkpoint_file(run, env_steps))
    assert training.simulation.normaliser is not None
    assert training.simulation.normaliser.count > 0
    reported = first_episodes(training, load_policy_module(run.candidate_copy / "policy.py"))
    training.simulation.close()
    count = training.simulation.count
    seeds = tuple(int(seed >> 1) for seed in np.random.SeedSequence([SEED, env_steps]).generate_state(count))
    write_policy_folder(tmp_path / "policy", run, env_steps)
    with anyio.fail_after(120):
        outcome = await run_processes(tmp_path / "policy", environment_origin(project), seeds, "deterministic")

    assert outcome.error == ""
    assert outcome.original_returns == pytest.approx([episode[0] for episode in reported], rel=1e-9)
    assert outcome.lengths == tuple(episode[1] for episode in reported)


def run_design(run: Any) -> dict[str, Any]:
    """Read the frozen design of a run."""
    return CandidateFolder(run.candidate_copy).read_design().model_dump(mode="json")
