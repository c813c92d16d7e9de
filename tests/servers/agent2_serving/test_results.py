"""Results: short text, plain numbers, a bound on size."""

import numpy as np
import pytest
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from agent2_schemas import Frozen
from agent2_serving import reply


class Loose(Frozen):
    """An answer with a free part."""

    values: dict[str, object] = Field(default_factory=dict, description="Anything.")


def test_numpy_values_become_plain_numbers() -> None:
    values: dict[str, object] = {"scalar": np.float32(1.5), "array": np.array([1.0, np.nan]), "list": [float("inf")]}
    result = reply("", Loose(values=values))
    assert result.structured_content == {"values": {"scalar": 1.5, "array": [1.0, None], "list": [None]}}


def test_a_result_that_clients_would_drop_is_refused_with_advice() -> None:
    with pytest.raises(ToolError, match="Ask for less"):
        reply("", Loose(values={"text": "x" * 500_000}))


def test_a_value_without_a_json_form_is_an_error() -> None:
    with pytest.raises(TypeError, match="has no JSON form"):
        reply("", Loose(values={"it": object()}))
