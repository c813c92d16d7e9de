"""References of environments of several agents: what they name, and what is said where they name nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent2_targets.runtime.failures import BuildError
from agent2_targets.runtime.multi_agent.building import build_multi_agent, is_multi_agent

HERE = str(Path(__file__).parent)
COMPETITIVE = {"simple_adversary_v3", "simple_crypto_v3", "simple_push_v3", "simple_tag_v3", "simple_world_comm_v3"}
MPE = [
    "collect_treasure_v1",
    "simple_v3",
    "simple_adversary_v3",
    "simple_crypto_v3",
    "simple_formation_v1",
    "simple_line_v1",
    "simple_push_v3",
    "simple_reference_v3",
    "simple_speaker_listener_v4",
    "simple_spread_v3",
    "simple_tag_v3",
    "simple_world_comm_v3",
]


@pytest.mark.parametrize("scenario", MPE)
def test_every_mpe_scenario_is_built_with_its_own_state_and_limit(scenario: str) -> None:
    batch: Any = build_multi_agent({"name": f"mpe2.{scenario}"}, 1)
    joint = batch.reset([0])
    assert joint.state[0].tolist() == batch.environments[0].state().tolist()
    assert batch.layout.max_episode_steps == 25
    assert batch.layout.backend == "mpe2"
    assert batch.layout.is_cooperative == (scenario not in COMPETITIVE)
    assert batch.adaptations == []


def test_a_frame_is_drawn_where_frames_are_wanted() -> None:
    batch = build_multi_agent({"name": "mpe2.simple_spread_v3"}, 1, render_mode="rgb_array")
    batch.reset([0])
    frame = batch.render()
    assert frame is not None
    assert frame.shape == (700, 700, 3)


@pytest.mark.parametrize("name", ["CartPole-v1", "gymnasium.envs.classic_control:CartPoleEnv", "no.such.module:Class"])
def test_other_references_are_not_taken_for_several_agents(name: str) -> None:
    assert not is_multi_agent({"name": name})


@pytest.mark.parametrize("text", ["class Pair(ParallelEnv): ...", "def pair() -> ParallelEnv: ..."])
def test_a_class_alone_or_a_function_that_says_what_it_returns_is_known(text: str, tmp_path: Path) -> None:
    name = f"pair_{len(text)}"
    (tmp_path / f"{name}.py").write_text(f"from pettingzoo import ParallelEnv\n{text}\n")
    member = ":pair" if "def" in text else ""
    assert is_multi_agent({"name": f"{name}.py{member}"}, root=str(tmp_path))


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ({"name": "pettingzoo.mpe.simple_spread_v3"}, "moved"),
        ({"name": "mpe2.simple_spred_v3"}, "module-not-found"),
        ({"name": "mpe2.simple_spread_v3", "keyword_arguments": {"M": 3}}, "unknown-arguments"),
        ({"name": "mpe2.simple_spread_v3", "wrappers": [{"name": "a:B"}]}, "wrapper-failed"),
        ({"name": "skirmish:0v3"}, "unknown-id"),
        ({"name": "skirmish:3v3", "keyword_arguments": {"speed": 2}}, "unknown-arguments"),
        ({"name": "leaving.py:Nothing"}, "not-multi-agent"),
    ],
)
def test_what_cannot_be_built_is_told_by_name(reference: dict[str, Any], code: str) -> None:
    with pytest.raises(BuildError) as caught:
        build_multi_agent(reference, 1, root=HERE)
    assert caught.value.code == code
