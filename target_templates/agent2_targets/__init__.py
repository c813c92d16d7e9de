"""What ends up in a Target Agent: its runtime, its policy, its scripts and its manifest."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent2_targets.packing import TargetContent, add_file, pack_target
    from agent2_targets.rendering import policy_kind, render_policy

_HOMES = {
    "TargetContent": "agent2_targets.packing",
    "add_file": "agent2_targets.packing",
    "pack_target": "agent2_targets.packing",
    "policy_kind": "agent2_targets.rendering",
    "render_policy": "agent2_targets.rendering",
}

__all__ = ["TargetContent", "add_file", "pack_target", "policy_kind", "render_policy"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for: jinja2 and safetensors stay out of a server's start."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
