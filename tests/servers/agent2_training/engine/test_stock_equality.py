"""Our collectors and updates give what Tianshou's own give, from the same random numbers."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from tianshou.algorithm.algorithm_base import Policy
from tianshou.algorithm.modelfree.sac import AutoAlpha
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Batch, Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.utils.torch_utils import policy_within_training_step

from agent2_training.engine.collectors import OnPolicyCollector
from agent2_training.engine.networks import ActorForTianshou, CriticForTianshou, load_policy_module
from agent2_training.engine.on_policy import Rollout
from agent2_training.engine.replay import ReplayBuffer
from agent2_training.engine.stock import StockA2C as A2C
from agent2_training.engine.stock import StockDQN as DQN
from agent2_training.engine.stock import StockPPO as PPO
from agent2_training.engine.stock import StockSAC as SAC
from agent2_training.engine.training import Training

MakeTraining = Callable[..., Training]
STEPS, COUNT = 64, 4


@pytest.fixture(autouse=True)
def numpy_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stock policies compile two kernels at construction; what they compute is not changed by skipping that."""
    monkeypatch.setattr(Policy, "_compile", staticmethod(lambda: None))


def stock_buffer(rollout: Rollout) -> Any:
    """Put a rollout into Tianshou's buffer by its own `add`."""
    buffer: Any = VectorReplayBuffer(STEPS * COUNT, COUNT)
    for step in range(rollout.shaped_rewards.shape[1]):
        fields = {
            "obs": rollout.observations,
            "act": rollout.actions,
            "rew": rollout.shaped_rewards,
            "obs_next": rollout.following,
        }
        columns: dict[str, Any] = {name: value[:, step] for name, value in fields.items()}
        row: Any = Batch({**columns, "info": Batch(), "policy": Batch()})
        row.terminated, row.truncated = rollout.terminated[:, step], rollout.truncated[:, step]
        row.done = row.terminated | row.truncated
        buffer.add(row, buffer_ids=np.arange(COUNT))
    return buffer


def twin_of(training: Training, folder_policy: Any, parts: tuple[str, ...]) -> list[Any]:
    """Copy networks of the learner into fresh ones of the same policy.py."""
    copies: list[Any] = []
    for part in parts:
        module = folder_policy.Actor() if part == "actor" else folder_policy.Critic()
        module.load_state_dict(training.learner.modules[part].state_dict())
        copies.append(module)
    return copies


def policy_module(training: Training) -> Any:
    return load_policy_module(training.candidate / "policy.py")


def assert_close(first: torch.nn.Module, second: torch.nn.Module) -> None:
    for ours, stock in zip(first.parameters(), second.parameters(), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), stock.detach().numpy(), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("algorithm", ["PPO", "A2C"])
@pytest.mark.parametrize("environment", ["CartPole-v1", "Pendulum-v1"])
def test_on_policy_updates_equal_stock_ones(make_training: MakeTraining, algorithm: str, environment: str) -> None:
    changed: dict[str, Any] = {
        "num_envs": COUNT,
        "rollout_steps": STEPS,
        "gamma": 0.98,
        "normalise_return": True,
        "learning_rate": 3e-4,
    }
    changed |= {"minibatch_size": 100, "value_clip": True, "recompute_advantage": True} if algorithm == "PPO" else {}
    training = make_training(environment, algorithm, 10_000, **changed)
    ours, values = training.learner.algorithm, training.values
    actor, critic = twin_of(training, policy_module(training), ("actor", "critic"))
    policy = type(ours.policy)(
        actor=ActorForTianshou(actor, "gaussian" if environment == "Pendulum-v1" else "categorical"),
        dist_fn=ours.policy.dist_fn, action_space=ours.policy.action_space, action_scaling=False,
        action_bound_method=ours.policy.action_bound_method,
    )  # fmt: skip
    shared: dict[str, Any] = {
        "policy": policy, "critic": CriticForTianshou(critic), "optim": AdamOptimizerFactory(lr=3e-4, eps=1e-5), "max_batchsize": 4096,
        "vf_coef": values["value_coefficient"], "ent_coef": values["entropy_coefficient"], "max_grad_norm": 0.5,
        "gae_lambda": values["gae_lambda"], "gamma": 0.98, "return_scaling": True,
    }  # fmt: skip
    stock: Any = (
        A2C(**shared)
        if algorithm == "A2C"
        else PPO(**shared, value_clip=True, recompute_advantage=True, eps_clip=values["clip_range"])
    )
    training.simulation.reset()
    collector = OnPolicyCollector(training.simulation, training.learner.actor, lambda: None)
    size, repeat = (100, 3) if algorithm == "PPO" else (None, 1)
    for turn in range(2):
        rollout = collector.collect(STEPS)
        np.random.seed(turn)
        ours.update(rollout, size, repeat)
        np.random.seed(turn)
        with policy_within_training_step(policy):
            stock.update(buffer=stock_buffer(rollout), batch_size=size, repeat=repeat)
    assert_close(training.learner.actor, actor)
    assert_close(training.learner.modules["critic"], critic)


class SeededOnce(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Its first reset takes the seed; Tianshou's collector has no seeds to hand on."""

    def __init__(self, env: gymnasium.Env[Any, Any], seed: int) -> None:
        super().__init__(env)
        self.first_seed: int | None = seed

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        seed, self.first_seed = self.first_seed, None
        return self.env.reset(seed=seed)


def test_the_on_policy_collector_equals_the_stock_one(make_training: MakeTraining) -> None:
    training = make_training("CartPole-v1", "PPO", 10_000, num_envs=COUNT, rollout_steps=STEPS)
    policy = training.learner.algorithm.policy
    seeds = [int(seed >> 1) for seed in np.random.SeedSequence([3, 0]).generate_state(COUNT)]
    venv = DummyVectorEnv([lambda seed=seed: SeededOnce(gymnasium.make("CartPole-v1"), seed) for seed in seeds])
    buffer: Any = VectorReplayBuffer(STEPS * COUNT, COUNT)
    stock: Any = Collector(training.learner.algorithm, venv, buffer)
    torch.manual_seed(5)
    with policy_within_training_step(policy):
        stock.reset()
        stock.collect(n_step=STEPS * COUNT)
    torch.manual_seed(5)
    training.simulation.reset()
    rollout = OnPolicyCollector(training.simulation, training.learner.actor, lambda: None).collect(STEPS)
    fields = {
        "obs": rollout.observations,
        "act": rollout.actions,
        "rew": rollout.shaped_rewards,
        "obs_next": rollout.following,
    }
    fields |= {"terminated": rollout.terminated, "truncated": rollout.truncated}
    assert rollout.terminated.any()
    for name, value in fields.items():
        np.testing.assert_array_equal(buffer._meta[name].reshape(value.shape), value, err_msg=name)


def filled(training: Training, rows: int) -> tuple[ReplayBuffer, Any]:
    """One transition stream in both buffers."""
    simulation = training.simulation
    ours = ReplayBuffer(rows, simulation.shape, simulation.action_shape, simulation.is_discrete, 0)
    stock: Any = VectorReplayBuffer(rows, 1)
    generator = np.random.default_rng(0)
    simulation.reset()
    for _ in range(rows):
        plain, action = simulation.plain, simulation.random_actions(generator)
        result = simulation.step(action)
        ours.add(plain, action, result.shaped_reward, result.following_plain, result.terminated)
        row = Batch(
            obs=plain,
            act=action,
            rew=result.shaped_reward,
            obs_next=result.following_plain,
            info=Batch(),
            policy=Batch(),
        )
        row.terminated, row.truncated = result.terminated, result.truncated
        row.done = result.terminated | result.truncated
        stock.add(row, buffer_ids=np.arange(1))
    return ours, stock


def update_both(training: Training, stock: Any, policy: Any, rows: int = 200) -> None:
    ours, theirs = filled(training, rows)
    for turn in range(10):
        torch.manual_seed(turn)
        chosen = ours.sample(32)
        torch.manual_seed(turn)
        training.learner.algorithm.update(_Fixed(chosen), 32)
        theirs.sample_indices = lambda size, indices=chosen[1]: indices
        torch.manual_seed(turn)
        with policy_within_training_step(policy):
            stock.update(buffer=theirs, sample_size=32)


class _Fixed:
    """A buffer that gives one batch."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def sample(self, size: int | None) -> Any:
        return self._batch


def test_sac_updates_equal_stock_ones(make_training: MakeTraining) -> None:
    training = make_training(
        "Pendulum-v1", "SAC", 1000, num_envs=1, learning_rate=1e-3, alpha="auto", tau=0.05, gamma=0.9
    )
    actor, critic, critic2 = twin_of(training, policy_module(training), ("actor", "critic", "critic2"))
    space = training.learner.algorithm.policy.action_space
    policy = type(training.learner.algorithm.policy)(
        actor=ActorForTianshou(actor, "squashed_gaussian"),
        action_space=space,
        action_scaling=False,
    )
    adam = AdamOptimizerFactory(lr=1e-3)
    stock: Any = SAC(
        policy=policy, critic=CriticForTianshou(critic), critic2=CriticForTianshou(critic2), policy_optim=adam, critic_optim=adam,
        tau=0.05, gamma=0.9, alpha=AutoAlpha(-1.0, 0.0, adam),
    )  # fmt: skip
    update_both(training, stock, policy)
    assert_close(training.learner.actor, actor)
    assert_close(training.learner.modules["critic2"], critic2)
    assert_close(training.learner.modules["target.critic"], stock.critic_old.module.critic)
    assert training.learner.algorithm.alpha.value == pytest.approx(stock.alpha.value, rel=1e-5)


def test_dqn_updates_equal_stock_ones(make_training: MakeTraining) -> None:
    training = make_training(
        "CartPole-v1", "DQN", 1000, num_envs=1, learning_rate=1e-3, gamma=0.9, target_update_interval=4
    )
    (actor,) = twin_of(training, policy_module(training), ("actor",))
    policy = type(training.learner.algorithm.policy)(
        model=ActorForTianshou(actor, "q_values"), action_space=training.learner.algorithm.policy.action_space
    )
    stock: Any = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.9, target_update_freq=4)
    update_both(training, stock, policy)
    assert_close(training.learner.actor, actor)
    assert_close(training.learner.modules["target.actor"], stock.model_old.module.actor)
