"""The SDK's client, in both protocol eras and over every transport, lists and calls the tools of each real server."""

import json
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client

pytestmark = pytest.mark.anyio

Connect = Callable[..., AbstractAsyncContextManager[Client]]

TOOLS = {
    "environment": [
        "list_environments", "inspect_environment", "read_environment_source", "sample_episodes", "render_episode",
    ],
    "mdp": ["suggest_mdp", "write_mdp", "preview_mdp", "read_candidate"],
    "training": [
        "list_algorithms", "suggest_training", "write_training", "start_training", "check_training", "stop_training",
        "evaluate_run", "export_target",
    ],
    "metrics": ["list_runs", "read_curves", "diagnose_run", "compare_runs", "plot_curves", "write_report"],
}  # fmt: skip
CALLS = {
    "environment": ("list_environments", {}),
    "mdp": ("suggest_mdp", {"project": "conformance"}),
    "training": ("list_algorithms", {"project": "conformance"}),
    "metrics": ("list_runs", {"project": "conformance"}),
}
PROMPTS = {
    "environment": {"analyze_problem"},
    "mdp": {"design_observation", "design_action", "design_reward", "repair_code"},
    "training": {"select_algorithm", "design_network", "tune_hyperparameters"},
    "metrics": {"refine_from_feedback"},
}
DEFINITIONS_AT_MOST_CHARACTERS = 24_000
"""About 6,000 tokens of definitions for all four servers together."""

ANSWER_AT_MOST_CHARACTERS = 8_000
"""About 2,000 tokens for an answer that nobody asked to be long."""

each_server = pytest.mark.parametrize("name", list(TOOLS))


@each_server
@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_a_client_that_is_not_ours_lists_and_calls_the_tools(
    connect: Connect, project: str, name: str, transport: str, era: str
) -> None:
    assert project == "conformance"
    with anyio.fail_after(60):
        async with connect(name, transport, era) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == TOOLS[name]
            tool, arguments = CALLS[name]
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content
            schema = tools[tool].output_schema
            assert schema is not None
            Draft202012Validator(schema).validate(result.structured_content)
            refused = await client.call_tool(tool, {**arguments, "projct": "x"})
            assert refused.is_error


@each_server
async def test_tools_tell_a_host_what_it_must_know(connect: Connect, name: str) -> None:
    with anyio.fail_after(60):
        async with connect(name, "http", "auto") as client:
            tools = (await client.list_tools()).tools
    assert len(tools) <= 8
    for tool in tools:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name)
        assert tool.title, tool.name
        assert tool.description, tool.name
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is not None, tool.name
        assert tool.output_schema is not None, tool.name
        assert tool.input_schema["additionalProperties"] is False, tool.name


async def test_the_definitions_of_all_servers_fit_their_budget(connect: Connect) -> None:
    sizes: dict[str, int] = {}
    with anyio.fail_after(60):
        for name in TOOLS:
            async with connect(name, "http", "auto") as client:
                for tool in (await client.list_tools()).tools:
                    seen = {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
                    sizes[tool.name] = len(json.dumps(seen))
    assert len(sizes) == sum(len(tools) for tools in TOOLS.values()) <= 30
    assert sum(sizes.values()) <= DEFINITIONS_AT_MOST_CHARACTERS, sizes


@each_server
async def test_an_answer_is_short_unless_more_was_asked_for(connect: Connect, project: str, name: str) -> None:
    tool, arguments = CALLS[name]
    with anyio.fail_after(60):
        async with connect(name, "http", "auto") as client:
            result = await client.call_tool(tool, arguments)
    assert project
    assert len(json.dumps(result.structured_content)) <= ANSWER_AT_MOST_CHARACTERS
    assert len(result.content[0].text) <= 600  # pyright: ignore[reportAttributeAccessIssue]


@each_server
async def test_a_project_that_does_not_exist_is_an_error_that_says_what_to_do(connect: Connect, name: str) -> None:
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "environment": ("read_environment_source", {"project": "nowhere"}),
        "mdp": ("suggest_mdp", {"project": "nowhere"}),
        "training": ("check_training", {"project": "nowhere", "run": "run-1"}),
        "metrics": ("list_runs", {"project": "nowhere"}),
    }
    with anyio.fail_after(60):
        async with connect(name, "http", "auto") as client:
            result = await client.call_tool(*calls[name])
    text = result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]
    assert result.is_error
    assert "nowhere" in text
    assert "Unforeseen" not in text


@each_server
async def test_prompts_are_listed_with_a_title_and_can_be_read(connect: Connect, project: str, name: str) -> None:
    with anyio.fail_after(60):
        async with connect(name, "http", "legacy") as client:
            prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
            assert set(prompts) == PROMPTS[name]
            for prompt in prompts.values():
                assert prompt.title, prompt.name
                names = [argument.name for argument in prompt.arguments or [] if argument.required]
                if names == ["project"]:
                    text = await client.get_prompt(prompt.name, {"project": project})
                    assert text.messages
