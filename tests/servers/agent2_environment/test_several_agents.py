"""Environments of several agents: what their inspection says, and that healthy ones get their golden notes only."""

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcp_types import CallToolResult

Call = Callable[..., Awaitable[CallToolResult]]

FAST: dict[str, set[str]] = {
    "mpe2.simple_spread_v3": {"feature-constant"},
    "mpe2.simple_tag_v3": set(),
    "skirmish:3v3": {"agents-leave"},
}
SLOW: dict[str, set[str]] = {
    "mpe2.collect_treasure_v1": set(),
    "mpe2.simple_v3": set(),
    "mpe2.simple_adversary_v3": set(),
    "mpe2.simple_crypto_v3": {"feature-constant"},
    "mpe2.simple_formation_v1": set(),
    "mpe2.simple_line_v1": set(),
    "mpe2.simple_push_v3": {"feature-constant"},
    "mpe2.simple_reference_v3": set(),
    "mpe2.simple_speaker_listener_v4": set(),
    "mpe2.simple_world_comm_v3": set(),
    "skirmish:8v8": {"agents-leave"},
}


async def inspected(call: Call, name: str, **arguments: Any) -> dict[str, Any]:
    result = await call("inspect_environment", environment=name, detail="full", **arguments)
    assert not result.is_error, result
    return result.structured_content or {}


async def check(name: str, notes: set[str], call: Call, **arguments: Any) -> None:
    report = (await inspected(call, name, **arguments))["report"]
    assert {(finding["code"], finding["severity"]) for finding in report["findings"]} == {(n, "note") for n in notes}
    assert report["is_deterministic"] is True
    assert [one["policy"] for one in report["episodes"]] == ["random", "zero"]
    assert report["groups"]


@pytest.mark.anyio
@pytest.mark.parametrize("name", FAST)
async def test_healthy_agents_get_their_golden_notes_only(name: str, call: Call) -> None:
    await check(name, FAST[name], call)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("name", SLOW)
async def test_every_other_scenario_gets_its_golden_notes_only(name: str, call: Call) -> None:
    await check(name, SLOW[name], call)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("name", [name for name in (*FAST, *SLOW) if name.startswith("mpe2.simple")])
async def test_every_scenario_with_box_actions_gets_one_note_more(name: str, call: Call) -> None:
    notes = {**FAST, **SLOW}[name] | {"action-range"}
    await check(name, notes, call, keyword_arguments={"continuous_actions": True})


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.skipif(find_spec("jaxmarl") is None, reason="needs the extra smax")
async def test_a_compiled_battle_is_inspected_like_any_other(call: Call) -> None:
    report = (await inspected(call, "smax:3m"))["report"]
    warnings = {finding["code"] for finding in report["findings"] if finding["severity"] != "note"}
    assert warnings <= {"slow-start"}, "importing jax is slow, and that is all"
    assert (report["backend"], report["state_size"], report["packages"]["jaxmarl"]) == ("smax", 72, "0.2.0")


@pytest.mark.anyio
async def test_the_report_tells_the_groups_and_returns_are_means_over_agents(call: Call) -> None:
    result = await call("inspect_environment", environment="mpe2.simple_tag_v3", detail="full")
    report = (result.structured_content or {})["report"]
    chasers, runner = report["groups"]
    assert (chasers["name"], len(chasers["agents"]), chasers["observation_space"]["shape"]) == ("adversary", 3, [16])
    assert (runner["name"], len(runner["agents"]), runner["action_space"]["n"]) == ("agent", 1, 5)
    assert (report["is_cooperative"], report["state_size"], report["backend"]) == (False, 62, "mpe2")
    mean = (3 * chasers["mean_original_return"] + runner["mean_original_return"]) / 4
    assert report["episodes"][0]["mean_original_return"] == pytest.approx(mean)
    assert "4 agents in groups with rewards of their own (mpe2)" in result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]
    assert "mean episode return per agent" in result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.anyio
async def test_a_project_is_opened_with_recordings_of_every_group(call: Call) -> None:
    answer = await inspected(call, "skirmish:3v3", project="battle")
    recordings = Path(answer["project_folder"]) / "recordings"
    with np.load(recordings / "random.npz") as recording:
        steps = len(recording["original_reward"])
        assert recording["observation/ally"].shape == (steps, 3, 29)
        assert recording["action/ally"].shape == recording["original_reward/ally"].shape == (steps, 3)
        masks, taken = recording["action_mask/ally"], recording["action/ally"]
        assert np.take_along_axis(masks, taken[..., None], axis=2).all(), "what was taken was legal"
        assert not recording["observation/ally"][~recording["alive/ally"]].any()
        assert recording["next_state"].shape == (steps, 25)
        assert recording["info/battle_won"].shape == (steps,)


@pytest.mark.anyio
async def test_episodes_are_played_and_drawn(call: Call) -> None:
    await inspected(call, "skirmish:3v3", project="battle")
    played = await call("sample_episodes", project="battle", episodes=3)
    assert len((played.structured_content or {})["original_returns"]) == 3
    drawn = await call("render_episode", project="battle")
    assert Path((drawn.structured_content or {})["file"]).stat().st_size > 0
