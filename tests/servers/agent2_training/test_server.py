"""The training server through its front door: tools, prompts, resource, and the way from a candidate to an agent."""

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from agent2_training.server import build_server
from agent2_workspace import CandidateFolder, ProjectFolder, RunFolder

pytestmark = pytest.mark.anyio


class Caller:
    """Calls tools of a connected server and follows those that answer `running`."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, {"project": "pole", **arguments})
        assert not result.is_error, result.content
        assert result.structured_content is not None
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, {"project": "pole", **arguments})
        assert result.is_error
        return str(getattr(result.content[0], "text", ""))

    async def finished(self, tool: str, **arguments: Any) -> dict[str, Any]:
        while (answer := await self(tool, **arguments))["state"] in ("running", "queued"):
            pass
        return answer


@pytest.fixture(params=["auto"])
async def call(request: pytest.FixtureRequest, workspace_folder: Path) -> AsyncIterator[Caller]:
    async with Client(build_server().mcp, mode=request.param) as client:
        yield Caller(client)


@pytest.mark.parametrize("call", ["auto", "legacy"], indirect=True)
async def test_eight_tools_three_prompts_and_one_resource_are_listed(call: Caller) -> None:
    tools = [tool.name for tool in (await call.client.list_tools()).tools]
    prompts = [prompt.name for prompt in (await call.client.list_prompts()).prompts]
    resources = [each.uri_template for each in (await call.client.list_resource_templates()).resource_templates]

    assert tools == [
        "list_algorithms", "suggest_training", "write_training", "start_training", "check_training", "stop_training",
        "evaluate_run", "export_target",
    ]  # fmt: skip
    assert prompts == ["select_algorithm", "design_network", "tune_hyperparameters"]
    assert resources == ["run://{project}/{run}"]


def test_the_server_half_imports_no_training_library() -> None:
    code = (
        "import sys; from agent2_training.server import build_server; build_server();"
        "print([m for m in ('torch', 'tianshou', 'gymnasium', 'numpy', 'jinja2', 'matplotlib') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


async def test_algorithms_are_marked_by_the_action_space_of_the_project(call: Caller, cartpole: ProjectFolder) -> None:
    cards = {card["name"]: card["is_applicable"] for card in (await call("list_algorithms"))["algorithms"]}

    assert cards == {"PPO": True, "DQN": True, "A2C": True, "SAC": False, "TD3": False}


async def test_suggestions_hold_the_preset_and_the_default_and_can_be_written(
    call: Caller, cartpole: ProjectFolder, lab: Any
) -> None:
    lab.candidate(cartpole)
    suggestions = (await call("suggest_training", algorithm="DQN"))["suggestions"]
    assert {each["name"] for each in suggestions} == {"tuned preset", "library default"}
    values = {name: value for name, value in suggestions[0]["hyperparameters"].items() if name != "algorithm"}
    written = await call("write_training", candidate="c1", algorithm="DQN", hyperparameters=values)

    assert written["design"]["hyperparameters"] == suggestions[0]["hyperparameters"]
    assert "class Actor" in (cartpole.candidate("c1").policy_file).read_text()
    assert [event.subject for event in cartpole.journal.events(kind="design-written")] == ["c1"]


async def test_an_unfit_design_gets_all_findings_and_writes_nothing(
    call: Caller, cartpole: ProjectFolder, lab: Any
) -> None:
    lab.candidate(cartpole)
    answer = await call(
        "write_training", candidate="c1", algorithm="PPO", hyperparameters={"learnig_rate": 0.1, "gamma": 7}
    )

    assert answer["state"] == "failed"
    assert any("learning_rate" in finding["advice"] for finding in answer["findings"])
    assert any("gamma" in finding["message"] for finding in answer["findings"])
    assert not cartpole.candidate("c1").design_file.exists()


async def test_foreseen_mistakes_say_what_to_do(call: Caller, cartpole: ProjectFolder, run: RunFolder) -> None:
    assert "projects: pole" in await call.refused("list_algorithms", project="nowhere")
    assert "did you mean 'algorithm'" in await call.refused("suggest_training", algoritm="PPO")
    assert "the newest: c1" in await call.refused("start_training", candidate="c9")
    assert "checkpoint" in await call.refused("evaluate_run", run=run.id, checkpoint="77")
    assert "purpose" in await call.refused("evaluate_run", run=run.id, purpose="card")
    assert "the newest: r1" in await call.refused("check_training", run="r9")


async def test_prompts_are_filled_with_the_projects_facts(
    call: Caller, cartpole: ProjectFolder, candidate: CandidateFolder, run: RunFolder
) -> None:
    texts: dict[str, str] = {}
    for name in ("select_algorithm", "design_network", "tune_hyperparameters"):
        result = await call.client.get_prompt(name, {"project": "pole", "candidate": "c1"})
        texts[name] = str(getattr(result.messages[0].content, "text", ""))

    assert all("balance the pole" in text and "CartPole-v1" in text for text in texts.values())
    assert "PPO" in texts["select_algorithm"]
    assert "SAC (" not in texts["select_algorithm"]
    assert "hidden_sizes" in texts["design_network"]
    assert "at most five" in texts["tune_hyperparameters"]
    assert "30 %" in texts["tune_hyperparameters"]
    assert "clip_range" in texts["tune_hyperparameters"]


async def test_a_run_can_be_read_as_a_resource(call: Caller, cartpole: ProjectFolder, run: RunFolder) -> None:
    contents = (await call.client.read_resource("run://pole/r1")).contents

    assert json.loads(str(getattr(contents[0], "text", "")))["checkpoints_env_steps"] == [100]


async def test_a_candidate_becomes_a_scored_and_delivered_agent(
    call: Caller, cartpole: ProjectFolder, lab: Any
) -> None:
    lab.candidate(cartpole)
    await call("write_training", candidate="c1", algorithm="PPO", budget_env_steps=2000)
    with anyio.fail_after(240):
        started = await call("start_training", candidate="c1", idempotency_key="first")
        again = await call("start_training", candidate="c1", idempotency_key="first")
        status = await call.finished("check_training", run=started["run_id"], wait_seconds=25)
        evaluation = await call.finished("evaluate_run", run="r1", episodes=10)
        exported = await call.finished("export_target", run="r1", episodes=10)
        second = await call.finished("export_target", run="r1", episodes=10)

    assert again["run_id"] == started["run_id"] == "r1"
    assert (status["state"], status["outcome"]) == ("finished", "ok"), status
    assert status["progress"]["env_steps"] >= 2000
    assert evaluation["state"] == "finished", evaluation
    assert len(evaluation["original_returns"]) == 10
    assert exported["card"]["purpose"] == "card"
    assert exported["card"]["seeds_sha256"] != evaluation["seeds_sha256"]
    assert second["card"] == exported["card"]
    manifest = json.loads((Path(exported["folder"]) / "manifest.json").read_text())
    assert {"video.mp4", "video.gif"} & set(manifest["files"]) or exported["message"].startswith("No video"), exported[
        "message"
    ]
    assert manifest["card_stochastic"]["mode"] == "stochastic"
    assert manifest["checkpoint_env_steps"] == evaluation["checkpoint_env_steps"]
    assert {event.kind for event in cartpole.journal.events()} >= {"run-started", "run-ended", "evaluation", "export"}
