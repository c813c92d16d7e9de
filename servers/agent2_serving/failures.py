"""From exceptions to what a model can act on: advice, named findings, or where to look."""

import logging
from difflib import get_close_matches

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from agent2_schemas import Agent2Error

_log = logging.getLogger("agent2")


def advice_for(error: BaseException, *, server: str, subject: str) -> ToolError:
    """Turn any exception of a tool into a tool error that its reader can act on.

    Args:
        error: what was raised.
        server: name of the server, to say whose log holds the traceback.
        subject: what was at work, such as "tool write_mdp".
    """
    if isinstance(error, ToolError):
        return error
    if isinstance(error, Agent2Error):
        return ToolError(str(error))
    if isinstance(error, ValidationError):
        return ToolError(findings_of(error))
    _log.error("%s failed", subject, exc_info=error)
    return ToolError(
        f"Unforeseen {type(error).__name__} in {subject}: {str(error)[:500] or 'no message'}. "
        f"The traceback is in the log of server {server!r} (its standard error). This is a bug of the server."
    )


def findings_of(error: ValidationError) -> str:
    """Name every fault with its place, without the library's own wording around it."""
    lines: list[str] = []
    for fault in error.errors(include_url=False, include_context=False):
        place = ".".join(str(part) for part in fault["loc"]) or "value"
        given = fault.get("input")
        shown = "" if fault["type"] == "missing" or isinstance(given, dict | list) else f" (got {given!r:.80})"
        lines.append(f"{place}: {fault['msg']}{shown}")
    return f"{len(lines)} fault(s) in {_subject(error)}: " + "; ".join(lines)


def unknown_arguments(given: set[str], known: list[str]) -> str | None:
    """Name the arguments that a tool does not have, each with the nearest one it has; None where all are known."""
    strangers = sorted(given - set(known))
    if not strangers:
        return None
    parts: list[str] = []
    for stranger in strangers:
        near = get_close_matches(stranger, known, n=1)
        parts.append(f"{stranger!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    return f"Unknown argument(s): {', '.join(parts)}. Known: {', '.join(known) or 'none'}."


def _subject(error: ValidationError) -> str:
    """Say `arguments` where the SDK's model of a tool's arguments complains, else the name of the schema."""
    return "arguments" if error.title.endswith("Arguments") else error.title
