"""Faulty environments of several agents get the finding of their fault, with agent, step and advice."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult

Call = Callable[..., Awaitable[CallToolResult]]
TextOf = Callable[[CallToolResult], str]

FAULTS: dict[str, tuple[str, str, str]] = {
    "global generator": ("not-reproducible", "warning", "the global NumPy generator"),
    "out of bounds": ("observation-out-of-bounds", "warning", "declared -1 … 1"),
    "float64": ("observation-dtype", "warning", "cast to the declared float32"),
    "shape": ("interface-broken", "error", "At step 20: the observation of agent north_0 has shape (3,)"),
    "nan observation": ("observation-not-finite", "error", "At step 20: the observation of agent north_0"),
    "nan reward": ("reward-not-finite", "error", "At step 37: the reward of agent north_1 is nan"),
    "stranger": ("interface-broken", "error", "agent west_9 is not among possible_agents"),
    "exit": ("exit-in-step", "error", "sys.exit(0) at step 20"),
    "exception": ("exception-in-step", "error", "the north wall is gone at step 20"),
    "print": ("output-while-stepping", "warning", "bytes in 1000 steps"),
}


@pytest.fixture(autouse=True)
def allowed_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow the folder of this test, as the command does for a file that a person typed."""
    monkeypatch.setenv("AGENT2_ROOTS", str(Path(__file__).parent))


def reference(fault: str) -> dict[str, Any]:
    file = Path(__file__).with_name("odd_agents.py")
    return {"environment": f"{file}:parallel_env", "keyword_arguments": {"fault": fault}}


@pytest.mark.anyio
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_found_and_only_that_one(fault: str, call: Call, text_of: TextOf) -> None:
    result = await call("inspect_environment", **reference(fault), detail="full")
    assert not result.is_error, text_of(result)
    findings = (result.structured_content or {})["report"]["findings"]
    found = [finding for finding in findings if finding["severity"] != "note"]
    code, severity, words = FAULTS[fault]
    assert [(finding["code"], finding["severity"]) for finding in found] == [(code, severity)]
    assert words in found[0]["message"]
    assert found[0]["advice"]


@pytest.mark.anyio
async def test_without_a_fault_there_is_no_error_and_no_warning(call: Call, text_of: TextOf) -> None:
    result = await call("inspect_environment", **reference(""), detail="full")
    assert not result.is_error, text_of(result)
    findings = (result.structured_content or {})["report"]["findings"]
    assert {finding["code"] for finding in findings} == {"global-state"}


@pytest.mark.anyio
async def test_actions_of_several_choices_are_refused_by_name(call: Call, text_of: TextOf) -> None:
    result = await call("inspect_environment", **reference("several choices"))
    assert result.is_error
    assert "agent north_0 is a multi_discrete space" in text_of(result)
