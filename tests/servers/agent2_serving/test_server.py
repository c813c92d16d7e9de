"""The demo server in memory, in both protocol eras: strict arguments, errors with advice, finite numbers."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from agent2_schemas import Frozen
from agent2_serving import READ, Server, reply

pytestmark = pytest.mark.anyio


class Empty(Frozen):
    """An answer that says nothing."""


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, build_demo: Callable[[], Server]) -> AsyncIterator[Client]:
    """A client of the demo server."""
    async with Client(build_demo().mcp, mode=request.param) as connected:
        yield connected


async def text_of_error(client: Client, tool: str, arguments: dict[str, object]) -> str:
    """Call a tool that must fail, and return what it says."""
    with anyio.fail_after(10):
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    return result.content[0].text  # pyright: ignore[reportAttributeAccessIssue]


async def test_text_and_data_each_tell_the_answer(client: Client) -> None:
    with anyio.fail_after(10):
        result = await client.call_tool("echo", {"word": "ab", "times": 2, "settings": {"learning_rate": 0.5}})
    assert not result.is_error
    assert result.content[0].text == "abab at 0.5"  # pyright: ignore[reportAttributeAccessIssue]
    assert result.structured_content == {"word": "abab", "value": None, "strict_value": 0.0, "state": "finished"}


async def test_a_misspelt_argument_is_refused_with_the_nearest_name(client: Client) -> None:
    text = await text_of_error(client, "echo", {"word": "a", "tims": 2})
    assert "'tims' (did you mean 'times'?)" in text
    assert "Known: word, times, settings" in text


async def test_a_misspelt_name_inside_an_argument_is_refused(client: Client) -> None:
    text = await text_of_error(client, "echo", {"word": "a", "settings": {"learnig_rate": 1}})
    assert "settings.learnig_rate" in text


async def test_every_fault_of_the_arguments_is_named_at_once(client: Client) -> None:
    text = await text_of_error(client, "echo", {"times": 99})
    assert "2 fault(s) in arguments" in text
    assert "word: Field required" in text
    assert "times: Input should be less than or equal to 9 (got 99)" in text
    assert "http" not in text


async def test_the_published_schema_closes_the_arguments_and_repeats_no_titles(client: Client) -> None:
    with anyio.fail_after(10):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    schema = tools["echo"].input_schema
    assert schema["additionalProperties"] is False
    assert "title" not in schema["properties"]["word"]
    assert all(
        tool.title and tool.annotations and tool.annotations.read_only_hint is not None for tool in tools.values()
    )


async def test_a_foreseen_error_carries_its_advice(client: Client) -> None:
    assert await text_of_error(client, "fail", {"way": "foreseen"}) == "There is no run 'x'. Call list_runs."


async def test_a_schema_error_inside_a_tool_names_its_fields(client: Client) -> None:
    text = await text_of_error(client, "fail", {"way": "schema"})
    assert text.startswith("2 fault(s) in Settings: learning_rate: ")
    assert "learnig_rate" in text


async def test_an_unforeseen_error_says_what_happened_and_where_the_traceback_is(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    text = await text_of_error(client, "fail", {"way": "bug"})
    assert "Unforeseen ZeroDivisionError in tool fail: a bug" in text
    assert "log of server 'demo'" in text
    assert "ZeroDivisionError: a bug" in caplog.text


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
async def test_a_number_that_is_not_finite_becomes_null(client: Client, value: str) -> None:
    with anyio.fail_after(10):
        result = await client.call_tool("number", {"value": value})
    assert not result.is_error
    assert result.structured_content is not None
    assert result.structured_content["value"] is None
    assert len(result.content[0].text) <= 600  # pyright: ignore[reportAttributeAccessIssue]


async def test_a_field_that_must_be_finite_is_named_when_it_is_not(client: Client) -> None:
    assert "strict_value" in await text_of_error(client, "fail", {"way": "not-finite"})


async def test_an_unknown_tool_is_answered_with_the_known_ones(client: Client) -> None:
    assert "Known: echo, fail," in await text_of_error(client, "ecko", {})


async def test_prompts_and_resources_pass_advice_on(client: Client) -> None:
    with anyio.fail_after(10):
        prompt = await client.get_prompt("greet", {"name": "Ada"})
        assert prompt.messages[0].content.text == "Hello Ada"  # pyright: ignore[reportAttributeAccessIssue]
        resource = await client.read_resource("demo://a")
        assert resource.contents[0].text == "thing a"  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(MCPError, match=r"There is nobody\. Name somebody\."):
            await client.get_prompt("greet", {"name": "nobody"})
        with pytest.raises(MCPError, match=r"There is nothing\."):
            await client.read_resource("demo://nothing")


async def test_work_of_a_minute_answers_running_and_is_picked_up_again(client: Client) -> None:
    seen: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(message)

    with anyio.fail_after(10):
        result = await client.call_tool("work", {"seconds": 60, "wait_seconds": 0.05}, progress_callback=on_progress)
        assert result.structured_content is not None
        assert result.structured_content["state"] == "running"
        states: list[str] = []
        while not states or states[-1] == "running":
            again = await client.call_tool("work", {"seconds": 0.3, "wait_seconds": 0.2})
            assert again.structured_content is not None
            states.append(again.structured_content["state"])
    assert states == ["running", "finished"]
    assert seen
    assert "still at work" in str(seen[0])


def test_a_tool_that_breaks_a_house_rule_is_refused_when_the_server_is_sealed() -> None:
    server = Server("bad", instructions="")

    @server.tool(title="", annotations=READ, name="Bad-Name")
    def bad() -> Annotated[CallToolResult, Empty]:
        return reply("", Empty())

    with pytest.raises(ValueError, match=r"'Bad-Name' is not a lower-case name.*lacks a title or a docstring"):
        server.sealed()


def test_two_tools_of_one_name_are_refused() -> None:
    server = Server("bad", instructions="")
    server.tool(title="A", annotations=READ, name="same")(lambda: None)
    with pytest.raises(ValueError, match="two tools are called 'same'"):
        server.tool(title="B", annotations=READ, name="same")(lambda: None)


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_that_gives_no_answer_is_left_behind_at_the_deadline(
    is_async: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server("slow", instructions="")
    monkeypatch.setattr(type(server.mcp), "answer_seconds", 0.1)
    release = anyio.Event()

    async def forget() -> Annotated[CallToolResult, Empty]:
        """Wait for what never comes."""
        await release.wait()
        return reply("", Empty())

    def block() -> Annotated[CallToolResult, Empty]:
        """Wait for what never comes, in a thread."""
        anyio.from_thread.run(release.wait)
        return reply("", Empty())

    server.tool(title="Forget", annotations=READ, name="forget")(forget if is_async else block)
    async with Client(server.sealed().mcp) as client:
        assert "forget gave no answer within 0 s" in await text_of_error(client, "forget", {})
        release.set()
