"""A run from its start to its checkpoints: rewards, seeds, resumption, stops, failures, reports."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from safetensors import safe_open
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agent2_sandbox.child import WorkerControl
from agent2_sandbox.guards import GuardError
from agent2_schemas import RunProgress
from agent2_targets.runtime.failures import NonFinite
from agent2_training.engine.faults import Diverged, outcome_of
from agent2_training.engine.training import Training
from agent2_training.worker import train

MakeTraining = Callable[..., Training]
ALGORITHMS = [("PPO", False), ("A2C", True), ("SAC", True), ("TD3", True), ("DQN", False)]

SHAPED = '''"""A designed reward."""
import numpy as np
REWARD_WEIGHTS = {"double": 2.0, "seen": 0.0}
def reward(previous_observation, action, observation, original_reward, terminated, truncated, info):
    return {"double": original_reward, "seen": info["time"]}
def potential(observation):
    return observation[:, 0] * 10.0
'''


def parameters(training: Training) -> np.ndarray:
    return np.concatenate(
        [p.detach().numpy().ravel() for m in training.learner.modules.values() for p in m.parameters()]
    )


@pytest.mark.parametrize(("algorithm", "is_continuous"), ALGORITHMS)
def test_equal_seeds_give_equal_parameters(make_training: MakeTraining, algorithm: str, is_continuous: bool) -> None:
    options: dict[str, Any] = {"keyword_arguments": {"is_continuous": is_continuous}}
    options["stateful"] = {"normalise_observation": "running", "previous_action": True}
    found = []
    for seed in (3, 3, 4):
        training = make_training("probes.py:SeenActionReward", algorithm, 160, seed=seed, **options)
        training.run()
        found.append(parameters(training))
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


@pytest.mark.parametrize(("algorithm", "is_continuous"), ALGORITHMS)
def test_a_checkpoint_restores_everything(
    run_folder: Callable[..., Path], algorithm: str, is_continuous: bool, open_training: Any
) -> None:
    arguments = {"is_continuous": is_continuous}
    folder = run_folder(
        "probes.py:SeenActionReward",
        algorithm,
        300,
        keyword_arguments=arguments,
        stateful={"normalise_observation": "running"},
    )
    first = open_training(folder)
    first.run()
    drawn = (torch.rand(3), np.random.rand(3))
    newest = max((folder / "work" / "checkpoints").glob("*.safetensors"), key=lambda path: int(path.stem))
    second = open_training(folder)
    second.resume(newest)
    np.testing.assert_array_equal(parameters(first), parameters(second))
    for name, optimiser in first.learner.optimisers.items():
        for key, value in optimiser.state_dict().items():
            assert torch.equal(value, second.learner.optimisers[name].state_dict()[key]), key
    assert second.simulation.normaliser is not None
    assert first.simulation.normaliser is not None
    assert second.simulation.normaliser.to_dict() == first.simulation.normaliser.to_dict()
    assert (second.simulation.env_steps, second.updates) == (first.simulation.env_steps, first.updates)
    assert second.simulation.episodes.reported() == first.simulation.episodes.reported()
    assert torch.equal(torch.rand(3), drawn[0])
    np.testing.assert_array_equal(np.random.rand(3), drawn[1])


def test_a_run_goes_on_from_a_checkpoint_to_a_larger_budget(
    run_folder: Callable[..., Path], open_training: Any
) -> None:
    folder = run_folder("probes.py:SeenActionReward", "DQN", 400)
    first = open_training(folder)
    first.run()
    run = json.loads((folder / "run.json").read_text()) | {"budget_env_steps": 800}
    (folder / "run.json").write_text(json.dumps(run))
    second = open_training(folder)
    second.resume(folder / "work" / "checkpoints" / f"{first.simulation.env_steps}.safetensors")
    second.run()
    assert second.simulation.env_steps >= 800
    assert second.updates > first.updates


def test_the_designed_reward_is_learnt_from_and_the_original_is_recorded(make_training: MakeTraining) -> None:
    training = make_training(
        "probes.py:Slow", "PPO", 600, mdp_code=SHAPED, info_keys=("time",), gamma=1.0, reward_scale=0.5
    )
    training.run()
    original, shaped = training.simulation.episodes.reported()
    assert original == pytest.approx(45.0)
    # 0.5 * (2 * 45 + potentials, which cancel but for the end: termination counts as zero and the first potential is 0)
    assert shaped == pytest.approx(45.0, abs=1e-4)


def test_steps_count_simulator_steps(make_training: MakeTraining) -> None:
    training = make_training("probes.py:Slow", "PPO", 600, stateful={"action_repeat": 4})
    training.run()
    assert training.simulation.episodes.reported()[0] == pytest.approx(45.0)
    assert abs(training.simulation.episodes.finished - training.simulation.env_steps / 10) <= 4


def test_reports_and_checkpoints_are_written(run_folder: Callable[..., Path]) -> None:
    folder = run_folder("probes.py:SeenActionReward", "PPO", 2000, stateful={"normalise_observation": "running"})
    train(folder / "work", folder / "run.json", folder / "reference.json", None, WorkerControl(None))
    progress = RunProgress.model_validate_json((folder / "work" / "progress.json").read_bytes())
    assert progress.phase == "done"
    assert progress.env_steps >= 2000
    steps = sorted(int(path.stem) for path in (folder / "work" / "checkpoints").iterdir())
    assert steps[-1] == progress.env_steps == progress.checkpoint_env_steps
    assert 8 <= len(steps) <= 12
    with safe_open(folder / "work" / "checkpoints" / f"{steps[0]}.safetensors", "pt") as file:
        assert file.metadata()["format"] == "agent2-checkpoint-1"
        assert int(file.metadata()["env_steps"]) == steps[0]
        assert json.loads(file.metadata()["normaliser"])["clip"] == 10.0
        names = set(file.keys())
    assert {"normaliser.mean", "normaliser.variance"} < names
    assert {name.split(".")[0] for name in names} == {"actor", "critic", "normaliser", "optimiser", "random"}
    events = EventAccumulator(str(folder / "work" / "tensorboard"))
    events.Reload()
    scalars: Any = events.Tags()["scalars"]
    tags = set(scalars)
    assert tags >= {
        "rollout/original_return", "rollout/shaped_return", "rollout/episode_length", "rollout/terminated_fraction",
        "train/approx_kl", "train/clip_fraction", "train/entropy", "train/explained_variance", "train/value_loss",
        "train/policy_loss", "train/learning_rate", "train/gradient_norm", "time/env_steps_per_second", "time/memory_bytes",
    }  # fmt: skip


def test_a_stop_leaves_a_checkpoint(run_folder: Callable[..., Path]) -> None:
    folder = run_folder("probes.py:SeenActionReward", "PPO", 10**6)
    control = WorkerControl(None)

    def beat(step: int | None = None, *, is_forced: bool = False) -> None:
        control.stop_requested = (step or 0) > 500

    control.beat = beat  # pyright: ignore[reportAttributeAccessIssue] # a supervisor that asks at step 500
    train(folder / "work", folder / "run.json", folder / "reference.json", None, control)
    assert [path.stem for path in (folder / "work" / "checkpoints").iterdir()] == ["504"]
    assert json.loads((folder / "work" / "progress.json").read_text())["phase"] != "done"


def test_a_reward_that_fails_is_rejected_with_its_line(make_training: MakeTraining) -> None:
    code = '"""Broken."""\ndef reward(previous_observation, action, observation, original_reward, terminated, truncated, info):\n    return {"a": original_reward / info["nothing"]}\n'
    with pytest.raises(GuardError) as caught:
        make_training("probes.py:Slow", "PPO", 600, mdp_code=code).run()
    outcome, message = outcome_of(caught.value)
    assert outcome == "code_rejected"
    assert message == "reward raised KeyError: 'nothing' at step 1 (mdp.py, line 3)"


def test_an_environment_that_gives_nan_is_named_with_its_step(make_training: MakeTraining) -> None:
    with pytest.raises(NonFinite) as caught:
        make_training("probes.py:BadNumbers", "DQN", 600).run()
    outcome, message = outcome_of(caught.value)
    assert outcome == "diverged"
    assert "step 10" in message


def test_divergence_is_named(make_training: MakeTraining) -> None:
    training = make_training("probes.py:SeenActionReward", "PPO", 600)
    with torch.no_grad():
        next(training.learner.modules["critic"].parameters())[0] = float("nan")
    with pytest.raises(Diverged, match="loss is nan"):
        training.run()


def test_warmup_statistics_are_frozen_after_the_warmup(run_folder: Callable[..., Path], open_training: Any) -> None:
    folder = run_folder("probes.py:SeenActionReward", "PPO", 1000, stateful={"normalise_observation": "warmup"})
    training = open_training(folder)
    training.run()
    assert training.simulation.normaliser is not None
    assert training.simulation.normaliser.count == 56
    assert (
        yaml.safe_load((folder / "candidate" / "design.yaml").read_text())["mdp"]["stateful"]["normalise_observation"]
        == "warmup"
    )
