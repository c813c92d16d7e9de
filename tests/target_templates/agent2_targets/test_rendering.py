"""policy.py: every kind of policy computes what it says, and reads well."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from agent2_schemas import BoxSpace, Design
from agent2_targets import policy_kind, render_policy

KINDS = [
    ("PPO", "CartPole-v1", "categorical"),
    ("PPO", "Pendulum-v1", "gaussian"),
    ("A2C", "CartPole-v1", "categorical"),
    ("A2C", "Pendulum-v1", "gaussian"),
    ("SAC", "Pendulum-v1", "squashed_gaussian"),
    ("TD3", "Pendulum-v1", "deterministic"),
    ("DQN", "CartPole-v1", "q_values"),
]
NETWORKS: list[dict[str, Any]] = [
    {"hidden_sizes": (8, 6)},
    {"hidden_sizes": (8,), "critic_hidden_sizes": (5, 4), "activation": "silu", "layer_norm": True},
    {"hidden_sizes": (8,), "activation": "relu", "orthogonal_init": False, "initial_log_std": -0.7},
]
Make = Callable[..., tuple[Design, str]]


def load(design: Design) -> Any:
    policy: dict[str, Any] = {}
    exec(compile(render_policy(design), "policy.py", "exec"), policy)
    return policy


@pytest.mark.parametrize(("algorithm", "environment", "kind"), KINDS)
@pytest.mark.parametrize("network", NETWORKS)
def test_every_kind_has_its_shapes(
    make_design: Make, algorithm: str, environment: str, kind: str, network: dict[str, Any]
) -> None:
    design, _ = make_design(algorithm, environment, network=network)
    policy = load(design)
    assert policy["POLICY_KIND"] == kind == policy_kind(design)
    size = {"CartPole-v1": 4, "Pendulum-v1": 3}[environment]
    observation = torch.randn(5, size)
    output = policy["Actor"]()(observation)
    for deterministic in (True, False):
        action = policy["select_action"](output, deterministic)
        if environment == "CartPole-v1":
            assert (action.shape, action.dtype) == ((5,), torch.int64)
            assert set(action.tolist()) <= {0, 1}
        else:
            assert (action.shape, action.dtype) == ((5, 1), torch.float32)
            assert action.abs().max() <= 1.0
    if algorithm in ("PPO", "A2C"):
        assert policy["Critic"]()(observation).shape == (5, 1)
    elif algorithm == "DQN":
        assert "Critic" not in policy
    else:
        assert policy["Critic"]()(observation, torch.zeros(5, 1)).shape == (5, 1)


def test_the_gaussian_has_one_log_std_for_all_states_and_clips(make_design: Make) -> None:
    policy = load(make_design("PPO", "Pendulum-v1", network={"hidden_sizes": (8,), "initial_log_std": -0.7})[0])
    mean, log_std = policy["Actor"]()(torch.randn(6, 3))
    assert torch.equal(log_std, torch.full((6, 1), -0.7))
    generator = torch.Generator().manual_seed(0)
    output = torch.tensor([[0.2]]).expand(20_000, 1), torch.full((20_000, 1), math.log(0.1))
    sampled = policy["select_action"](output, False, generator)
    assert (sampled.mean().item(), sampled.std().item()) == pytest.approx((0.2, 0.1), abs=0.005)
    assert policy["select_action"]((torch.tensor([[3.0]]), log_std[:1]), True).item() == 1.0
    assert mean.abs().max() < 0.2, "the head starts near zero"


def test_the_squashed_gaussian_is_tanh_of_a_gaussian_whose_log_std_is_bounded(make_design: Make) -> None:
    policy = load(make_design("SAC", "Pendulum-v1")[0])
    actor = policy["Actor"]()
    with torch.no_grad():
        actor.log_std.bias.fill_(50.0)
    assert actor(torch.randn(4, 3))[1].max() == 2.0
    output = torch.tensor([[0.5]]).expand(20_000, 1), torch.full((20_000, 1), math.log(0.2))
    sampled = torch.atanh(policy["select_action"](output, False, torch.Generator().manual_seed(0)))
    assert (sampled.mean().item(), sampled.std().item()) == pytest.approx((0.5, 0.2), abs=0.01)
    assert policy["select_action"](output, True)[0].item() == pytest.approx(math.tanh(0.5))


def test_the_categorical_samples_its_softmax_and_prefers_its_mode(make_design: Make) -> None:
    policy = load(make_design("PPO", "CartPole-v1")[0])
    logits = torch.log(torch.tensor([[0.3, 0.7]])).expand(20_000, 2)
    sampled = policy["select_action"](logits, False, torch.Generator().manual_seed(0))
    assert sampled.float().mean().item() == pytest.approx(0.7, abs=0.01)
    assert policy["select_action"](logits, True).min() == 1


def test_values_are_taken_greedily(make_design: Make) -> None:
    policy = load(make_design("DQN", "CartPole-v1")[0])
    values = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
    assert policy["select_action"](values, False).tolist() == [1, 0]


def test_orthogonal_weights_have_their_gains(make_design: Make) -> None:
    policy = load(make_design("PPO", "Pendulum-v1", network={"hidden_sizes": (8, 8)})[0])
    actor, critic = policy["Actor"](), policy["Critic"]()
    hidden = actor.body[2].weight
    assert torch.allclose(hidden @ hidden.T, 2.0 * torch.eye(8), atol=1e-5)
    assert actor.mean.weight.norm().item() == pytest.approx(0.01, abs=1e-6)
    assert critic.value.weight.norm().item() == pytest.approx(1.0, abs=1e-6)


def test_images_are_flattened_first(make_design: Make) -> None:
    design, _ = make_design("PPO", "CartPole-v1")
    image = BoxSpace(shape=(4, 5, 3), dtype="float32", low=0.0, high=1.0)
    mdp = design.mdp.model_copy(update={"observation_space": image})
    policy = load(design.model_copy(update={"mdp": mdp}))
    assert policy["Actor"]()(torch.zeros(2, 4, 5, 3)).shape == (2, 2)
    assert policy["Critic"]()(torch.zeros(2, 4, 5, 3)).shape == (2, 1)


def test_an_algorithm_that_does_not_act_in_the_space_is_refused(make_design: Make) -> None:
    design, _ = make_design("PPO", "Pendulum-v1")
    with pytest.raises(ValueError, match="DQN does not act in a box space"):
        render_policy(design.model_copy(update={"algorithm": "DQN"}))
