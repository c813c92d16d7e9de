"""IPPO and MAPPO on real environments of several agents."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from torch import nn

from agent2_targets.runtime.multi_agent.building import build_multi_agent
from agent2_training.engine.learner import Learner
from agent2_training.engine.multi_agent.group_collector import GroupCollector, actor_size, critic_size
from agent2_training.engine.multi_agent.group_ppo import ILLEGAL_LOGIT, build_group_ppo, masked

VALUES: dict[str, Any] = {
    "learning_rate": 7e-4, "value_coefficient": 1.0, "entropy_coefficient": 0.01, "max_gradient_norm": 10.0,
    "gae_lambda": 0.95, "gamma": 0.95, "normalise_return": True, "clip_range": 0.2, "value_clip": False,
    "normalise_advantage": True, "recompute_advantage": False,
}  # fmt: skip


class Gaussian(nn.Module):
    """A mean from a network, and a free standard deviation."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()
        self.body, self.log_std = network(size, actions), nn.Parameter(torch.zeros(actions))

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean = self.body(observation)
        return mean, self.log_std.expand_as(mean)


def network(size: int, outputs: int) -> nn.Sequential:
    last = nn.Linear(64, outputs)
    nn.init.orthogonal_(last.weight, 0.01)
    body = (nn.LayerNorm(size), nn.Linear(size, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 64), nn.ReLU())
    return nn.Sequential(*body, last)


def learners_of(
    name: str, count: int, *, is_central: bool = True, **arguments: Any
) -> tuple[GroupCollector, dict[str, Learner]]:
    torch.manual_seed(0)
    np.random.seed(0)
    batch = build_multi_agent({"name": name, "keyword_arguments": arguments}, count, can_be_twin=True)
    learners: dict[str, Learner] = {}
    for group in batch.layout.groups:
        is_box = group.action_space["kind"] == "box"
        size = group.action_space["shape"][0] if is_box else group.action_space["n"]
        space = gymnasium.spaces.Box(-1, 1, (size,)) if is_box else gymnasium.spaces.Discrete(size)
        actor = Gaussian(actor_size(group), size) if is_box else network(actor_size(group), size)
        critic = network(critic_size(batch, group, is_central=is_central), 1)
        kind = "gaussian" if is_box else "categorical"
        learners[group.name] = build_group_ppo(VALUES, actor, critic, space, kind)
    actors = {name: learner.actor for name, learner in learners.items()}
    return GroupCollector(batch, actors, is_central=is_central, seed=0), learners


@pytest.mark.parametrize("is_central", [True, False], ids=["mappo", "ippo"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("skirmish:3v3", {}),
        ("mpe2.simple_spread_v3", {"continuous_actions": True}),
        ("mpe2.simple_tag_v3", {}),
        ("mpe2.simple_speaker_listener_v4", {}),
    ],
)
def test_every_kind_of_group_takes_an_update_that_moves_its_actor(
    name: str, arguments: dict[str, Any], is_central: bool
) -> None:
    collector, learners = learners_of(name, 4, is_central=is_central, **arguments)
    for group, rollout in collector.collect(30).items():
        before = [parameter.detach().clone() for parameter in learners[group].actor.parameters()]
        stats = learners[group].algorithm.update(rollout, 64, 2)
        assert np.isfinite(stats.values["train/value_loss"])
        after = list(learners[group].actor.parameters())
        assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_an_illegal_choice_is_never_sampled() -> None:
    collector, _ = learners_of("skirmish:3v3", 8)
    rollout = collector.collect(80)["ally"]
    assert rollout.masks is not None
    assert not rollout.masks.all()
    assert np.take_along_axis(rollout.masks, rollout.actions[..., None], axis=2).all()


def test_a_masked_choice_has_no_probability_at_all() -> None:
    logits = masked(torch.zeros(1, 3), torch.tensor([[True, False, True]]))
    assert logits[0, 1] == ILLEGAL_LOGIT
    assert torch.softmax(logits, dim=1).tolist() == [[0.5, 0.0, 0.5]]


def test_what_agents_that_have_left_do_changes_nothing() -> None:
    results: list[torch.Tensor] = []
    for is_changed in (False, True):
        collector, learners = learners_of("skirmish:3v3", 8)
        rollout = collector.collect(80)["ally"]
        assert (~rollout.acting).any()
        if is_changed:
            rollout.observations[~rollout.acting] = 7.0
        learners["ally"].algorithm.update(rollout, 10_000, 1)
        results.append(torch.cat([parameter.flatten() for parameter in learners["ally"].actor.parameters()]).detach())
    assert torch.equal(results[0], results[1])


@pytest.mark.timeout(240)
@pytest.mark.slow
def test_mappo_learns_to_spread() -> None:
    collector, learners = learners_of("mpe2.simple_spread_v3", 64, batched=True)
    while collector.env_steps < 60_000:
        for group, rollout in collector.collect(25).items():
            learners[group].algorithm.update(rollout, 2_400, 10)
    first, last = np.mean(collector.finished[:128]), np.mean(collector.finished[-256:])
    assert last > first + 3.0, f"returns went from {first:.2f} to {last:.2f}"
