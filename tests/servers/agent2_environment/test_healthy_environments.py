"""Healthy environments get no error and no warning; their true notes stand in this golden table."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp_types import CallToolResult

Call = Callable[..., Awaitable[CallToolResult]]

FAST: dict[str, set[str]] = {
    "CartPole-v1": {"reward-constant"},
    "Pendulum-v1": set(),
    "FrozenLake-v1": set(),
    "LunarLander-v3": set(),
    "InvertedPendulum-v5": {"reward-constant"},
}
SLOW: dict[str, set[str]] = {}
SPACES: dict[str, tuple[str, str]] = {
    "CartPole-v1": ("box", "discrete"),
    "Pendulum-v1": ("box", "box"),
    "FrozenLake-v1": ("discrete", "discrete"),
}


async def check(name: str, notes: set[str], call: Call) -> None:
    result = await call("inspect_environment", environment=name, detail="full")
    answer: dict[str, Any] = result.structured_content or {}
    assert not result.is_error, result
    findings = answer["report"]["findings"]
    assert all(finding["severity"] == "note" for finding in findings), findings
    assert {finding["code"] for finding in findings} == notes
    assert answer["state"] == "finished"
    assert answer["report"]["is_deterministic"] is True
    random, zero = answer["report"]["episodes"]
    assert (random["policy"], zero["policy"]) == ("random", "zero")
    assert random["env_steps"] >= 1000
    assert zero["env_steps"] >= 200
    assert answer["report"]["source_sha256"]
    assert answer["report"]["isolation"]["tier"] in "ABCD"
    if name in SPACES:
        kinds = answer["report"]["observation_space"]["kind"], answer["report"]["action_space"]["kind"]
        assert kinds == SPACES[name]


@pytest.mark.anyio
@pytest.mark.parametrize("name", FAST)
async def test_a_healthy_environment_gets_its_golden_notes_only(name: str, call: Call) -> None:
    await check(name, FAST[name], call)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("name", SLOW)
async def test_every_other_classic_gets_its_golden_notes_only(name: str, call: Call) -> None:
    await check(name, SLOW[name], call)
