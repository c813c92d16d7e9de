"""A client alone, without the Generator: from an environment to a delivered agent and its report, four stdio servers."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SERVERS = ("environment", "mdp", "training", "metrics")
CODE = '''"""Angles and speeds at comparable scale."""
import numpy as np

SCALE = np.array([2.4, 2.0, 0.21, 2.0])


def observe(observation):
    return np.clip(observation / SCALE, -5.0, 5.0).astype(np.float32)
'''


class Journey:
    """Tools of four servers, each called until it no longer answers `running`."""

    def __init__(self, clients: dict[str, Client]) -> None:
        self._clients = clients

    async def __call__(self, server: str, tool: str, **arguments: Any) -> dict[str, Any]:
        while True:
            result = await self._clients[server].call_tool(tool, arguments, read_timeout_seconds=60)
            assert not result.is_error, result.content
            assert result.structured_content is not None
            assert result.structured_content.get("state") != "failed", result.structured_content
            is_under_way = result.structured_content.get("state") in ("running", "queued")
            if tool == "start_training" or not is_under_way:
                return result.structured_content


@pytest.fixture
async def journey(workspace_folder: Path) -> AsyncIterator[Journey]:
    environment = {**os.environ, "AGENT2_WORKSPACE": str(workspace_folder)}
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(
                Client(StdioServerParameters(command=sys.executable, args=["-m", f"agent2_{name}"], env=environment))
            )
            for name in SERVERS
        }
        yield Journey(clients)


async def test_a_client_alone_goes_from_inspection_to_a_delivered_agent_and_its_report(journey: Journey) -> None:
    with anyio.fail_after(600):
        inspection = await journey(
            "environment", "inspect_environment", environment="CartPole-v1", project="alone", task="balance the pole"
        )
        candidate = await journey("mdp", "write_mdp", project="alone", code=CODE, title="scaled")
        written = await journey(
            "training", "write_training", project="alone", candidate=candidate["candidate_id"], algorithm="PPO",
            budget_env_steps=8000,
        )  # fmt: skip
        run = await journey("training", "start_training", project="alone", candidate=candidate["candidate_id"])
        status = await journey("training", "check_training", project="alone", run="r1", wait_seconds=25)
        evaluation = await journey("training", "evaluate_run", project="alone", run="r1")
        diagnosis = await journey("metrics", "diagnose_run", project="alone", run="r1")
        runs = await journey("metrics", "list_runs", project="alone")
        exported = await journey("training", "export_target", project="alone", run="r1")
        report = await journey("metrics", "write_report", project="alone")

    assert inspection["report"]["max_episode_steps"] == 500
    assert candidate["report"]["is_accepted"], candidate
    assert written["design"]["mdp"]["parts"] == ["observe"]
    assert (run["run_id"], status["state"]) == ("r1", "finished"), status
    assert evaluation["mean_original_return"] > 60
    assert diagnosis["diagnosis"]["source"] == "r1"
    assert [each["run_id"] for each in runs["runs"]] == ["r1"]
    target = Path(exported["folder"])
    assert (target / "report.html").exists()
    assert Path(report["file"]).read_text().startswith("<!")
    score = json.loads(
        subprocess.check_output([sys.executable, "evaluate.py", "--episodes", "5", "--json"], cwd=target, timeout=120)
    )
    assert score["episodes"] == 5
    assert score["mean_original_return"] > 60
