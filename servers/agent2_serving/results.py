"""The one place where results are built: short text for the model, full data for programs."""

import json
import math
from collections.abc import Sequence
from typing import cast

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ContentBlock, TextContent, ToolAnnotations
from pydantic import BaseModel

READ = ToolAnnotations(read_only_hint=True, open_world_hint=False)
"""A tool that changes nothing a person would care about."""

WRITE = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""A tool that adds something; the same call again adds nothing."""

DESTROY = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
"""A tool that ends or removes something; the same call again changes nothing."""

TEXT_LIMIT_CHARACTERS = 600
RESULT_LIMIT_BYTES = 400_000
"""Legacy HTTP sends a result twice and clients drop events above 1 MiB, so half of that with room to spare."""


def reply(text: str, data: BaseModel, *blocks: ContentBlock) -> CallToolResult:
    """Build the result of a tool: either half must suffice alone, because hosts show only one of them.

    Args:
        text: what a reader needs, under 600 characters; longer text is cut.
        data: the schema's value; NaN and infinities become null.
        blocks: further content after the text, such as an image.

    Raises:
        ToolError: the data would be larger than clients accept.
    """
    content = cast("dict[str, object]", finite(data.model_dump(mode="json", fallback=_plain)))
    size_bytes = len(json.dumps(content))
    if size_bytes > RESULT_LIMIT_BYTES:
        raise ToolError(f"The answer has {size_bytes:,} bytes, more than {RESULT_LIMIT_BYTES:,}. Ask for less of it.")
    return CallToolResult(content=[TextContent(type="text", text=shortened(text)), *blocks], structured_content=content)


def shortened(text: str) -> str:
    """Cut text to the limit; what is cut off stands in the data."""
    if len(text) <= TEXT_LIMIT_CHARACTERS:
        return text
    return text[: TEXT_LIMIT_CHARACTERS - 2].rstrip() + " …"


def finite(value: object) -> object:
    """Replace NaN and infinities by None, at any depth of lists and dicts: JSON has no spelling for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [finite(item) for item in cast("Sequence[object]", value)]
    return value


def _plain(value: object) -> object:
    """Turn NumPy scalars and arrays into Python values without importing NumPy."""
    to_list = getattr(value, "tolist", None)
    if callable(to_list):
        return finite(to_list())
    raise TypeError(f"{type(value).__name__} has no JSON form")
