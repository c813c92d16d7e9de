"""The server as a client sees it: five strict tools, a prompt, a resource, errors with advice."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from agent2_environment.server import FAMILIES_URI, build_server

Call = Callable[..., Awaitable[CallToolResult]]
TextOf = Callable[[CallToolResult], str]

TOOLS = {"list_environments", "inspect_environment", "read_environment_source", "sample_episodes", "render_episode"}


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_both_eras_list_the_same_five_tools_one_prompt_and_one_resource(mode: Any) -> None:
    async with Client(build_server().mcp, mode=mode) as client:
        with anyio.fail_after(10):
            tools = (await client.list_tools()).tools
            prompts = (await client.list_prompts()).prompts
            resources = (await client.list_resources()).resources
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.title and tool.annotations and tool.output_schema for tool in tools)
    assert [prompt.name for prompt in prompts] == ["analyze_problem"]
    assert [str(resource.uri) for resource in resources] == [FAMILIES_URI]


@pytest.mark.anyio
async def test_an_unknown_id_names_the_nearest_ones(call: Call, text_of: TextOf) -> None:
    result = await call("inspect_environment", environment="CartPol-v1")
    assert result.is_error
    assert "CartPole-v1" in text_of(result)


@pytest.mark.anyio
async def test_a_misspelt_argument_is_refused_and_named(client: Client, text_of: TextOf) -> None:
    result = await client.call_tool("inspect_environment", {"environment": "CartPole-v1", "projekt": "cart"})
    assert result.is_error
    assert "projekt" in text_of(result)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "x" * 65])
async def test_a_project_name_that_is_no_name_is_refused(name: str, call: Call) -> None:
    result = await call("inspect_environment", environment="CartPole-v1", project=name)
    assert result.is_error


@pytest.mark.anyio
@pytest.mark.parametrize("tool", ["read_environment_source", "sample_episodes", "render_episode"])
async def test_a_project_that_is_not_open_says_how_to_open_one(tool: str, call: Call, text_of: TextOf) -> None:
    result = await call(tool, project="nothing")
    assert result.is_error
    assert "inspect_environment" in text_of(result)


@pytest.mark.anyio
async def test_families_tell_what_is_installed_and_the_line_that_installs_the_rest(
    call: Call, client: Client, text_of: TextOf
) -> None:
    result = await call("list_environments")
    families = {family["name"]: family for family in (result.structured_content or {})["families"]}
    assert {"classic_control", "toy_text", "box2d", "mujoco"} <= families.keys()
    assert "CartPole-v1" in families["classic_control"]["environments"]
    assert "CartPole-v0" not in families["classic_control"]["environments"]
    assert families["mujoco"]["count"] == 11
    assert families["mpe"]["count"] == 12
    assert "mpe2.simple_spread_v3" in families["mpe"]["environments"]
    assert families["skirmish"]["environments"] == ["skirmish:3v3", "skirmish:5v5", "skirmish:8v8"]
    assert "SC2PATH" in families["smacv2"]["install"]
    assert all(family["is_installed"] or family["install"] for family in families.values())
    one = await call("list_environments", family="toy_text")
    assert [family["name"] for family in (one.structured_content or {})["families"]] == ["toy_text"]
    wrong = await call("list_environments", family="mujko")
    assert wrong.is_error
    assert "mujoco" in text_of(wrong)
    with anyio.fail_after(60):
        resource = await client.read_resource(FAMILIES_URI)
    listed = json.loads(getattr(resource.contents[0], "text", ""))
    assert {family["name"] for family in listed["families"]} == families.keys()


@pytest.mark.anyio
async def test_a_concise_answer_stays_short(call: Call) -> None:
    result = await call("inspect_environment", environment="CartPole-v1")
    assert len(json.dumps(result.structured_content)) < 8000
    assert (result.structured_content or {})["report"]["observation_entries"]


def test_the_server_half_imports_neither_torch_nor_gymnasium_nor_numpy() -> None:
    code = (
        "import sys; from agent2_environment.server import build_server; build_server();"
        "print([m for m in ('torch', 'gymnasium', 'numpy', 'matplotlib') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.strip() == "[]"


@pytest.mark.anyio
async def test_it_answers_over_stdio_while_the_environment_prints(cases: Any, workspace_folder: Any) -> None:
    environment = {"AGENT2_ROOTS": str(cases), "AGENT2_WORKSPACE": str(workspace_folder)}
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "agent2_environment"], env=environment)
    with anyio.fail_after(100):
        async with Client(parameters) as client:
            name = f"{cases}/prints_in_step.py:Environment"
            result = await client.call_tool("inspect_environment", {"environment": name})
            while (result.structured_content or {}).get("state") == "running":
                result = await client.call_tool("inspect_environment", {"environment": name})
            assert not result.is_error, result
            found = {f["code"]: f for f in (result.structured_content or {})["report"]["findings"]}
            assert "from a subprocess" in found["output-while-stepping"]["evidence"]
            assert (await client.list_tools()).tools
