"""The servers as the Generator calls them: what hangs, what never ends and what is not there each get a clear end."""

import signal
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer

from agent2_generator import servers as module
from agent2_generator.cli import innermost
from agent2_generator.servers import ServerLost, Servers, connect_servers
from agent2_schemas import CorrectableError, EnvironmentFamilies, PrerequisiteError, RunFailed, RunList

pytestmark = pytest.mark.anyio


async def test_a_server_that_hangs_ends_with_its_name_and_its_log(
    workspace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CALL_TIMEOUT_SECONDS", 1.0)
    with anyio.fail_after(30):
        async with connect_servers(workspace=workspace_folder, names=("metrics",)) as servers:
            hanging = [each for each in psutil.Process().children() if "agent2_metrics" in " ".join(each.cmdline())]
            assert len(hanging) == 1
            hanging[0].send_signal(signal.SIGSTOP)
            with pytest.raises(ServerLost, match=r"metrics server hangs: list_runs was not answered for 1 s") as caught:
                await servers.call("metrics", "list_runs", RunList, project="any")
            assert str(workspace_folder / "logs" / "metrics.log") in caught.value.advice
            with pytest.raises(ServerLost, match=r"refine_from_feedback was not answered"):
                await servers.get_prompt("metrics", "refine_from_feedback", project="any", candidate="c1")
    assert not hanging[0].is_running()


def answering(state: str, times: int = 10**9) -> tuple[MCPServer[Any], list[int]]:
    """A server whose tool gives this state so many times, then `finished`; and the count of its calls."""
    server: MCPServer[Any] = MCPServer("stub")
    calls: list[int] = []

    @server.tool()
    def list_environments() -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]  # the decorator keeps it
        calls.append(len(calls))
        ended = len(calls) > times
        return {"state": "finished" if ended else state, "message": "as planted", "families": []}

    return server, calls


async def ask(server: MCPServer[Any], folder: Path) -> EnvironmentFamilies:
    async with Client(server) as client:
        try:
            return await Servers({"environment": client}, folder).call(
                "environment", "list_environments", EnvironmentFamilies
            )
        except RunFailed as error:
            caught = error
    raise caught  # outside of the client, whose task group would wrap it


async def test_work_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORK_TIMEOUT_SECONDS", 0.5)
    server, calls = answering("running")
    with anyio.fail_after(20), pytest.raises(ServerLost, match=r"has answered `running` for 0\.5 s"):
        await ask(server, tmp_path)
    assert 2 <= len(calls) <= 4, "it is asked again, and not without a pause"


async def test_work_that_goes_on_is_asked_for_until_it_has_ended(tmp_path: Path) -> None:
    server, calls = answering("running", times=2)
    assert (await ask(server, tmp_path)).state == "finished"
    assert len(calls) == 3


async def test_work_that_failed_says_why(tmp_path: Path) -> None:
    server, _ = answering("failed")
    with pytest.raises(RunFailed, match="as planted"):
        await ask(server, tmp_path)


async def test_a_refusal_is_passed_on_with_its_advice(workspace_folder: Path) -> None:
    with anyio.fail_after(30):
        async with connect_servers(workspace=workspace_folder, names=("metrics",)) as servers:
            with pytest.raises(CorrectableError, match="There is no project 'any'"):
                await servers.call("metrics", "list_runs", RunList, project="any")


async def test_an_address_where_nothing_listens_is_said(workspace_folder: Path) -> None:
    address = "http://127.0.0.1:9/mcp"
    caught: BaseException | None = None
    with anyio.fail_after(30):
        try:
            async with connect_servers(workspace=workspace_folder, addresses={"metrics": address}, names=("metrics",)):
                pass
        except BaseExceptionGroup as group:
            caught = innermost(group)
    assert isinstance(caught, PrerequisiteError)
    assert f"metrics server ({address}) does not answer: ConnectError" in caught.message
