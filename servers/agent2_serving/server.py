"""One MCP server of the house: the SDK's server with strict arguments, advice in errors and a deadline for answers."""

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.extension import Extension
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, InputRequiredResult, ToolAnnotations

from agent2_schemas import Agent2Error, NotFound
from agent2_serving.failures import advice_for, unknown_arguments

Function = TypeVar("Function", bound=Callable[..., Any])

ANSWER_SECONDS = 40.0
"""Hosts give up after a minute; what may take longer answers `running` before this."""

TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
TOOLS_AT_MOST = 8


class _StrictServer(MCPServer[Any]):
    """The SDK's server, with our way of saying what went wrong."""

    answer_seconds = ANSWER_SECONDS

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; every failure leaves as a tool error that says what to do next."""
        tool = self._tool_manager.get_tool(name)
        if tool is None:
            known = ", ".join(each.name for each in self._tool_manager.list_tools())
            raise ToolError(f"There is no tool {name!r}. Known: {known}.")
        complaint = unknown_arguments(set(arguments), list(tool.parameters.get("properties", {})))
        if complaint is not None:
            raise ToolError(complaint)
        with anyio.move_on_after(self.answer_seconds):
            try:
                return await super().call_tool(name, arguments, context)
            except ToolError as error:
                # The SDK hides what it did not foresee behind the tool's name and keeps the original as the cause.
                raise advice_for(error.__cause__ or error, server=self.name, subject=f"tool {name}") from None
        raise ToolError(
            f"{name} gave no answer within {self.answer_seconds:.0f} s. Call it again with less to do; "
            "what it had already saved is kept."
        )

    def seal(self) -> None:
        """Check every tool and publish that it takes no other arguments; called once, after the last registration.

        Raises:
            ValueError: a tool breaks a rule of the house; all faults are named.
        """
        tools = self._tool_manager.list_tools()
        faults = [f"{len(tools)} tools, at most {TOOLS_AT_MOST}"] if len(tools) > TOOLS_AT_MOST else []
        for tool in tools:
            if not TOOL_NAME.fullmatch(tool.name):
                faults.append(f"{tool.name!r} is not a lower-case name of at most 64 characters")
            if not tool.title or not tool.description.strip():
                faults.append(f"{tool.name} lacks a title or a docstring")
            if tool.annotations is None or tool.annotations.read_only_hint is None:
                faults.append(f"{tool.name} lacks annotations: READ, WRITE or DESTROY")
            tool.description = inspect.cleandoc(tool.description)
            tool.parameters = {**_without_titles(tool.parameters), "additionalProperties": False}
        if faults:
            raise ValueError(f"server {self.name}: " + "; ".join(faults))

    def has_tool(self, name: str) -> bool:
        """Whether a tool of this name is registered."""
        return self._tool_manager.get_tool(name) is not None


class Server:
    """A server under construction: register tools, prompts and resources, then return `sealed()`.

    Args:
        name: what the server is about; also its path when several share one process.
        instructions: what a model should know before it looks at the tools.
        extensions: protocol extensions, such as the SDK's `Apps` for charts.
    """

    def __init__(self, name: str, *, instructions: str, extensions: Sequence[Extension] = ()) -> None:
        """Create the SDK's server; `mcp` is that object."""
        self.name = name
        self._strict = _StrictServer(
            name,
            title=f"Agent² {name}",
            version=_version(),
            instructions=instructions,
            log_level="WARNING",
            extensions=list(extensions),
        )

    @property
    def mcp(self) -> MCPServer[Any]:
        """The SDK's server."""
        return self._strict

    def tool(
        self,
        *,
        title: str,
        annotations: ToolAnnotations,
        name: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[Function], Function]:
        """Register a tool; its docstring is the description that a model reads.

        A synchronous function runs in a thread. Raise an `Agent2Error` for what the caller can mend.

        Args:
            title: what a person sees.
            annotations: READ, WRITE or DESTROY.
            name: name of the tool; the function's name where absent.
            meta: further `_meta` entries, such as `{"ui": {"resourceUri": "ui://…"}}` for a chart.
        """

        def register(function: Function) -> Function:
            tool_name = name or function.__name__
            if self._strict.has_tool(tool_name):
                raise ValueError(f"server {self.name}: two tools are called {tool_name!r}")
            answers = function if inspect.iscoroutinefunction(function) else _in_thread(function)
            self._strict.add_tool(answers, name=tool_name, title=title, annotations=annotations, meta=meta)
            return function

        return register

    def prompt(self, *, title: str, name: str | None = None) -> Callable[[Function], Function]:
        """Register a prompt; it returns text or messages."""

        def register(function: Function) -> Function:
            self._strict.prompt(name or function.__name__, title=title)(_advising(function, _prompt_error))
            return function

        return register

    def resource(
        self, uri: str, *, title: str | None = None, mime_type: str | None = None
    ) -> Callable[[Function], Function]:
        """Register a resource, or a template where the URI holds `{names}`."""

        def register(function: Function) -> Function:
            self._strict.resource(uri, title=title, mime_type=mime_type)(_advising(function, _resource_error))
            return function

        return register

    def sealed(self) -> "Server":
        """Check the tools and close their arguments; the last call of a factory.

        Raises:
            ValueError: a tool breaks a rule of the house.
        """
        self._strict.seal()
        return self


def _in_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a synchronous tool in a thread that a late answer may leave behind."""

    @functools.wraps(function)
    async def call(*args: object, **kwargs: object) -> object:
        return await anyio.to_thread.run_sync(functools.partial(function, *args, **kwargs), abandon_on_cancel=True)

    return call


def _advising(function: Callable[..., Any], error_for: Callable[[Agent2Error], Exception]) -> Callable[..., Any]:
    """Let a foreseen error of a prompt or resource reach the client with its advice."""

    @functools.wraps(function)
    async def call(*args: object, **kwargs: object) -> object:
        try:
            if inspect.iscoroutinefunction(function):
                return await function(*args, **kwargs)
            return await anyio.to_thread.run_sync(functools.partial(function, *args, **kwargs))
        except Agent2Error as error:
            raise error_for(error) from error

    return call


def _prompt_error(error: Agent2Error) -> Exception:
    return MCPError(INVALID_PARAMS, str(error))


def _resource_error(error: Agent2Error) -> Exception:
    return ResourceNotFoundError(str(error)) if isinstance(error, NotFound) else ResourceError(str(error))


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop the generated titles from a JSON schema: they repeat the names and cost a model tokens."""
    kept = {key: value for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    for key in ("properties", "$defs"):
        if key in kept:
            kept[key] = {name: _without_titles(part) for name, part in kept[key].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _without_titles(kept[key])
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        if key in kept:
            kept[key] = [_without_titles(part) for part in kept[key]]
    return kept


def _version() -> str:
    try:
        return version("agent-squared")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0"
